import { expectFence, type Fence } from './fence.ts'
import { type GuardTableOptions, guardStatements, refuse } from './sql.ts'

/** A client of `pg` within a transaction. */
export interface PgGuardClient {
  query(text: string, values: unknown[]): PromiseLike<{ readonly rows: readonly unknown[] }>
}

/** The `sql` of a transaction of `postgres`. */
export interface PostgresGuardClient {
  unsafe(text: string, values: (string | number)[]): PromiseLike<readonly unknown[]>
}

export interface PostgresGuard {
  /**
   * Rejects with `stale-token` if a newer lease was checked before; errors of the client pass as they are. Others
   * who check the same resource wait for the end of your transaction.
   */
  check(lease: Fence): Promise<void>
}

/**
 * Guards what a transaction writes. Needs the table that `guardTable()` makes.
 *
 * @example
 * await client.query('BEGIN')
 * await postgresGuard(client).check(lease)
 * await client.query('UPDATE document SET body = $1 WHERE key = $2', [body, key])
 * await client.query('COMMIT')
 */
export function postgresGuard(
  client: PgGuardClient | PostgresGuardClient,
  options: GuardTableOptions = {},
): PostgresGuard {
  const { raise, look } = guardStatements(options)
  return {
    async check(lease) {
      expectFence(lease)
      const { resource, token, id } = lease
      const [raised] = await run(client, raise, [resource, token, id])
      if (raised) return
      const [seen] = await run(client, look, [resource])
      refuse(lease, seen)
    },
  }
}

async function run(
  client: PgGuardClient | PostgresGuardClient,
  text: string,
  values: (string | number)[],
): Promise<readonly unknown[]> {
  return 'unsafe' in client ? client.unsafe(text, values) : (await client.query(text, values)).rows
}
