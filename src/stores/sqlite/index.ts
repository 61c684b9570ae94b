/*
 * Leases in a SQLite file. Atomic by one statement or by `BEGIN IMMEDIATE`. The clock is the machine's, read under
 * the lock. Free rows are deleted after an hour, and a floor keeps tokens above theirs. The transitions are those of
 * `stores/lease-row.ts`. Only the first three waiters and the caller are loaded, unless some lose their places.
 * Calls at the same time share one sync of the log (`disk-sync.ts`). The schema version is in a table of its own and
 * not in `user_version`: a file may hold several stores, and the application may use that number.
 */
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
