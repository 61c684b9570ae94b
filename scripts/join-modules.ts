/**
 * Joins modules of `dist`, because Node takes a tenth of a millisecond and more for each module that it loads, however
 * short it is. Names stay, for stack traces.
 */
import { globSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { type OutputOptions, rolldown } from 'rolldown'
import { parseSync } from 'rolldown/utils'

/** As `strip-comments.ts` leaves the modules. */
const READABLE: OutputOptions = {
  format: 'esm',
  comments: false,
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: false } },
}

/**
 * Joins the modules of a folder, such as `stores/sqlite`. Those that other folders import keep their paths.
 *
 * `started`: modules that are entries of the package, or programs. `sharedIn`: the folder in this one for modules that
 * several of these share, and for modules that are loaded on demand.
 */
export async function joinModules(
  dist: string,
  folder: string,
  started: readonly string[],
  sharedIn = '.',
): Promise<void> {
  const inside = join(dist, folder) + sep
  const isInside = (path: string) => path.startsWith(inside)
  const entries = [...new Set([...started, ...importedFromOutside(dist, isInside)].filter(isInside))]
  const before = globSync('**/*.js', { cwd: inside })
  await using bundle = await rolldown({
    input: Object.fromEntries(entries.map((path) => [path.slice(inside.length, -'.js'.length), path])),
    platform: 'node',
    external: (id, _importer, isResolved) => (isResolved ? !isInside(id) : !/^[./]/.test(id)),
  })
  const { output } = await bundle.write({
    ...READABLE,
    dir: inside,
    entryFileNames: '[name].js',
    chunkFileNames: join(sharedIn, '[name].js'),
    codeSplitting: { groups: [{ name: 'shared', minShareCount: 2 }] },
  })
  const after = new Set(output.map(({ fileName }) => fileName))
  for (const name of before) if (!after.has(name)) rmSync(join(inside, name))
}

/** Puts all that a program imports into its own file. Its process loads no other module. */
export async function joinProgram(path: string): Promise<void> {
  await using bundle = await rolldown({ input: path, platform: 'node' })
  await bundle.write({ ...READABLE, file: path })
}

function importedFromOutside(dist: string, isInside: (path: string) => boolean): string[] {
  return globSync('**/*.js', { cwd: dist, exclude: ['web/**'] })
    .map((name) => join(dist, name))
    .filter((path) => !isInside(path))
    .flatMap((path) => importsOf(path).map((specifier) => join(dirname(path), specifier)))
}

/** The relative specifiers. */
function importsOf(path: string): string[] {
  const text = readFileSync(path, 'utf8')
  const { module } = parseSync(path, text)
  const requests = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest),
    ...module.staticExports.flatMap(({ entries }) => entries.flatMap((entry) => entry.moduleRequest ?? [])),
    ...module.dynamicImports.map(({ moduleRequest }) => moduleRequest),
  ]
  return requests
    .map(({ start, end }) => text.slice(start + 1, end - 1))
    .filter((specifier) => specifier.startsWith('.'))
}
