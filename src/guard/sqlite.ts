import { expectFence, type Fence } from './fence.ts'
import { type GuardTableOptions, guardStatements, refuse } from './sql.ts'

/** A database of `node:sqlite` or `better-sqlite3`. */
export interface SqliteGuardDatabase {
  prepare(text: string): { get(...values: (string | number)[]): unknown }
}

export interface SqliteGuard {
  /** Throws `stale-token` if a newer lease was checked before; errors of the database pass as they are. */
  check(lease: Fence): void
}

/**
 * Guards what a transaction writes. Needs the table that `guardTable()` makes.
 *
 * @example
 * db.exec('BEGIN IMMEDIATE')
 * sqliteGuard(db).check(lease)
 * db.prepare('UPDATE document SET body = ? WHERE key = ?').run(body, key)
 * db.exec('COMMIT')
 */
export function sqliteGuard(database: SqliteGuardDatabase, options: GuardTableOptions = {}): SqliteGuard {
  const { raise, look } = guardStatements(options)
  // SQLite takes `$1` for a name, and `?1` for a place.
  const get = (text: string, values: (string | number)[]) =>
    database.prepare(text.replaceAll('$', '?')).get(...values)
  return {
    check(lease) {
      expectFence(lease)
      const { resource, token, id } = lease
      if (!get(raise, [resource, token, id])) refuse(lease, get(look, [resource]))
    },
  }
}
