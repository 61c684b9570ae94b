import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync } from 'rolldown/utils'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { manifest } from './manifest.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const wordsIn = (text: string) => new Set(text.match(/[A-Za-z_$][\w$]*/g))

it('every exported value of a module is imported by another module', () => {
  const users = globSync(['{src,web,test,bench,scripts,examples}/**/*.{ts,tsx,mts,js,mjs}', '*.ts'], {
    cwd: root,
    exclude: ['**/node_modules/**'],
  })
  const imported = new Set(users.flatMap(importsOf))
  const useless = users
    // A bundler takes a `-browser` twin in place of the module that is imported.
    .filter((path) => /^src\/(?!.*(\.test\.|-browser\.))/.test(path))
    .flatMap((path) => exportedValues(path).map((name) => `${path}#${name}`))
    .filter((id) => !imported.has(id) && !imported.has(id.replace(/#.*/, '#*')))
  expect(useless).toEqual([])
})

it('every public value is named on a page', async () => {
  const pages = wordsIn(['README.md', ...globSync('docs/**/*.md', { cwd: root })].map(read).join('\n'))
  const values = await Promise.all(
    entries().map(async ([entry, path]) => {
      const names = Object.keys(await import(join(root, path)))
      return names.map((name) => ({ name, from: `${entry}: ${name}` }))
    }),
  )
  const found = values.flat()
  expect(found.length).toBeGreaterThan(150)
  expect(found.filter(({ name }) => !pages.has(name)).map(({ from }) => from)).toEqual([])
})

/** What a file imports, as `path#name`; `path#*`: the module as a whole, also by `import()`. */
function importsOf(path: string): string[] {
  const text = read(path)
  const of = (module: string) => join(dirname(path), module)
  const named = text.matchAll(/\b(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+'(\.[^']+)'/g)
  const whole = text.matchAll(/(?:\*\s+(?:as\s+\w+\s+)?from\s+|\bimport\(\s*|import\s+)'(\.[^']+)'/g)
  return [
    ...Array.from(named, ([, names = '', module = '']) =>
      names.split(',').map(
        (name) =>
          `${of(module)}#${name
            .trim()
            .replace(/^type\s+/, '')
            .replace(/\s+as\s.*/, '')}`,
      ),
    ).flat(),
    ...Array.from(whole, ([, module = '']) => `${of(module)}#*`),
  ]
}

/** Functions, classes and constants that a file declares and exports. */
function exportedValues(path: string): string[] {
  const { program } = parseSync(path, read(path))
  return (program.body as unknown as readonly Statement[]).flatMap(({ type, declaration }) => {
    if (type !== 'ExportNamedDeclaration') return []
    const { id, declarations = [] } = declaration ?? {}
    const isValue = declaration && !declaration.type.startsWith('TS')
    const named = isValue ? [id, ...declarations.map((one) => one.id)] : []
    return named.flatMap((node) => node?.name ?? [])
  })
}

interface Statement {
  readonly type: string
  readonly declaration?: {
    readonly type: string
    readonly id?: { readonly name?: string }
    readonly declarations?: readonly { readonly id: { readonly name?: string } }[]
  } | null
}

/** The source of each entry of the package. */
function entries(): (readonly [entry: string, source: string])[] {
  return Object.entries(manifest.exports).flatMap(([entry, target]) => {
    const file = typeof target === 'string' ? target : (target as { default?: string }).default
    const source = file?.replace('./dist/', 'src/').replace(/\.js$/, '.ts') ?? ''
    const found = source.endsWith('.ts') ? globSync(`${source}{,x}`, { cwd: root })[0] : undefined
    return found ? [[entry, found] as const] : []
  })
}
