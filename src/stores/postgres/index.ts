/*
 * Leases in Postgres. Atomic by the lock of the row. The clock is `clock_timestamp()`, read once after the lock.
 * Free rows are deleted after an hour, and a floor keeps tokens above theirs.
 *
 * Each operation is one function in the database: `transitions.ts`, `read-functions.ts`, `upkeep.ts`, with the queue
 * in `queue.ts`. Waiters are rows of their own, read by later statements than the one that locked the row. Leases
 * that are shared, or keep the resource, are rows of `<table>_shared`, read only if the resource's row says so
 * (`shared-*.ts`). `install-script.ts` brings any state of the tables to the current version, and may run again.
 * Functions are replaced as a whole, and those that callers use are never dropped. `lane.ts` sends requests of one
 * resource together, and renewals and releases on the listening connection. Changes are announced only while
 * somebody watches (`change-feed.ts`).
 */
import { type PostgresClient, type PostgresDatabase, postgresDatabase } from '../../clients/postgres.ts'
import { postgresError } from '../../clients/postgres-errors.ts'
import type { LeaseStore } from '../../core/index.ts'
import {
  checkOptions,
  checkTable,
  type PostgresStoreOptions,
  type PostgresTable,
  type TablePlace,
} from './options.ts'
import { findNames, type InstalledState, inspect, install } from './schema.ts'
import { PostgresStore } from './store.ts'

export type { PostgresClient } from '../../clients/postgres.ts'
export type { PostgresStoreOptions, PostgresTable } from './options.ts'
export type { InstalledState } from './schema.ts'

/**
 * Leases in a table of Postgres, for processes on many machines. Takes a `Pool` or a connected `Client` of `pg`,
 * or the `sql` of `postgres`, and leaves it open.
 *
 * @example
 * const leases = createLeases(postgresStore(new Pool({ connectionString })))
 */
export function postgresStore(client: PostgresClient, options: PostgresStoreOptions = {}): LeaseStore {
  const database = postgresDatabase(client)
  return new PostgresStore(client, database, checkOptions(options, database.connections))
}

/**
 * Creates, upgrades or repairs the tables and functions, for stores whose option `migrate` is false. The role must be
 * allowed to.
 *
 * @example
 * await migratePostgres(pool) // when you deploy, as the owner of the tables
 * const store = postgresStore(pool, { migrate: false })
 */
export async function migratePostgres(client: PostgresClient, table: PostgresTable = {}): Promise<void> {
  await onDatabase(client, table, (database, place) => install(database, place, true))
}

/**
 * Says whether the tables and functions are there, and what is missing or outdated. It changes nothing.
 *
 * @example
 * const { state } = await inspectPostgres(pool) // complete, outdated, absent, …
 */
export function inspectPostgres(client: PostgresClient, table: PostgresTable = {}): Promise<InstalledState> {
  return onDatabase(client, table, async (database, place) =>
    inspect(database, await findNames(database, place)),
  )
}

async function onDatabase<T>(
  client: PostgresClient,
  table: PostgresTable,
  work: (database: PostgresDatabase, place: TablePlace) => Promise<T>,
): Promise<T> {
  const database = postgresDatabase(client)
  const place = checkTable(table)
  try {
    return await work(database, place)
  } catch (error) {
    throw postgresError(error)
  }
}
