import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** With rows as objects and integers as numbers, whatever the defaults of an application's connection are. */
export function prepare(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql)
  statement.setReadBigInts(false)
  // Node 22.13 does not know it, nor does it return arrays.
  statement.setReturnArrays?.(false)
  return statement
}
