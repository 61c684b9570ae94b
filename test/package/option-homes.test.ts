import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { parseSync } from 'rolldown/utils'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { manifest } from './manifest.ts'

/** The homes of option types: with their defaults, limits and checks. */
const HOMES = /\/(rare-)?options\.ts$/

/** Public option types with another home, by `path#name`, or by the folder for all in it, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'react/': 'the props of a hook stand beside it',
  'testing/': 'the tools of a test suite: each file is a tool of its own',
  'base/retry.ts#RetryOptions': 'a file that contains one option: its types, checks and pauses',
  'core/store.ts#CallOptions': 'part of the port that every store implements',
  'locks/types.ts#LockOptions': 'a type of the Web Locks API, beside the others',
  'once/job-store.ts#AcquireOptions': 'part of the port that every job store implements',
  'store-kit/local-parts.ts#StoreCallsOptions': 'what an author of a store passes to one function',
}

type Read = (path: string) => string
const readSource: Read = (path) => readFileSync(join(root, path), 'utf8')

describe('a public option type', () => {
  const found = entries().flatMap((entry) => optionTypesOf(entry, readSource))

  it('a public option type is in the options of its part, unless it is listed', () => {
    expect(found.length).toBeGreaterThan(100)
    expect(astray(found).filter((id) => reasonOf(id) === undefined)).toEqual([])
  })

  it('every exception is a public option type outside of the options', () => {
    const used = new Set(astray(found).map(reasonOf))
    expect(Object.keys(EXCEPTIONS).filter((id) => !used.has(id))).toEqual([])
  })

  it.each([
    ['a name', `export { type AOptions, a } from './a.ts'`],
    ['a list of types', `export type { AOptions } from './a.ts'`],
    ['a whole file', `export type * from './a.ts'`],
    ['another name', `export type { BOptions as AOptions } from './a.ts'`],
  ])('a public option type is found that an entry exports by %s', (_, index) => {
    const files: Record<string, string> = {
      'src/x/index.ts': index,
      'src/x/a.ts': 'export interface AOptions {}\nexport type BOptions = {}\ninterface COptions {}',
    }
    const ids = optionTypesOf('src/x/index.ts', (path) => files[path] ?? '')
    expect(astray(ids)).toContain(index.includes('BOptions') ? 'x/a.ts#BOptions' : 'x/a.ts#AOptions')
    expect(ids.join()).not.toContain('COptions')
  })

  it('a public option type is found behind a second file, and is at home in options.ts', () => {
    const files: Record<string, string> = {
      'src/x/index.ts': `export * from './all.ts'`,
      'src/x/all.ts': `export type { AOptions } from './a/options.ts'\nexport type { BOptions } from './b.ts'`,
      'src/x/a/options.ts': 'export interface AOptions {}',
      'src/x/b.ts': 'export interface BOptions {}',
    }
    const ids = optionTypesOf('src/x/index.ts', (path) => files[path] ?? '')
    expect(ids).toEqual(['x/a/options.ts#AOptions', 'x/b.ts#BOptions'])
    expect(astray(ids)).toEqual(['x/b.ts#BOptions'])
  })
})

function astray(ids: readonly string[]): string[] {
  return [...new Set(ids)].filter((id) => !HOMES.test(`/${id.replace(/#.*/, '')}`)).toSorted()
}

function reasonOf(id: string): string | undefined {
  return Object.keys(EXCEPTIONS).find((key) => id === key || (key.endsWith('/') && id.startsWith(key)))
}

/** `path#name` of each option type that a file exports, or only of the one with this name, where it is declared. */
function optionTypesOf(path: string, read: Read, wanted?: string): string[] {
  const { program } = parseSync(path, read(path))
  return (program.body as unknown as readonly Statement[]).flatMap((statement) => {
    const { type, declaration, source, specifiers = [] } = statement
    const from = source && join(dirname(path), source.value)
    if (type === 'ExportAllDeclaration' && from) return optionTypesOf(from, read, wanted)
    if (type !== 'ExportNamedDeclaration') return []
    const isWanted = (name = '') => (wanted === undefined ? name.endsWith('Options') : name === wanted)
    if (declaration)
      return declaration.type.startsWith('TS') && isWanted(declaration.id?.name)
        ? [`${path.replace('src/', '')}#${declaration.id?.name}`]
        : []
    return specifiers
      .filter(({ exported }) => from && isWanted(exported.name))
      .flatMap(({ local }) => optionTypesOf(from as string, read, local.name))
  })
}

interface Statement {
  readonly type: string
  readonly declaration?: { readonly type: string; readonly id?: { readonly name?: string } } | null
  readonly source?: { readonly value: string } | null
  readonly specifiers?: readonly {
    readonly local: { readonly name: string }
    readonly exported: { readonly name: string }
  }[]
}

/** The source of each entry of the package. */
function entries(): string[] {
  return Object.values(manifest.exports).flatMap((target) => {
    const module = Object(target).default as string | undefined
    return module?.endsWith('.js') ? [module.replace('./dist/', 'src/').replace(/\.js$/, '.ts')] : []
  })
}
