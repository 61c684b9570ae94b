import type { DatabaseSync } from 'node:sqlite'
import { type Clock, LeaseError, type LeaseStore, systemClock } from '../../core/index.ts'
import { Connection } from './connection.ts'
import { SqliteStore } from './store.ts'

export interface SqliteStoreOptions {
  /** Default `holdfast_leases`. Two more tables have this name with `_meta` and `_changes` after it. */
  readonly table?: string
  /**
   * `full` waits for the disk with every change: for servers whose clients are on other machines. Default
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
  const { table = 'holdfast_leases', synchronous, clock = systemClock } = options
  const isPath = typeof pathOrDatabase === 'string'
  if (isPath ? pathOrDatabase === '' : typeof pathOrDatabase?.prepare !== 'function')
    refuse('pathOrDatabase', 'a path or a DatabaseSync', pathOrDatabase)
  if (typeof table !== 'string' || !/^(?!sqlite_)[a-z_]\w{0,99}$/i.test(table))
    refuse('table', 'a name of letters, digits and underscores', table)
  if (synchronous !== undefined && !isPath)
    refuse('synchronous', 'none with a connection of yours: set the pragma there', synchronous)
  if (synchronous !== undefined && synchronous !== 'normal' && synchronous !== 'full')
    refuse('synchronous', `'normal' or 'full'`, synchronous)
  return new SqliteStore(new Connection(pathOrDatabase, table, synchronous ?? 'normal'), clock)
}

function refuse(option: string, expected: string, value: unknown): never {
  throw new LeaseError('invalid-argument', `${option}: expected ${expected}, got ${JSON.stringify(value)}`)
}
