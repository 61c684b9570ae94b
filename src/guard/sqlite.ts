import { expectFunction, hasMethods, refuse, refuseClient } from '../base/arguments.ts'
import { inTransaction, isInTransaction, prepareSqlite, type SqliteDatabase } from '../clients/sqlite.ts'
import { expectFence, expectSynchronous, type Fence, refuseOutside } from './fence.ts'
import type { GuardTableOptions } from './options.ts'
import { guardStatements, throwRefusal } from './sql.ts'

export interface SqliteGuard<Database = SqliteDatabase> {
  /**
   * Throws `stale-token` if the guard has seen a newer lease, and `invalid-argument` if the database has no open
   * transaction. Errors of the database are passed on unchanged.
   *
   * @throws `stale-token`
   */
  check(lease: Fence): void
  /**
   * Opens a transaction, checks the lease, runs the work and commits. Rolls back if the work throws, or if it is async.
   * Without `database`, it is that of the guard.
   *
   * @throws `stale-token`
   */
  write<T>(lease: Fence, work: (database: Database) => T): T
  write<Other extends SqliteDatabase, T>(database: Other, lease: Fence, work: (database: Other) => T): T
}

/**
 * Guards what a transaction writes, with `node:sqlite` or `better-sqlite3`. Needs the table that `guardTable()`
 * creates.
 *
 * @example
 * sqliteGuard(db).write(lease, () => {
 *   db.prepare('UPDATE document SET body = ? WHERE key = ?').run(body, key)
 * })
 */
export function sqliteGuard<Database extends SqliteDatabase>(
  database: Database,
  options: GuardTableOptions = {},
): SqliteGuard<Database> {
  expectDatabase(database)
  const { raise, read } = guardStatements(options)

  function raiseFence(lease: Fence, on: SqliteDatabase): void {
    const get = (text: string, values: (string | number)[]) => {
      // Plain `?`: better-sqlite3 takes `?1` for a name. The placeholders stand in the order of the values.
      const statement = prepareSqlite(on, text.replaceAll(/\$\d/g, '?'))
      if (!hasMethods(statement, 'get')) refuseDatabase(on)
      return statement.get(...values)
    }
    const { resource, token, id } = lease
    if (!get(raise, [resource, token, id])) throwRefusal(lease, get(read, [resource]))
  }

  return {
    check(lease) {
      expectFence(lease)
      if (!isInTransaction(database)) refuseOutside('database', database)
      raiseFence(lease, database)
    },
    write(...args: readonly unknown[]) {
      const [on, lease, work] = args.length < 3 ? [database, ...args] : args
      expectDatabase(on)
      expectFence(lease)
      expectFunction('work', work)
      if (isInTransaction(on))
        refuse(
          'database',
          'one without an open transaction; in one of your own, check(lease) before you write',
          on,
        )
      return inTransaction(on, () => {
        raiseFence(lease, on)
        return expectSynchronous((work as (database: unknown) => never)(on))
      })
    },
  }
}

function expectDatabase(database: unknown): asserts database is SqliteDatabase {
  if (!hasMethods(database, 'exec', 'prepare')) refuseDatabase(database)
}

function refuseDatabase(database: unknown): never {
  refuseClient('database', 'a database of node:sqlite or better-sqlite3', database)
}
