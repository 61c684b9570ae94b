import { LeaseError } from '../core/index.ts'

/** Runs one statement; its places are `?1`, `?2`, … in all dialects. Rejects with a `LeaseError`. */
export type Sql = (text: string, values: readonly SqlValue[]) => Promise<readonly SqlRow[]>
export type SqlValue = string | number | null
/** The columns of all answers together. */
export type SqlRow = {
  readonly [column in 'fence' | 'content' | 'token' | 'saved_at' | 'number' | 'entry']?: unknown
}

/** Where the dialects differ. */
export interface Dialect {
  readonly sql: Sql
  /** The type of a key that counts up by itself. */
  readonly serial: string
  /** Milliseconds since 1970, by the database's clock. */
  readonly now: string
}

/** The name of a table, which cannot be a parameter. */
export function checkTable(table: string): string {
  if (/^[a-z_]\w{0,59}$/i.test(table)) return table
  throw new LeaseError(
    'invalid-argument',
    `table: expected letters, digits and underscores, got ${JSON.stringify(table)}`,
  )
}

/** Runs `prepare` before the first statement; after a failure, before the next one again. */
export function prepared(dialect: Dialect, create: readonly string[]): Sql {
  let ready: Promise<void> | undefined
  const prepare = async () => {
    for (const text of create) await dialect.sql(text, [])
  }
  return async (text, values) => {
    ready ??= prepare()
    await ready.catch((error) => {
      ready = undefined
      throw error
    })
    return dialect.sql(text, values)
  }
}
