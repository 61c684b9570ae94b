import { hasMethods, refuseClient } from '../base/arguments.ts'
import { prepareSqlite, type SqliteDatabase } from '../clients/sqlite.ts'
import { expectFence, type Fence } from './fence.ts'
import { type GuardTableOptions, guardStatements, throwRefusal } from './sql.ts'

export interface SqliteGuard {
  /** Throws `stale-token` if the guard has seen a newer lease. Errors of the database are passed on unchanged. */
  check(lease: Fence): void
}

/**
 * Guards what a transaction writes, with `node:sqlite` or `better-sqlite3`. Needs the table that `guardTable()`
 * creates.
 *
 * @example
 * db.exec('BEGIN IMMEDIATE')
 * sqliteGuard(db).check(lease)
 * db.prepare('UPDATE document SET body = ? WHERE key = ?').run(body, key)
 * db.exec('COMMIT')
 */
export function sqliteGuard(database: SqliteDatabase, options: GuardTableOptions = {}): SqliteGuard {
  if (!hasMethods(database, 'prepare')) refuseDatabase(database)
  const { raise, read } = guardStatements(options)
  const get = (text: string, values: (string | number)[]) => {
    // Plain `?`: better-sqlite3 takes `?1` for a name. The placeholders stand in the order of the values.
    const statement = prepareSqlite(database, text.replaceAll(/\$\d/g, '?'))
    if (!hasMethods(statement, 'get')) refuseDatabase(database)
    return statement.get(...values)
  }
  return {
    check(lease) {
      expectFence(lease)
      const { resource, token, id } = lease
      if (!get(raise, [resource, token, id])) throwRefusal(lease, get(read, [resource]))
    },
  }
}

function refuseDatabase(database: unknown): never {
  refuseClient('database', 'a database of node:sqlite or better-sqlite3', database)
}
