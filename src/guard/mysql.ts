import { refuse } from '../base/arguments.ts'
import { isLonger } from '../base/resource-name.ts'
import { bytes, type MysqlClient, mysqlDatabase, mysqlText } from '../clients/mysql.ts'
import { expectFence, expectFresh, type Fence } from './fence.ts'
import { type GuardTableOptions, tableOf, throwRefusal } from './sql.ts'

/** A key of InnoDB may have 3072. A server that is not strict would cut a longer name off. */
const MAX_RESOURCE_BYTES = 3072

export interface MysqlGuard {
  /**
   * Rejects with `stale-token` if the guard has seen a newer lease. Errors of the client are passed on unchanged.
   * Other checks of the same resource wait until your transaction ends.
   */
  check(lease: Fence): Promise<void>
}

/** The statement that creates the table of `mysqlGuard`, for a migration of yours. */
export function mysqlGuardTable(options: GuardTableOptions = {}): string {
  // Bytes, so that no collation takes two names for one. InnoDB, because other engines do not lock rows.
  return `CREATE TABLE IF NOT EXISTS ${tableOf(options)}
  (resource varbinary(${MAX_RESOURCE_BYTES}) PRIMARY KEY, token bigint NOT NULL, lease_id blob NOT NULL) ENGINE = InnoDB`
}

/**
 * Guards what a transaction of MySQL or MariaDB writes, with a connection of `mysql2`. Needs the table that
 * `mysqlGuardTable()` creates.
 *
 * @example
 * await connection.beginTransaction()
 * await mysqlGuard(connection).check(lease)
 * await connection.execute('UPDATE document SET body = ? WHERE id = ?', [body, id])
 * await connection.commit()
 */
export function mysqlGuard(client: MysqlClient, options: GuardTableOptions = {}): MysqlGuard {
  const database = mysqlDatabase(client)
  // No limit: a statement may have to wait for the transaction of another.
  database.limit.ms = 0
  const table = tableOf(options)
  return {
    async check(lease) {
      expectFence(lease)
      const { resource, token, id } = lease
      if (isLonger(resource, MAX_RESOURCE_BYTES))
        refuse('lease.resource', `at most ${MAX_RESOURCE_BYTES} bytes of UTF-8`, resource)
      // It locks the row even if it changes nothing. `token` is the old one, because it is assigned last.
      await database.change(`INSERT INTO ${table} (resource, token, lease_id)
        VALUES (${bytes(resource)}, ${token}, ${bytes(id)}) ON DUPLICATE KEY UPDATE
        lease_id = IF(token < ${token}, ${bytes(id)}, lease_id), token = GREATEST(token, ${token})`)
      // A locking read sees the newest row. Another would see the row as it was when the transaction began.
      const [[row] = []] = await database.query(
        `SELECT token, lease_id FROM ${table} WHERE resource = ${bytes(resource)} FOR UPDATE`,
      )
      if (!row) throwRefusal(lease, row)
      const { token: newest, lease_id: newestId } = row
      expectFresh(lease, { token: Number(newest), id: mysqlText(newestId) })
    },
  }
}
