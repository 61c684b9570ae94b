/**
 * Removes the declarations that no entry of the package reaches, and from the others the notes for maintainers at the
 * top and the numbers that no other file imports. A declaration may name a type of a bundled package, such as Hono's:
 * it is there if the user has that package, and `any` if not.
 */
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync } from 'rolldown/utils'
import { isBundled } from './bundle-packages.ts'

/** `modules`: the paths of the entries, such as `dist/core/index.js`. */
export function trimDeclarations(dist: string, modules: readonly string[]): void {
  const reached = new Set<string>()
  const visit = (path: string) => {
    if (reached.has(path) || !existsSync(path)) return
    reached.add(path)
    const inline = readFileSync(path, 'utf8').matchAll(/\bimport\(["']([^"']+)["']\)/g)
    const all = [
      ...specifiersOf(path).map(({ value }) => value),
      ...[...inline].map(([, value = '']) => value),
    ]
    for (const value of all)
      if (value.startsWith('.')) visit(join(dirname(path), value.replace(/\.[jt]sx?$/, '.d.ts')))
  }
  for (const path of modules) visit(path.replace(/\.js$/, '.d.ts'))
  for (const name of globSync('**/*.d.ts', { cwd: dist, exclude: ['**/*.css.d.ts'] })) {
    const path = join(dist, name)
    if (!reached.has(path)) rmSync(path)
    else {
      shorten(path)
      ignoreMissing(path)
    }
  }
  dropNumbers([...reached])
}

/** A number such as `RETRY_MS`, with the comment above it. */
const NUMBER =
  /^(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export declare const ([A-Z][A-Z\d_]*)(?: = -?[\d.]+|: number);\n/gm

function dropNumbers(paths: readonly string[]): void {
  const texts = new Map(paths.map((path) => [path, readFileSync(path, 'utf8')]))
  const uses = new Map<string, number>()
  for (const [name] of [...texts.values()].join('\n').matchAll(/\b[A-Z][A-Z\d_]+\b/g))
    uses.set(name, (uses.get(name) ?? 0) + 1)
  const starred = new Set(
    paths.flatMap((path) =>
      Array.from((texts.get(path) ?? '').matchAll(/export \* from ["'](\.[^"']+)["']/g), ([, value = '']) =>
        join(dirname(path), value.replace(/\.[jt]sx?$/, '.d.ts')),
      ),
    ),
  )
  for (const [path, text] of texts) {
    if (starred.has(path)) continue
    writeFileSync(
      path,
      text.replace(NUMBER, (declaration, name: string) => (uses.get(name) === 1 ? '' : declaration)),
    )
  }
}

function ignoreMissing(path: string): void {
  let text = readFileSync(path, 'utf8')
  for (const { value, statement } of specifiersOf(path).toReversed())
    if (isBundled(value)) text = `${text.slice(0, statement)}/** @ts-ignore */\n${text.slice(statement)}`
  writeFileSync(path, text)
}

/** An editor shows what is said of a name. The comment on a file has another one below it, or imports. */
function shorten(path: string): void {
  const text = readFileSync(path, 'utf8')
  const code = text.replace(/^\/\*[\s\S]*?\*\/\s*(?=import|export [{*]|\/\*)/, '')
  writeFileSync(
    path,
    code.replace(/^ {4,}/gm, (spaces) => '\t'.repeat(spaces.length / 4) + ' '.repeat(spaces.length % 4)),
  )
}

interface Specifier {
  readonly value: string
  /** Where its statement begins. */
  readonly statement: number
}

function specifiersOf(path: string): Specifier[] {
  const found: Specifier[] = []
  for (const node of parseSync(path, readFileSync(path, 'utf8')).program.body) {
    const isFrom = node.type === 'ImportDeclaration' || /^Export(All|Named)Declaration$/.test(node.type)
    const source = isFrom && 'source' in node ? node.source : null
    if (source && 'value' in source) found.push({ value: String(source.value), statement: node.start })
  }
  return found
}
