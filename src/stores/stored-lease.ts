/** A lease of a row as JSON, for stores that write rows into a file or a column. */
import { isObject } from '../base/arguments.ts'
import { decodeShare, encodeShare, isShare } from '../base/share.ts'
import type { Reservation, StoredLease } from './lease-row.ts'

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
