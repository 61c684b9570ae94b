/** A row, or a lease of it, as JSON: for stores that write rows into a file or a column. */
import { isObject } from '../base/arguments.ts'
import { decodeShare, encodeShare, isShare } from '../base/share.ts'
import type { LeaseRow, Reservation, StoredLease, Waiter } from './lease-row.ts'

/** A row that JSON can carry. The queue has the name `line` there. */
export interface StoredRow extends Pick<LeaseRow, 'resource' | 'token' | 'endedAt'> {
  readonly leases: unknown
  readonly line: readonly Waiter[]
  readonly reserved: unknown
}

/**
 * As an object for `JSON.stringify`, with its queue and reservations.
 *
 * @example
 * await database.put(row.resource, JSON.stringify(encodeRow(row)))
 */
export function encodeRow({ resource, token, endedAt, leases, queue, reserved }: LeaseRow): StoredRow {
  return {
    resource,
    token,
    endedAt,
    leases: leases.map(encodeLease),
    line: Array.from(queue.values(), (waiter) => ({ ...waiter, share: encodeShare(waiter.share) })),
    reserved: encodeReserved(reserved),
  }
}

/**
 * `null`: not a row that `encodeRow` returned. Its resource must not be granted.
 *
 * @example
 * const row = decodeRow(JSON.parse(text))
 * if (!row) throw storeError('Mine', new Error(`${name} is damaged`), { retryable: false })
 */
export function decodeRow(stored: unknown): LeaseRow | null {
  const { resource, token, endedAt, line, ...rest } = Object(stored)
  const leases = decodeLeases(rest.leases)
  const reserved = decodeReserved(rest.reserved)
  const isWhole = typeof resource === 'string' && Number.isSafeInteger(token) && Array.isArray(line)
  if (!leases || !reserved || !isWhole) return null
  const waiters = line.map((waiter) => ({ ...waiter, share: decodeShare(Object(waiter).share) }))
  if (!waiters.every(isWaiter)) return null
  const queue = new Map(waiters.map((waiter) => [waiter.id, waiter]))
  return { resource, token, leases, endedAt: isTime(endedAt) ? endedAt : 0, queue, reserved }
}

/** As `StoredLease`, with a share that JSON can carry. */
export function encodeLease(lease: StoredLease): StoredLease {
  return { ...lease, share: encodeShare(lease.share) }
}

/** `null`: not a lease that `encodeLease` returned. */
export function decodeLease(value: unknown): StoredLease | null {
  if (!isObject(value)) return null
  const { share } = value
  const lease = { ...value, share: decodeShare(share as number | null) }
  return isStoredLease(lease) ? lease : null
}

/** All of them, or `null` if one is damaged: a resource must not be granted beside a lease that cannot be read. */
export function decodeLeases(values: unknown): StoredLease[] | null {
  if (!Array.isArray(values)) return null
  const leases = values.map(decodeLease)
  return leases.every((lease) => lease !== null) ? leases : null
}

/** The reservations of a row, as JSON can carry them. */
export function encodeReserved(reserved: ReadonlyMap<string, Reservation>): unknown {
  return Array.from(reserved, ([id, { until, share }]) => ({ id, until, share: encodeShare(share) }))
}

/** `null`: not what `encodeReserved` returned. */
export function decodeReserved(values: unknown): Map<string, Reservation> | null {
  if (!Array.isArray(values)) return null
  const reserved = new Map<string, Reservation>()
  for (const value of values) {
    const { id, until, share: stored } = Object(value)
    const share = decodeShare(stored)
    if (typeof id !== 'string' || !isTime(until) || !(share === null || isShare(share))) return null
    reserved.set(id, { until, share })
  }
  return reserved
}

function isStoredLease(lease: Record<string, unknown>): lease is Record<string, unknown> & StoredLease {
  const { id, owner, token, metadata, share, acquiredAt, expiresAt, span, process } = lease
  const { atLeast, lockDelay, keptUntil } = lease
  return (
    typeof id === 'string' &&
    typeof owner === 'string' &&
    Number.isSafeInteger(token) &&
    (metadata === null || isObject(metadata)) &&
    (share === null || isShare(share)) &&
    [acquiredAt, expiresAt, span].every(isTime) &&
    [atLeast, lockDelay, keptUntil].every((time) => time === undefined || isTime(time)) &&
    (process === undefined || process === null || typeof process === 'string')
  )
}

function isTime(value: unknown): value is number {
  return Number.isFinite(value)
}

function isWaiter({ id, channel, owner, share }: Record<string, unknown>): boolean {
  return (
    typeof id === 'string' &&
    typeof channel === 'string' &&
    (owner === undefined || typeof owner === 'string') &&
    (share === null || isShare(share))
  )
}
