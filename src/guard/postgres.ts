import { type PostgresQueryClient, postgresStatements } from '../clients/postgres.ts'
import { expectFence, type Fence } from './fence.ts'
import { type GuardTableOptions, guardStatements, throwRefusal } from './sql.ts'

export interface PostgresGuard {
  /**
   * Rejects with `stale-token` if the guard has seen a newer lease. Errors of the client are passed on unchanged.
   * Other checks of the same resource wait until your transaction ends.
   */
  check(lease: Fence): Promise<void>
}

/**
 * Guards what a transaction writes. Needs the table that `guardTable()` creates.
 *
 * @example
 * await client.query('BEGIN')
 * await postgresGuard(client).check(lease)
 * await client.query('UPDATE document SET body = $1 WHERE key = $2', [body, key])
 * await client.query('COMMIT')
 */
export function postgresGuard(client: PostgresQueryClient, options: GuardTableOptions = {}): PostgresGuard {
  const run = postgresStatements(client)
  const { raise, read } = guardStatements(options)
  return {
    async check(lease) {
      expectFence(lease)
      const { resource, token, id } = lease
      const [raised] = await run(raise, [resource, token, id])
      if (raised) return
      const [row] = await run(read, [resource])
      throwRefusal(lease, row)
    },
  }
}
