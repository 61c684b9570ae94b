import type { DatabaseSync } from 'node:sqlite'
import { expectOneOf, expectOptions, expectText, refuse } from '../../base/arguments.ts'
import { type Clock, expectClock, systemClock } from '../../base/clock.ts'
import { expectSqlite } from '../../clients/sqlite.ts'
import type { LeaseStore } from '../../core/index.ts'
import { Connection } from './connection.ts'
import { SqliteStore } from './store.ts'

export interface SqliteStoreOptions {
  /** Default `holdfast_leases`. Three more tables have this name with `_waiters`, `_meta` and `_changes` after it. */
  readonly table?: string
  /**
   * `full` waits for the disk before it grants or renews: for servers whose clients are on other machines. Default
   * `normal`. A connection of yours keeps its own setting.
   */
  readonly synchronous?: 'normal' | 'full'
  /** The store's own clock. Default: the system's. */
  readonly clock?: Clock
}

/**
 * Leases in a SQLite file, for all processes of one machine. A path is opened by the store and closed by its
 * `close()`; a connection of yours stays open.
 *
 * @example
 * const leases = createLeases(sqliteStore('./holdfast.db'))
 */
export function sqliteStore(
  pathOrDatabase: string | DatabaseSync,
  options: SqliteStoreOptions = {},
): LeaseStore {
  expectOptions(options, { table: 1, synchronous: 1, clock: 1 })
  const { table = 'holdfast_leases', synchronous = 'normal', clock = systemClock } = options
  if (typeof pathOrDatabase === 'string') expectText('pathOrDatabase', pathOrDatabase)
  else expectSqlite('pathOrDatabase', pathOrDatabase, 'a path, or a DatabaseSync of node:sqlite')
  if (typeof table !== 'string' || !/^(?!sqlite_)[a-z_]\w{0,99}$/i.test(table))
    refuse('table', 'a name of letters, digits and underscores', table)
  if (options.synchronous !== undefined && typeof pathOrDatabase !== 'string')
    refuse('synchronous', 'nothing with a connection of yours: set the pragma there', synchronous)
  expectOneOf('synchronous', synchronous, ['normal', 'full'])
  expectClock('clock', clock)
  return new SqliteStore(new Connection(pathOrDatabase, table, synchronous), clock)
}
