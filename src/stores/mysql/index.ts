/*
 * Leases in MySQL and MariaDB. Atomic by the lock of the row, in procedures. The clock is `SYSDATE` in UTC, read
 * once after the lock, or before an update that requires the last end to be earlier. Free rows are deleted after an
 * hour, and a floor keeps tokens above theirs.
 *
 * A single exclusive lease is in the row of its resource, where plain statements change it while nobody else asks
 * and nobody watches (`plain-transitions.ts`). `has_rows` says that leases and waiters have rows of their own
 * (`full-transitions.ts`). `due_at` is never later than the first expiry, and a sweep corrects it. MySQL cannot
 * push: a release answers with the waiters of its own process. For others, procedures leave messages in a table,
 * which each process reads and deletes (`push.ts`).
 */
import { type MysqlClient, mysqlDatabase } from '../../clients/mysql.ts'
import { mysqlError } from '../../clients/mysql-errors.ts'
import type { LeaseStore } from '../../core/index.ts'
import { checkOptions, checkTable, type MysqlStoreOptions, type MysqlTable } from './options.ts'
import { install } from './schema.ts'
import { MysqlStore } from './store.ts'

export type { MysqlClient } from '../../clients/mysql.ts'
export type { MysqlStoreOptions, MysqlTable } from './options.ts'

/**
 * Leases in tables of MySQL or MariaDB, for processes on many machines. Takes a `Pool` or a connection of `mysql2`,
 * with promises or with callbacks, and leaves it open.
 *
 * @example
 * const leases = createLeases(mysqlStore(mysql.createPool('mysql://localhost/app')))
 */
export function mysqlStore(client: MysqlClient, options: MysqlStoreOptions = {}): LeaseStore {
  const database = mysqlDatabase(client)
  return new MysqlStore(client, database, checkOptions(options, database.connections))
}

/**
 * Creates or repairs the tables and procedures, for stores whose option `migrate` is false.
 *
 * @example
 * await migrateMysql(pool) // when you deploy, as a user who may create procedures
 * const store = mysqlStore(pool, { migrate: false })
 */
export async function migrateMysql(client: MysqlClient, table: MysqlTable = {}): Promise<void> {
  const database = mysqlDatabase(client)
  const names = checkTable(table)
  try {
    await install(database, names, true)
  } catch (error) {
    throw mysqlError(error)
  }
}
