/** The leases of one resource at a moment: which of them are live, and which keep the resource. */
import type { LeaseRecord } from '../base/records.ts'
import type { LeaseRow, StoredLease } from './lease-row.ts'

/** The live leases, oldest first. */
export function liveRecords(row: LeaseRow, now: number): LeaseRecord[] {
  return row.leases.filter((lease) => isLive(lease, now)).map((lease) => describe(row, lease, 'held', now))
}

/** The live leases, and those that have ended and keep the resource, oldest first. */
export function shownRecords(row: LeaseRow, now: number): LeaseRecord[] {
  return row.leases
    .filter((lease) => isLive(lease, now) || isKeeping(lease, now))
    .map((lease) => describe(row, lease, isLive(lease, now) ? 'held' : 'kept', now))
}

export function liveLease(row: LeaseRow, id: string, now: number): StoredLease | undefined {
  return row.leases.find((lease) => lease.id === id && isLive(lease, now))
}

export function isLive(lease: StoredLease, now: number): boolean {
  return !hasEnded(lease) && now < lease.expiresAt
}

export function hasEnded({ keptUntil }: StoredLease): boolean {
  return keptUntil !== undefined
}

/** Whether it has ended and keeps the resource. Also if nobody has noticed yet that it expired. */
export function isKeeping(lease: StoredLease, now: number): boolean {
  return !isLive(lease, now) && now < keptUntil(lease)
}

/** Until when no other lease fits beside it, unless their shares allow it. */
export function keptUntil(lease: StoredLease): number {
  return lease.keptUntil ?? Math.max(lease.expiresAt + (lease.lockDelay ?? 0), keptByAtLeast(lease))
}

export function keptByAtLeast({ acquiredAt, atLeast }: StoredLease): number {
  return atLeast ? acquiredAt + atLeast : 0
}

export function describe(
  row: LeaseRow,
  lease: StoredLease,
  state: LeaseRecord['state'],
  now: number,
): LeaseRecord {
  const { id, owner, token, metadata, share, acquiredAt } = lease
  const [until, span] =
    state === 'kept' ? [keptUntil(lease), longestKeeping(lease)] : [lease.expiresAt, lease.span]
  // A clock that stepped back lengthens nothing.
  const expiresAt = Math.min(until, now + span)
  return {
    resource: row.resource,
    id,
    owner,
    token,
    metadata,
    share,
    acquiredAt,
    expiresAt,
    remaining: state === 'held' || state === 'kept' ? expiresAt - now : 0,
    state,
  }
}

/** Saved, because from now on the lease must not end later than that, and not keep the resource longer. */
function clamp(lease: StoredLease, now: number): void {
  lease.expiresAt = Math.min(lease.expiresAt, now + lease.span)
  if (lease.atLeast) lease.acquiredAt = Math.min(lease.acquiredAt, now)
  if (lease.keptUntil !== undefined) lease.keptUntil = Math.min(lease.keptUntil, now + longestKeeping(lease))
}

function longestKeeping({ atLeast = 0, lockDelay = 0 }: StoredLease): number {
  return Math.max(atLeast, lockDelay)
}

/** Forgets leases that have ended and keep the resource no longer. */
export function bringUpToDate(row: LeaseRow, now: number): void {
  for (const lease of row.leases) clamp(lease, now)
  if (row.leases.some((lease) => hasEnded(lease) && keptUntil(lease) <= now))
    row.leases = row.leases.filter((lease) => !hasEnded(lease) || now < keptUntil(lease))
}
