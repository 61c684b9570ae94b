/** Builds the library, its style sheets and the pages into `dist`, or into the directory that is given. */
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { bundlePackages } from './bundle-packages.ts'
import { writeCommonJsEntries } from './commonjs-entries.ts'
import { compressPages } from './compress-pages.ts'
import { joinModules, joinProgram } from './join-modules.ts'
import { root, runTool } from './run-tool.ts'
import { stripComments } from './strip-comments.ts'
import { trimDeclarations } from './trim-declarations.ts'

const [, , target = join(root, 'dist')] = process.argv
const directory = resolve(target)
const pages = ['build', '--config', 'web/vite.config.ts', '--outDir', join(directory, 'web')]

rmSync(directory, { recursive: true, force: true })
process.exitCode =
  (await runTool('tsc', '-p', 'tsconfig.build.json', '--singleThreaded', '--outDir', directory)) ||
  (await runTool('vite', ...pages, '--emptyOutDir', '--logLevel', 'warn'))
compressPages(join(directory, 'web'))
for (const sheet of globSync(['**/*.css', '**/*.css.d.ts'], { cwd: join(root, 'src') }))
  cpSync(join(root, 'src', sheet), join(directory, sheet))

const { exports, type, sideEffects, browser } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const entries = Object.values<{ readonly default?: string }>(exports)
  .flatMap((entry) => entry.default ?? [])
  .filter((path) => path.endsWith('.js'))
  .map((path) => path.replace('./dist', directory))
stripComments(directory)
trimDeclarations(directory, entries)
writeCommonJsEntries(entries)
await bundlePackages(directory)
for (const store of ['etcd', 'file', 'firestore', 'mysql', 'nats', 'postgres', 'redis', 'sqlite'])
  await joinModules(directory, join('stores', store), entries)
const watchdog = join(directory, 'cli/run/watchdog-main.js')
await joinProgram(watchdog)
// `run` and `serve` look for files by paths that begin in `commands`.
await joinModules(directory, 'cli', [join(directory, 'cli/main.js'), watchdog], 'commands')
// Of each module, Node reads the nearest manifest anew. That of the package is long, because it lists all entries.
const inDist = JSON.stringify({ type, sideEffects, browser }).replaceAll('./dist/', './')
writeFileSync(join(directory, 'package.json'), inDist)
