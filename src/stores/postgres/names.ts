import { LeaseError } from '../../core/index.ts'

/** Postgres cuts longer identifiers off, and the functions of a table are named after it. */
const MAX_IDENTIFIER_BYTES = 63
const LONGEST_SUFFIX_BYTES = '_announce'.length

/** The names of all that belongs to one table of leases, quoted. */
export interface Names {
  readonly schema: string
  readonly table: string
  readonly meta: string
  fn(name: string): string
  /** Opens and closes a text that contains these names. */
  readonly dollars: string
}

export function namesOf(schema: string, table: string): Names {
  const within = (name: string) => `${identifier(schema)}.${identifier(name)}`
  let tag = 'holdfast'
  while (`${schema} ${table}`.includes(tag)) tag += '_'
  return {
    schema: identifier(schema),
    table: within(table),
    meta: within(`${table}_meta`),
    fn: (name) => within(`${table}_${name}`),
    dollars: `$${tag}$`,
  }
}

export function checkName(option: 'schema' | 'table', name: unknown): string {
  const max = MAX_IDENTIFIER_BYTES - (option === 'table' ? LONGEST_SUFFIX_BYTES : 0)
  const fits =
    typeof name === 'string' &&
    name !== '' &&
    name.isWellFormed() &&
    !name.includes('\0') &&
    new TextEncoder().encode(name).length <= max
  if (fits) return name
  throw new LeaseError(
    'invalid-argument',
    `${option}: expected a name of 1 to ${max} bytes, got ${JSON.stringify(name)}`,
  )
}

/** A text as SQL, whatever `standard_conforming_strings` says. */
export function literal(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
