import { LeaseError } from '../core/index.ts'
import { expectFence, expectFresh, type Fence } from './fence.ts'

export interface GuardTableOptions {
  /** Default `holdfast_guard`. Letters, digits and underscores, with a schema before it if need be. */
  readonly table?: string
}

/** The statement that makes the table of `postgresGuard` and `sqliteGuard`, for a migration of yours. */
export function guardTable({ table }: GuardTableOptions = {}): string {
  return `CREATE TABLE IF NOT EXISTS ${nameOf(table)}
  (resource text PRIMARY KEY, token bigint NOT NULL, lease_id text NOT NULL)`
}

/**
 * The condition of an update that is fenced by two columns of its own row, `fence` and `fence_id`.
 *
 * @example
 * const { rowCount } = await client.query(
 *   `UPDATE document SET body = $1, fence = $2, fence_id = $3 WHERE key = $4 AND ${fenceAllows('$2', '$3')}`,
 *   [body, lease.token, lease.id, key],
 * )
 * expectWritten(lease, rowCount)
 */
export function fenceAllows(token: string, id: string): string {
  return `(fence < ${token} OR (fence = ${token} AND fence_id = ${id}))`
}

/** Throws `stale-token` when a fenced update has changed no row. */
export function expectWritten(lease: Fence, changedRows: number | bigint | null): void {
  expectFence(lease)
  if (Number(changedRows) > 0) return
  const { resource, token } = lease
  throw new LeaseError(
    'stale-token',
    `token ${token} of ${resource} is refused: its fenced update changed nothing, or there is no such row`,
    { resource },
  )
}

export interface GuardStatements {
  /** Puts the fence of this lease in the place of an older one. Gives a row if it did. */
  readonly raise: string
  /** The fence that is there. */
  readonly look: string
}

export function guardStatements({ table }: GuardTableOptions): GuardStatements {
  const name = nameOf(table)
  return {
    raise: `INSERT INTO ${name} AS seen (resource, token, lease_id) VALUES ($1, $2, $3)
      ON CONFLICT (resource) DO UPDATE SET token = excluded.token, lease_id = excluded.lease_id
      WHERE seen.token < excluded.token OR (seen.token = excluded.token AND seen.lease_id = excluded.lease_id)
      RETURNING 1`,
    look: `SELECT token, lease_id FROM ${name} WHERE resource = $1`,
  }
}

/** Throws what is to be said of a lease that could not raise the fence, given the row that is there. */
export function refuse(lease: Fence, row: unknown): never {
  if (row) {
    const { token, lease_id: id } = row as { token: number | string | bigint; lease_id: string }
    expectFresh(lease, { token: Number(token), id })
  }
  // Only outside of a transaction.
  const { resource } = lease
  throw new LeaseError('store-unavailable', `the fence of ${resource} changed while it was looked at`, {
    resource,
  })
}

function nameOf(table = 'holdfast_guard'): string {
  if (/^[a-z_]\w*(\.[a-z_]\w*)?$/i.test(table)) return table
  throw new LeaseError(
    'invalid-argument',
    `table: expected letters, digits and underscores, got ${JSON.stringify(table)}`,
  )
}
