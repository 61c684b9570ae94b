import { isObject } from '../../base/arguments.ts'
import { LeaseError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/records.ts'
import type { LeaseRow, StoredLease } from '../lease-row.ts'
import { withoutGoneHolder } from '../local/process-node.ts'
import { decodeLeases, decodeReserved, encodeLease, encodeReserved } from '../stored-lease.ts'

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
  /** Reservations, and what is known of the waiters, as JSON; `null`: nobody waits. */
  readonly line: string | null
  /** Of the lease: with which process it ends. */
  readonly process: string | null
  /**
   * All leases as JSON, if there are several or if the only one has a share, `atLeast` or `lockDelay`. The columns then
   * describe the one that ends first.
   */
  readonly leases: string | null
}

/** What the column `line` contains while anybody waits. The waiters have rows of their own. */
interface StoredQueue {
  readonly reserved: unknown
  /** Some of the waiters share, so several of them may have their turn together. */
  readonly isShared?: boolean
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
  /** As `encodeShare` returns it. */
  readonly share: number | null
}

export interface SqliteRow extends LeaseRow {
  /** By the channel of waiters: their process. The waiters of a process that is gone lose their places. */
  readonly processes: Map<string, string>
  /** Some of the waiters share. */
  isShared: boolean
}

/** Without the waiters. Throws a `LeaseError` if the row is damaged, so that nothing is granted from it. */
export function decodeRow(stored: StoredRow, now: number): SqliteRow {
  const { resource, token, id, owner, acquired_at, expires_at, span, ended_at, process } = stored
  const row: SqliteRow = { resource, token, leases: [], endedAt: ended_at, ...decodeQueue(stored) }
  if (id === null) return row
  if (stored.leases !== null) {
    const leases = decodeLeases(parse(stored.leases))
    if (!leases) throw damaged(stored, 'its leases are malformed', 'id')
    row.leases = leases.map((lease) => withoutGoneHolder(lease, now))
    return row
  }
  if (owner === null || acquired_at === null || expires_at === null || span === null)
    throw damaged(stored, 'its lease is not complete', 'id')
  const lease = {
    id,
    owner,
    token,
    metadata: decodeMetadata(stored),
    share: null,
    acquiredAt: acquired_at,
    expiresAt: Math.min(expires_at, now + span),
    span,
    process,
  }
  row.leases = [withoutGoneHolder(lease, now)]
  return row
}

export function encodeRow(row: LeaseRow & Partial<SqliteRow>): StoredRow {
  const { resource, token, leases, endedAt } = row
  const lease = soonest(leases)
  return {
    resource,
    token,
    id: lease ? lease.id : null,
    owner: lease ? lease.owner : null,
    metadata: lease?.metadata ? JSON.stringify(lease.metadata) : null,
    acquired_at: lease ? lease.acquiredAt : null,
    expires_at: lease ? (lease.keptUntil ?? lease.expiresAt) : null,
    span: lease ? lease.span : null,
    ended_at: endedAt,
    line: encodeQueue(row),
    process: lease?.process ?? null,
    leases:
      !lease || (leases.length === 1 && isPlain(lease)) ? null : JSON.stringify(leases.map(encodeLease)),
  }
}

/** Whether nothing was changed: the other columns change only together with one of these. */
export function isSame(before: StoredRow, after: StoredRow): boolean {
  return (['id', 'expires_at', 'line', 'process', 'leases'] as const).every(
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

/** The lease that ends first, or stops keeping the resource. */
function soonest(leases: readonly StoredLease[]): StoredLease | undefined {
  const [first, ...rest] = leases
  const isSooner = (one: StoredLease, other: StoredLease) =>
    (one.keptUntil ?? one.expiresAt) < (other.keptUntil ?? other.expiresAt)
  return first && rest.reduce((found, lease) => (isSooner(lease, found) ? lease : found), first)
}

/** Whether the columns can describe it. */
function isPlain({ share, atLeast, lockDelay }: StoredLease): boolean {
  return share === null && !atLeast && !lockDelay
}

function decodeQueue(stored: StoredRow): Pick<SqliteRow, 'queue' | 'reserved' | 'processes' | 'isShared'> {
  const queue = new Map()
  if (stored.line === null) return { queue, reserved: new Map(), processes: new Map(), isShared: false }
  const value = parse(stored.line)
  const reserved = isStoredQueue(value) && decodeReserved(value.reserved)
  if (!reserved) throw damaged(stored, 'its queue of waiters is malformed', 'line')
  const { processes = {}, isShared = false } = value
  return { queue, reserved, processes: new Map(Object.entries(processes)), isShared }
}

function encodeQueue(row: LeaseRow & Partial<SqliteRow>): string | null {
  const { queue, reserved, processes } = row
  if (queue.size === 0 && reserved.size === 0) return null
  const isShared = row.isShared || [...queue.values()].some(({ share = null }) => share !== null)
  const stored: StoredQueue = {
    reserved: encodeReserved(reserved),
    ...(isShared && { isShared }),
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
  const { processes = {} } = value
  return isObject(processes) && Object.values(processes).every((process) => typeof process === 'string')
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
