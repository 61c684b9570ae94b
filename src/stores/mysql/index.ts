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

/** Creates or repairs the tables and procedures, for stores whose option `migrate` is false. */
export async function migrateMysql(client: MysqlClient, table: MysqlTable = {}): Promise<void> {
  const database = mysqlDatabase(client)
  const names = checkTable(table)
  try {
    await install(database, names, true)
  } catch (error) {
    throw mysqlError(error)
  }
}
