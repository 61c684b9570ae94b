/** The leases of one resource at a moment: which of them are live, and which keep the resource. */
import type { LeaseRecord } from '../base/records.ts'
import type { LeaseRow, StoredLease } from './lease-row.ts'

/** The live leases, oldest first. */
export function liveRecords(row: LeaseRow, now: number): LeaseRecord[] {
  return row.leases.filter((lease) => isLive(lease, now)).map((lease) => describe(row, lease, 'held', now))
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
  const expiresAt = Math.min(lease.expiresAt, now + lease.span)
  return {
    resource: row.resource,
    id,
    owner,
    token,
    metadata,
    share,
    acquiredAt,
    expiresAt,
    remaining: state === 'held' ? expiresAt - now : 0,
    state,
  }
}

/** Saved, because from now on the lease must not end later than that, and not keep the resource longer. */
function clamp(lease: StoredLease, now: number): void {
  const { atLeast = 0, lockDelay = 0 } = lease
  lease.expiresAt = Math.min(lease.expiresAt, now + lease.span)
  if (atLeast) lease.acquiredAt = Math.min(lease.acquiredAt, now)
  if (lease.keptUntil !== undefined)
    lease.keptUntil = Math.min(lease.keptUntil, now + Math.max(atLeast, lockDelay))
}

/** Forgets leases that have ended and keep the resource no longer. */
export function bringUpToDate(row: LeaseRow, now: number): void {
  for (const lease of row.leases) clamp(lease, now)
  if (row.leases.some((lease) => hasEnded(lease) && keptUntil(lease) <= now))
    row.leases = row.leases.filter((lease) => !hasEnded(lease) || now < keptUntil(lease))
}
