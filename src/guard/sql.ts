import { expectOptions, expectText, refuse } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { expectFence, expectFresh, type Fence, staleToken } from './fence.ts'
import type { GuardTableOptions } from './options.ts'

/**
 * The statement that creates the table of `postgresGuard` and `sqliteGuard`, for a migration of yours.
 *
 * @example
 * await pool.query(guardTable({ table: 'app.guard' }))
 */
export function guardTable(options: GuardTableOptions = {}): string {
  return `CREATE TABLE IF NOT EXISTS ${tableOf(options)}
  (resource text PRIMARY KEY, token bigint NOT NULL, lease_id text NOT NULL)`
}

/**
 * The condition of an update whose row has the fence in two columns of its own, `fence` and `fence_id`.
 *
 * @example
 * const { rowCount } = await client.query(
 *   `UPDATE document SET body = $1, fence = $2, fence_id = $3 WHERE key = $4 AND ${fenceAllows('$2', '$3')}`,
 *   [body, lease.token, lease.id, key],
 * )
 * expectWritten(lease, rowCount)
 */
export function fenceAllows(token: string, id: string): string {
  expectText('token', token)
  expectText('id', id)
  return `(fence < ${token} OR (fence = ${token} AND fence_id = ${id}))`
}

/**
 * Throws `stale-token` if a fenced update has changed no row.
 *
 * @example
 * const { rowCount } = await client.query(`UPDATE invoices SET … WHERE id = $1 AND ${fenceAllows('$2', '$3')}`, values)
 * expectWritten(lease, rowCount) // throws stale-token
 */
export function expectWritten(lease: Fence, changedRows: number | bigint | null): void {
  expectFence(lease)
  if (changedRows !== null && typeof changedRows !== 'number' && typeof changedRows !== 'bigint')
    refuse('changedRows', 'how many rows the update has changed', changedRows)
  if (changedRows !== null && changedRows > 0) return
  throw staleToken(lease, 'the fenced update changed no row, or the row does not exist')
}

export interface GuardStatements {
  /** Of Postgres: fails outside of a transaction, and takes no lock that `raise` does not take. */
  readonly inside: string
  /** Replaces the fence of an older lease by the fence of this lease. Returns a row if it did. */
  readonly raise: string
  /** The fence that is stored. */
  readonly read: string
}

/** Each placeholder stands once, in the order of the values. */
export function guardStatements(options: GuardTableOptions): GuardStatements {
  const table = tableOf(options)
  return {
    inside: `LOCK TABLE ${table} IN ROW EXCLUSIVE MODE`,
    raise: `INSERT INTO ${table} AS seen (resource, token, lease_id) VALUES ($1, $2, $3)
      ON CONFLICT (resource) DO UPDATE SET token = excluded.token, lease_id = excluded.lease_id
      WHERE seen.token < excluded.token OR (seen.token = excluded.token AND seen.lease_id = excluded.lease_id)
      RETURNING 1`,
    read: `SELECT token, lease_id FROM ${table} WHERE resource = $1`,
  }
}

/** For a lease that could not raise the fence: `row` is the fence that is stored. */
export function throwRefusal(lease: Fence, row: unknown): never {
  if (row) {
    const { token, lease_id: id } = row as { token: number | string | bigint; lease_id: string }
    expectFresh(lease, { token: Number(token), id })
  }
  // Only if a policy of the table hides the row: within the transaction it is locked.
  const { resource } = lease
  throw new LeaseError('store-unavailable', `the fence of ${resource} changed between two statements`, {
    resource,
  })
}

export function tableOf(options: GuardTableOptions): string {
  expectOptions(options, { table: 1 })
  const { table = 'holdfast_guard' } = options
  if (typeof table !== 'string' || !/^[a-z_]\w*(\.[a-z_]\w*)?$/i.test(table))
    refuse('table', 'letters, digits and underscores', table)
  return table
}
