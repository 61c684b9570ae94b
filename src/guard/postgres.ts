import { expectFunction } from '../base/arguments.ts'
import { type PostgresQueryClient, postgresStatements } from '../clients/postgres.ts'
import {
  inPostgresTransaction,
  isOutsideTransaction,
  isPostgresPool,
  knowsTransaction,
  type PostgresTransaction,
} from '../clients/postgres-transaction.ts'
import { expectFence, type Fence, refuseOutside } from './fence.ts'
import type { GuardTableOptions } from './options.ts'
import { guardStatements, throwRefusal } from './sql.ts'

export interface PostgresGuard<Client = PostgresQueryClient> {
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
  write<T>(lease: Fence, work: (transaction: PostgresTransaction<Client>) => T | Promise<T>): Promise<T>
  write<Pool extends PostgresQueryClient, T>(
    pool: Pool,
    lease: Fence,
    work: (transaction: PostgresTransaction<Pool>) => T | Promise<T>,
  ): Promise<T>
}

/**
 * Guards what a transaction writes. Needs the table that `guardTable()` creates.
 *
 * @example
 * await postgresGuard(pool).write(lease, async (client) => {
 *   await client.query('UPDATE document SET body = $1 WHERE key = $2', [body, key])
 * })
 */
export function postgresGuard<Client extends PostgresQueryClient>(
  client: Client,
  options: GuardTableOptions = {},
): PostgresGuard<Client> {
  const { inside, raise, read } = guardStatements(options)
  const run = postgresStatements(client)

  async function raiseFence(lease: Fence, statements = run): Promise<void> {
    const { resource, token, id } = lease
    const [raised] = await statements(raise, [resource, token, id])
    if (raised) return
    const [row] = await statements(read, [resource])
    throwRefusal(lease, row)
  }

  return {
    async check(lease) {
      expectFence(lease)
      if (isPostgresPool(client)) refuseOutside('client', client)
      if (!knowsTransaction(client))
        await run(inside, []).catch((error) => {
          throw isOutsideTransaction(error) ? refuseOutside('client', client) : error
        })
      await raiseFence(lease)
    },
    async write(...args: readonly unknown[]) {
      const [pool, lease, work] = args.length < 3 ? [client, ...args] : args
      expectFence(lease)
      expectFunction('work', work)
      return inPostgresTransaction(pool, 'client', async (transaction) => {
        await raiseFence(lease, postgresStatements(transaction))
        return (work as (transaction: unknown) => never)(transaction)
      })
    },
  }
}
