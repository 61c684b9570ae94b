/** The table of DEFAULTS.md: every default, limit and tuned number, with the file that is its home. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'rolldown/utils'
import { root } from '../../../scripts/run-tool.ts'
import type { ExpectedRow, TableCheck } from './compare-table.ts'
import { sourceOf } from './declarations.ts'

interface Node {
  readonly type: string
  readonly start: number
  readonly [key: string]: unknown
}

type Value = number | string | boolean | readonly Value[]

interface Default {
  readonly home: string
  readonly name: string
  readonly value: Value
  /** The comment above it. */
  readonly meaning: string
}

const HOMES = ['src/**/options.ts', 'src/**/rare-options.ts']

export const DEFAULT_CHECKS: readonly TableCheck[] = [
  {
    table: 'DEFAULTS.md#Defaults',
    about: 'default',
    isOrdered: true,
    rows: () => defaultsOf(HOMES).map(rowOf),
  },
]

function rowOf({ home, name, value, meaning }: Default): ExpectedRow {
  return [
    `\`${name}\` of \`${home.replace(/^src\//, '').replace(/\/?[\w-]+\.ts$/, '')}\``,
    shown(name, value),
    `\`${home}\``,
    meaning,
  ]
}

/** In the order of the files. */
export function defaultsOf(globs: readonly string[]): Default[] {
  const files = globs.flatMap((glob) => globSync(glob, { cwd: root })).sort()
  const known = new Map<string, Value>()
  // A constant may be made of one of a file that is read later.
  for (let pass = 0; pass < 2; pass++)
    for (const home of files) for (const { name, value } of declaredIn(home, known)) known.set(name, value)
  return files.flatMap((home) => declaredIn(home, known))
}

function declaredIn(home: string, known: ReadonlyMap<string, Value>): Default[] {
  const text = sourceOf(home)
  const { program } = parseSync(join(root, home), text)
  const own = new Map(known)
  return (program as unknown as { body: Node[] }).body.flatMap((statement) => {
    const declaration = (statement['declaration'] ?? statement) as Node
    if (declaration.type !== 'VariableDeclaration') return []
    const meaning = commentBefore(text, statement.start)
    return (declaration['declarations'] as Node[]).flatMap((declarator) => {
      const name = nameOf(declarator['id'])
      const init = unwrapped(declarator['init'])
      if (init?.type === 'ObjectExpression' && /^(\w+_)?DEFAULTS$/.test(name))
        return (init['properties'] as Node[]).flatMap((property) => {
          const value = valueIn(property['value'], own)
          const option = nameOf(property['key'])
          return value === undefined ? [] : [{ home, name: `${name}.${option}`, value, meaning: '' }]
        })
      const value = valueIn(init, own)
      if (value === undefined || typeof [value].flat()[0] !== 'number') return []
      own.set(name, value)
      return [{ home, name, value, meaning }]
    })
  })
}

/** The value of a literal, a list, a calculation or a constant; `undefined` for anything else. */
function valueIn(expression: unknown, known: ReadonlyMap<string, Value>): Value | undefined {
  const node = unwrapped(expression)
  if (node?.type === 'Literal') {
    const { value } = node as { value?: unknown }
    return typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean'
      ? value
      : undefined
  }
  if (node?.type === 'Identifier') return known.get(nameOf(node))
  if (node?.type === 'ArrayExpression') {
    const values = (node['elements'] as unknown[]).map((element) => valueIn(element, known))
    return values.includes(undefined) ? undefined : (values as Value[])
  }
  if (node?.type !== 'BinaryExpression') return undefined
  const [left, right] = [valueIn(node['left'], known), valueIn(node['right'], known)]
  if (typeof left !== 'number' || typeof right !== 'number') return undefined
  const calculate = CALCULATIONS[String(node['operator'])]
  return calculate?.(left, right)
}

const CALCULATIONS: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '**': (left, right) => left ** right,
}

/** Without `as const` and the like. */
function unwrapped(expression: unknown): Node | undefined {
  const node = expression as Node | undefined
  return node?.type.startsWith('TS') ? unwrapped(node['expression']) : node
}

function nameOf(node: unknown): string {
  return String((Object(node) as { readonly name?: unknown }).name ?? '')
}

/** The first sentence of the comment. */
function commentBefore(text: string, start: number): string {
  const [, comment = ''] = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n$/.exec(text.slice(0, start)) ?? []
  const words = comment
    .replace(/^\s*\* ?/gm, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return (/^.*?[.:](?= [A-Z]|$)/.exec(words)?.[0] ?? words).replaceAll('|', '\\|')
}

function shown(name: string, value: Value): string {
  if (typeof value === 'object') return value.map((one) => shown(name, one)).join(', ')
  if (typeof value !== 'number') return `\`${value}\``
  if (/_MS$/.test(name)) return durationOf(value)
  return /_BYTES$/.test(name)
    ? `${value.toLocaleString('en-US')} bytes`
    : value.toLocaleString('en-US', { maximumFractionDigits: 6 })
}

function durationOf(ms: number): string {
  const units = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1000, 's'],
  ] as const
  const [size, unit] = units.find(([size]) => ms >= size && ms % size === 0) ?? [1, 'ms']
  return `${(ms / size).toLocaleString('en-US', { maximumFractionDigits: 6 })} ${unit}`
}
