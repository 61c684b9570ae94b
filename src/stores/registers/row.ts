/**
 * One resource as a register keeps it. A write says what it is meant to do, and the server's time of that write
 * decides what it did. So a request that is delayed, by a pause or a broken network, does no harm:
 *
 *     grant     begins a lease at the time of this write; carries the lease that it replaced
 *     renewal   extends the lease, if it was written before the expiry; otherwise the lease stays expired
 *     end       release, force or sweep: `released` if it was written before the expiry, otherwise `expired`
 *
 * Anybody may write a renewal with a TTL of 0. It does not lengthen the lease, but states it again by the current
 * clock. That ends a lease in time whose write lies in the future, because the clock has stepped back.
 */
import type { LeaseRecord } from '../../base/records.ts'
import type { Ask } from '../../core/index.ts'
import { decode, encode, type StoredLease, unreadable } from './format.ts'
import type { IndexFields, Register } from './registers.ts'

/** How long the register of an ended lease is kept, so that its token outlives a clock that steps back. */
const KEEP_ENDED_MS = 3_600_000
/** The times of writes are rounded up to a millisecond, and the clock is rounded down. */
const CLOCK_ROUNDING_MS = 2

export const INDEX_ENDED: IndexFields = { isListed: false, dueIn: KEEP_ENDED_MS }

export interface Row<R extends Register = Register> {
  readonly register: R
  readonly resource: string
  /** Of the last grant. */
  readonly token: number
  readonly writtenAt: number
  /** Also an expired lease, until a sweep or a grant has returned it to somebody. */
  readonly lease: StoredLease | null
  /** The renewal came too late. */
  readonly lapsed: boolean
  /** The lease that this write ended. */
  readonly ended: LeaseRecord | null
}

export interface HeldRow<R extends Register = Register> extends Row<R> {
  readonly lease: StoredLease
}

export function grantText(ask: Ask, row: Row | null, floor: number): string {
  const { id, owner, metadata = null, ttl } = ask
  return encode({ type: 'grant', id, owner, metadata, ttl, floor, replaced: row?.lease ?? null })
}

export function renewalText({ lease, writtenAt }: HeldRow, ttl: number): string {
  return encode({ type: 'renewal', lease, span: lease.expiresAt - writtenAt, ttl })
}

export function endText({ lease }: HeldRow): string {
  return encode({ type: 'end', lease })
}

/** Throws if the register is not a lease: a resource must not be granted while its record cannot be read. */
export function rowOf<R extends Register>(register: R): Row<R> {
  const write = decode(register)
  const writtenAt = Math.ceil(register.writtenMicros / 1000)
  const row = { register, resource: register.name, writtenAt, lapsed: false, ended: null }
  switch (write.type) {
    case 'grant': {
      const { id, owner, metadata, ttl, floor, replaced } = write
      const token = Math.max(floor + 1, register.writtenMicros)
      const lease = { id, owner, metadata, token, acquiredAt: writtenAt, expiresAt: writtenAt + ttl }
      return { ...row, token, lease, ended: replaced && endOf(replaced, 'taken-over', row) }
    }
    case 'renewal': {
      const { lease, span, ttl } = write
      const until = Math.min(lease.expiresAt, writtenAt + span)
      const lapsed = until <= writtenAt
      const expiresAt = lapsed ? until : Math.max(until, writtenAt + ttl)
      return { ...row, token: lease.token, lease: { ...lease, expiresAt }, lapsed }
    }
    case 'end': {
      const { lease } = write
      return { ...row, token: lease.token, lease: null, ended: endOf(lease, 'released', row) }
    }
    case 'floor':
      throw unreadable(register)
  }
}

/** For code that looks at many registers: `null` instead of an error. */
export function readableRow<R extends Register>(register: R): Row<R> | null {
  try {
    return rowOf(register)
  } catch {
    return null
  }
}

export function hasLease<R extends Register>(row: Row<R> | null): row is HeldRow<R> {
  return row?.lease != null
}

/** As far as can be told without the time. A renewal that comes too late is recognised by the time of its write. */
export function isHeldBy<R extends Register>(row: Row<R> | null, id: string): row is HeldRow<R> {
  return hasLease(row) && row.lease.id === id && !row.lapsed
}

/** All that watchers are told of a write, in order. */
export function changesOf(row: Row): LeaseRecord[] {
  const { ended, lease, lapsed, writtenAt } = row
  const current = lease && (lapsed ? recordOf(row, lease, 'expired', 0) : liveRecord(row, writtenAt))
  return [ended, current].filter((record) => record !== null)
}

export function liveRecord(row: Row, now: number): LeaseRecord | null {
  const { lease, lapsed, writtenAt } = row
  if (!lease || lapsed || now >= lease.expiresAt) return null
  return recordOf(row, lease, 'held', lease.expiresAt - Math.max(now, writtenAt))
}

/** The lease of the row at the time of its write. */
export function writtenRecord(row: Row): LeaseRecord | null {
  return liveRecord(row, row.writtenAt)
}

/** The clock has stepped back to a time before the write. */
export function isAhead({ writtenAt }: Row, now: number): boolean {
  return writtenAt > now + CLOCK_ROUNDING_MS
}

/** Nobody uses it, and no clock that steps back by less than an hour could produce its token again. */
export function isRemovable({ lease, token, writtenAt }: Row, now: number): boolean {
  return !lease && Math.max(writtenAt, token / 1000) + KEEP_ENDED_MS <= now
}

function endOf(
  lease: StoredLease,
  state: 'released' | 'taken-over',
  row: Pick<Row, 'resource' | 'writtenAt'>,
): LeaseRecord {
  return recordOf(row, lease, row.writtenAt < lease.expiresAt ? state : 'expired', 0)
}

function recordOf(
  { resource }: Pick<Row, 'resource'>,
  lease: StoredLease,
  state: LeaseRecord['state'],
  remaining: number,
): LeaseRecord {
  const { id, owner, token, metadata, acquiredAt, expiresAt } = lease
  return { resource, id, owner, token, metadata, share: null, acquiredAt, expiresAt, remaining, state }
}
