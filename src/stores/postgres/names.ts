import { refuse } from '../../base/arguments.ts'
import { identifier } from '../../clients/sql-text.ts'

/** Postgres cuts longer identifiers off, and the functions of a table are named after it. */
const MAX_IDENTIFIER_BYTES = 63
const LONGEST_SUFFIX_BYTES = '_announce'.length

/** The names of everything that belongs to one table of leases. All but `bare` are quoted. */
export interface Names {
  readonly bare: { readonly schema: string; readonly table: string }
  readonly schema: string
  readonly table: string
  readonly waiters: string
  readonly shared: string
  readonly meta: string
  /** All of the above. */
  readonly tables: readonly string[]
  fn(name: string): string
  /** The dollar quote around a text that contains these names. */
  readonly dollars: string
}

export function namesOf(schema: string, table: string): Names {
  const within = (name: string) => `${identifier(schema)}.${identifier(name)}`
  let tag = 'holdfast'
  while (`${schema} ${table}`.includes(tag)) tag += '_'
  const tables = {
    table: within(table),
    waiters: within(`${table}_waiters`),
    shared: within(`${table}_shared`),
    meta: within(`${table}_meta`),
  }
  return {
    bare: { schema, table },
    schema: identifier(schema),
    ...tables,
    tables: Object.values(tables),
    fn: (name) => within(`${table}_${name}`),
    dollars: `$${tag}$`,
  }
}

export function expectName(option: 'schema' | 'table', name: unknown): asserts name is string {
  const max = MAX_IDENTIFIER_BYTES - (option === 'table' ? LONGEST_SUFFIX_BYTES : 0)
  const fits =
    typeof name === 'string' &&
    name !== '' &&
    name.isWellFormed() &&
    !name.includes('\0') &&
    new TextEncoder().encode(name).length <= max
  if (!fits) refuse(option, `a name of 1 to ${max} bytes`, name)
}

/**
 * A name that stands for one text everywhere, because a pooler may lend the connection to another program. Postgres
 * cuts longer names off.
 */
export function statementNameOf(name: string): string | undefined {
  return new TextEncoder().encode(name).length <= MAX_IDENTIFIER_BYTES ? name : undefined
}
