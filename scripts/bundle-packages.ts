/**
 * Puts the packages that the code needs into `dist/packages`, so that an installation brings no other package. Of each,
 * only what is used is there, and the code of `dist` imports it from there.
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { rolldown } from 'rolldown'
import { esmExternalRequirePlugin } from 'rolldown/plugins'
import { parseSync } from 'rolldown/utils'
import { root } from './run-tool.ts'

export const BUNDLED = [
  '@hono/node-server',
  '@noble/hashes',
  '@valibot/to-json-schema',
  'hono',
  'prom-client',
  'smol-toml',
  'valibot',
  'ws',
]

/** Natives that `ws` tries to load, and works without: to load them fails. */
const OPTIONAL = ['bufferutil', 'utf-8-validate']

interface Reference {
  readonly file: string
  readonly specifier: string
  /** Where the specifier is, with its quotes. */
  readonly start: number
  readonly end: number
  /** The names that the file uses of the module; `*`: all. */
  readonly names: readonly string[]
}

export async function bundlePackages(dist: string): Promise<void> {
  const files = globSync('**/*.js', { cwd: dist, exclude: ['web/**'] }).map((name) => join(dist, name))
  const references = files.flatMap(referencesOf)
  const names = new Map<string, Set<string>>()
  for (const { specifier, names: used } of references)
    names.set(specifier, new Set([...(names.get(specifier) ?? []), ...used]))
  const licences = await writeBundle(join(dist, 'packages'), names)
  for (const [file, found] of Map.groupBy(references, (reference) => reference.file)) {
    let text = readFileSync(file, 'utf8')
    for (const { specifier, start, end } of found.toSorted((a, b) => b.start - a.start)) {
      const target = relative(dirname(file), join(dist, 'packages', `${fileNameOf(specifier)}.js`))
      text = `${text.slice(0, start)}'${target.startsWith('.') ? target : `./${target}`}'${text.slice(end)}`
    }
    writeFileSync(file, text)
  }
  writeFileSync(join(dist, 'packages/LICENSES.txt'), licences)
}

/** What a file imports of the bundled packages. */
function referencesOf(file: string): Reference[] {
  const text = readFileSync(file, 'utf8')
  if (!BUNDLED.some((name) => text.includes(name))) return []
  const { module } = parseSync(file, text)
  const found = module.staticImports.map(({ moduleRequest: { value: specifier, start, end }, entries }) => {
    const names = entries.flatMap(({ importName, localName }) => {
      if (importName.kind === 'NamespaceObject')
        return [...text.matchAll(new RegExp(`\\b${localName.value}\\.(\\w+)`, 'g'))].map(
          ([, name = '']) => name,
        )
      return [importName.kind === 'Default' ? 'default' : (importName.name ?? '')]
    })
    return { file, specifier, start, end, names }
  })
  const loaded = module.dynamicImports.map(({ moduleRequest: { start, end } }) => {
    const specifier = text.slice(start + 1, end - 1)
    return { file, specifier, start, end, names: ['*'] }
  })
  return [...found, ...loaded].filter(({ specifier }) => isBundled(specifier))
}

export function isBundled(specifier: string): boolean {
  return BUNDLED.some((name) => specifier === name || specifier.startsWith(`${name}/`))
}

/** Resolves with the licences of all packages in it. */
async function writeBundle(directory: string, names: Map<string, Set<string>>): Promise<string> {
  mkdirSync(directory, { recursive: true })
  const used = new Set<string>()
  const input = [...names.keys()].map((specifier) => [fileNameOf(specifier), `used:${specifier}`])
  const bundle = await rolldown({
    input: Object.fromEntries(input),
    cwd: root,
    // Nothing of Node is added: pages and workers load some of the packages.
    platform: 'neutral',
    resolve: { conditionNames: ['node', 'import', 'default'], mainFields: ['module', 'main'] },
    plugins: [
      // Without it, a `require` of a built-in module would be one at run time.
      esmExternalRequirePlugin({ external: builtinModules.flatMap((name) => [name, `node:${name}`]) }),
      {
        name: 'used names',
        resolveId: (id) => (id.startsWith('used:') ? id : OPTIONAL.includes(id) ? `none:${id}` : null),
        load(id) {
          if (id.startsWith('none:')) return "throw new Error('not bundled'); module.exports = {}"
          const [, specifier] = id.split('used:')
          if (!specifier) {
            const [, path] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id) ?? []
            if (path) used.add(path)
            return null
          }
          const exported = [...(names.get(specifier) ?? [])].sort()
          const list = exported.includes('*') ? '*' : `{ ${exported.join(', ')} }`
          return `export ${list} from '${specifier}'`
        },
      },
    ],
  })
  await bundle.write({
    dir: directory,
    format: 'esm',
    minify: true,
    chunkFileNames: 'shared-[hash].js',
    comments: { legal: false },
  })
  await bundle.close()
  return [...used].sort().map(licenceOf).join('\n\n')
}

function licenceOf(path: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  const [file] = globSync('{LICENSE,LICENCE,license}*', { cwd: path })
  if (!file) throw new Error(`${name} has no file with its licence`)
  return `${name} ${version} (${license})\n\n${readFileSync(join(path, file), 'utf8').trim()}`
}

/** `hono/cors` becomes `hono-cors`. */
function fileNameOf(specifier: string): string {
  return specifier.replace('@', '').replaceAll('/', '-').replace(/\.js$/, '')
}
