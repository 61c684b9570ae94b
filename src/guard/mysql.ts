import { expectFunction, refuse } from '../base/arguments.ts'
import { isLonger } from '../base/resource-name.ts'
import {
  bytes,
  isMysqlPool,
  type MysqlClient,
  type MysqlDatabase,
  mysqlDatabase,
  mysqlText,
  promisedClient,
} from '../clients/mysql.ts'
import { inMysqlTransaction, type MysqlTransaction } from '../clients/mysql-transaction.ts'
import { expectFence, expectFresh, type Fence, refuseOutside } from './fence.ts'
import type { GuardTableOptions } from './options.ts'
import { tableOf, throwRefusal } from './sql.ts'

/** A key of InnoDB may have 3072. A server that is not strict would cut a longer name off. */
const MAX_RESOURCE_BYTES = 3072

export interface MysqlGuard<Client = MysqlClient> {
  /**
   * Rejects with `stale-token` if the guard has seen a newer lease, and with `invalid-argument` if the client is a
   * pool, or a connection without an open transaction. Errors of the client are passed on unchanged. Other checks of
   * the same resource wait until your transaction ends.
   *
   * @throws `stale-token`
   */
  check(lease: Fence): Promise<void>
  /**
   * Opens a transaction of the pool, checks the lease, runs the work and commits. Rolls back if the work rejects.
   * Rejects with `outcome-unknown` if the answer to COMMIT was lost. Without `pool`, it is the
   * client of the guard.
   *
   * @throws `stale-token`, `outcome-unknown`
   */
  write<T>(lease: Fence, work: (connection: MysqlTransaction<Client>) => T | Promise<T>): Promise<T>
  write<Pool extends MysqlClient, T>(
    pool: Pool,
    lease: Fence,
    work: (connection: MysqlTransaction<Pool>) => T | Promise<T>,
  ): Promise<T>
}

/**
 * The statement that creates the table of `mysqlGuard`, for a migration of yours.
 *
 * @example
 * await pool.query(mysqlGuardTable())
 */
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
 * await mysqlGuard(pool).write(lease, async (connection) => {
 *   await connection.execute('UPDATE document SET body = ? WHERE id = ?', [body, id])
 * })
 */
export function mysqlGuard<Client extends MysqlClient>(
  client: Client,
  options: GuardTableOptions = {},
): MysqlGuard<Client> {
  const table = tableOf(options)
  const database = mysqlDatabase(client)

  async function raiseFence(lease: Fence, { change, query, limit }: MysqlDatabase): Promise<void> {
    const { resource, token, id } = lease
    if (isLonger(resource, MAX_RESOURCE_BYTES))
      refuse('lease.resource', `at most ${MAX_RESOURCE_BYTES} bytes of UTF-8`, resource)
    // No limit: a statement may have to wait for the transaction of another.
    limit.ms = 0
    // It locks the row even if it changes nothing. `token` is the old one, because it is assigned last.
    const { inTransaction } = await change(`INSERT INTO ${table} (resource, token, lease_id)
      VALUES (${bytes(resource)}, ${token}, ${bytes(id)}) ON DUPLICATE KEY UPDATE
      lease_id = IF(token < ${token}, ${bytes(id)}, lease_id), token = GREATEST(token, ${token})`)
    if (!inTransaction) refuseOutside('client', client)
    // A locking read sees the newest row. Another would see the row as it was when the transaction began.
    const [[row] = []] = await query(
      `SELECT token, lease_id FROM ${table} WHERE resource = ${bytes(resource)} FOR UPDATE`,
    )
    if (!row) throwRefusal(lease, row)
    const { token: newest, lease_id: newestId } = row
    expectFresh(lease, { token: Number(newest), id: mysqlText(newestId) })
  }

  return {
    async check(lease) {
      expectFence(lease)
      if (isMysqlPool(promisedClient(client))) refuseOutside('client', client)
      await raiseFence(lease, database)
    },
    async write(...args: readonly unknown[]) {
      const [pool, lease, work] = args.length < 3 ? [client, ...args] : args
      expectFence(lease)
      expectFunction('work', work)
      return inMysqlTransaction(pool as MysqlClient, 'client', async (connection) => {
        await raiseFence(lease, mysqlDatabase(connection))
        return (work as (connection: unknown) => never)(connection)
      })
    },
  }
}
