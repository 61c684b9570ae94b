import { refuse } from '../base/arguments.ts'

/** Runs one statement. Its parameters are `?1`, `?2`, … in all dialects. Rejects with a `LeaseError`. */
export type Sql = (text: string, values: readonly string[]) => Promise<readonly SqlRow[]>
/** The columns of all results together. */
export type SqlRow = {
  readonly [column in
    | 'fence'
    | 'holder'
    | 'content'
    | 'token'
    | 'saved_at'
    | 'revision'
    | 'number'
    | 'entry'
    | 'secret']?: unknown
}

/** Where the dialects differ. */
export interface Dialect {
  readonly sql: Sql
  /** The type of a primary key that counts up by itself. */
  readonly serial: string
  /** Milliseconds since 1970, by the database's clock. */
  readonly now: string
}

/** A table's name cannot be a parameter of a statement. */
const TABLE = /^([a-z_]\w{0,59}\.)?[a-z_]\w{0,53}$/i

export function checkTable(table: string): string {
  if (typeof table === 'string' && TABLE.test(table)) return table
  refuse('table', '1 to 54 letters, digits and underscores that do not start with a digit', table)
}

/** The name of an index of the table. It is in the table's schema. */
export function indexOf(table: string, name: string): string {
  return `${table.replace(/^.*\./, '')}_${name}`
}

/** Creates the table before the first statement. After a failure it tries again before the next one. */
export function prepared({ sql }: Dialect, create: readonly string[]): Sql {
  let ready: Promise<void> | undefined
  const prepare = async () => {
    for (const text of create) await sql(text, [])
  }
  return async (text, values) => {
    ready ??= prepare()
    await ready.catch((error) => {
      ready = undefined
      throw error
    })
    return sql(text, values)
  }
}
