/** The entries of the package, as its `exports` name them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, { types?: string } | string>
}

/** `.`, `./redis`, `./server/node` and so on, without files that are no modules. */
export const entryPoints = Object.keys(exports).filter((entry) => !/\.(css|json)$/.test(entry))

/** The source of an entry, from which its declarations are made. */
export function typesOf(entry: string): string {
  const found = exports[entry]
  if (typeof found !== 'object' || !found.types) throw new Error(`${entry} of package.json has no types`)
  return join(root, found.types)
}

/** The built module of an entry. */
export function moduleOf(entry: string): string {
  return typesOf(entry).replace(/\.d\.ts$/, '.js')
}

/** The page of an entry, where typedoc writes it: `api/core`, `api/stores/redis`, `api/server/node`. */
export function pageOf(entry: string): string {
  const [, path = ''] = /dist\/(.+?)(?:\/index)?\.d\.ts$/.exec(typesOf(entry)) ?? []
  return path
}
