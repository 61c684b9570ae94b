import type { DatabaseSync } from 'node:sqlite'
import type { LeaseStore } from '../../core/index.ts'
import { Connection } from './connection.ts'
import { checkOptions, type SqliteStoreOptions } from './options.ts'
import { SqliteStore } from './store.ts'

export type { SqliteStoreOptions } from './options.ts'

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
  const { table, synchronous, clock } = checkOptions(pathOrDatabase, options)
  return new SqliteStore(new Connection(pathOrDatabase, table, synchronous), clock)
}
