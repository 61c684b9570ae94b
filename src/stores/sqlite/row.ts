import { isObject } from '../../base/arguments.ts'
import { LeaseError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/records.ts'
import type { LeaseRow } from '../lease-row.ts'
import { isGone } from '../local/process-node.ts'

/** A row of the table, by its columns. */
export interface StoredRow {
  readonly resource: string
  readonly token: number
  /** `null`: no lease. */
  readonly id: string | null
  readonly owner: string | null
  readonly metadata: string | null
  readonly acquired_at: number | null
  readonly expires_at: number | null
  readonly span: number | null
  readonly ended_at: number
  /** The queue and the reservation as JSON; `null`: nobody waits. */
  readonly line: string | null
  /** Of the lease: with which process it ends. */
  readonly process: string | null
}

/** What the column `line` contains while anybody waits. The waiters have rows of their own. */
interface StoredQueue {
  readonly reserved: LeaseRow['reserved']
  /** By the channel of waiters: their process, if its end can be proved. */
  readonly processes?: Readonly<Record<string, string>>
}

/** A row of the table of waiters. */
export interface StoredWaiter {
  readonly place: number
  readonly id: string
  readonly channel: string
  /** Empty if it waited before waiters had rows of their own. */
  readonly owner: string
}

export interface SqliteRow extends LeaseRow {
  /** By the channel of waiters: their process. The waiters of a process that is gone lose their places. */
  readonly processes: Map<string, string>
}

/** Without the waiters. Throws a `LeaseError` if the row is damaged, so that nothing is granted from it. */
export function decodeRow(stored: StoredRow, now: number): SqliteRow {
  const { resource, token, id, owner, acquired_at, expires_at, span, ended_at, process } = stored
  const row: SqliteRow = { resource, token, lease: null, endedAt: ended_at, ...decodeQueue(stored) }
  if (id === null) return row
  if (owner === null || acquired_at === null || expires_at === null || span === null)
    throw damaged(stored, 'its lease is not complete', 'id')
  row.lease = {
    id,
    owner,
    metadata: decodeMetadata(stored),
    acquiredAt: acquired_at,
    expiresAt: isGone(process) ? Math.min(expires_at, now) : Math.min(expires_at, now + span),
    span,
    process,
  }
  return row
}

export function encodeRow(row: LeaseRow & Partial<SqliteRow>): StoredRow {
  const { resource, token, lease, endedAt } = row
  return {
    resource,
    token,
    id: lease ? lease.id : null,
    owner: lease ? lease.owner : null,
    metadata: lease?.metadata ? JSON.stringify(lease.metadata) : null,
    acquired_at: lease ? lease.acquiredAt : null,
    expires_at: lease ? lease.expiresAt : null,
    span: lease ? lease.span : null,
    ended_at: endedAt,
    line: encodeQueue(row),
    process: lease?.process ?? null,
  }
}

/** Whether nothing was changed: the other columns change only together with one of these. */
export function isSame(before: StoredRow, after: StoredRow): boolean {
  return (['id', 'expires_at', 'line', 'process'] as const).every(
    (column) => after[column] === before[column],
  )
}

/** For calls that read many rows: damaged rows are skipped, with one warning for each. */
export class DamagedRows {
  readonly #resources = new Set<string>()

  get size(): number {
    return this.#resources.size
  }

  /** `null`: the row is damaged. */
  decode(stored: StoredRow, now: number): SqliteRow | null {
    try {
      return decodeRow(stored, now)
    } catch (error) {
      if (!(error instanceof LeaseError)) throw error
      if (!this.#resources.has(stored.resource)) process.emitWarning(error.message, 'HoldfastWarning')
      this.#resources.add(stored.resource)
      return null
    }
  }
}

function decodeQueue(stored: StoredRow): Pick<SqliteRow, 'queue' | 'reserved' | 'processes'> {
  if (stored.line === null) return { queue: [], reserved: null, processes: new Map() }
  const value = parse(stored.line)
  if (!isStoredQueue(value)) throw damaged(stored, 'its queue of waiters is malformed', 'line')
  const { reserved, processes = {} } = value
  return { queue: [], reserved, processes: new Map(Object.entries(processes)) }
}

function encodeQueue({ queue, reserved, processes }: LeaseRow & Partial<SqliteRow>): string | null {
  if (queue.length === 0 && !reserved) return null
  const stored: StoredQueue = {
    reserved,
    ...(processes && processes.size > 0 && { processes: Object.fromEntries(processes) }),
  }
  return JSON.stringify(stored)
}

function decodeMetadata(stored: StoredRow): JsonObject | null {
  if (stored.metadata === null) return null
  const value = parse(stored.metadata)
  if (!isObject(value)) throw damaged(stored, 'its metadata is not a JSON object', 'metadata')
  return value as JsonObject
}

function isStoredQueue(value: unknown): value is StoredQueue {
  if (!isObject(value)) return false
  const { reserved, processes = {} } = value
  return (
    (reserved === null || isReservation(reserved)) &&
    isObject(processes) &&
    Object.values(processes).every((process) => typeof process === 'string')
  )
}

function isReservation(value: unknown): boolean {
  const { id, until } = Object(value)
  return typeof id === 'string' && typeof until === 'number'
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function damaged({ resource }: StoredRow, problem: string, column: string): LeaseError {
  return new LeaseError(
    'store-failed',
    `the row of ${resource} was damaged or written by another version: ${problem}; ` +
      `once nobody works under this lease, set the column ${column} of the row to NULL`,
    { resource },
  )
}
