/**
 * One resource as a register keeps it. A write says what it is meant to do, and the server's time of that write
 * decides what it did. So a request that was held up on its way, by a pause or a dead network, does no harm:
 *
 *     grant     begins a lease that runs from this write; carries the lease that it took the place of
 *     renewal   extends the lease, if it was written before the expiry; else the lease stays expired
 *     end       release, force or sweep: `released` if it was written before the expiry, else `expired`
 *
 * A renewal may come from anybody, with a TTL of 0: it lengthens nothing, but restates the lease by the clock as
 * it is now. That is how a lease whose write lies in the future, because the clock stepped back, ends in time.
 */
import type { Ask, LeaseRecord } from '../../core/index.ts'
import { contentOf, type Term, textOf, unreadable } from './content.ts'
import type { Entry } from './port.ts'

/** How long an ended lease is kept, so that its token outlives a clock that steps back. */
const KEEP_ENDED_MS = 3_600_000
/** Writes are rounded up to a millisecond and the clock down. */
const CLOCK_GRAIN_MS = 2

export interface Row {
  readonly resource: string
  /** Of the last grant. */
  readonly token: number
  readonly writtenAt: number
  /** Also one that has run out, until somebody was handed it. */
  readonly lease: Term | null
  /** The renewal came too late. */
  readonly lapsed: boolean
  /** The lease that this write ended. */
  readonly ended: LeaseRecord | null
}

export interface HeldRow extends Row {
  readonly lease: Term
}

export function grantText(ask: Ask, row: Row | null, floor: number): string {
  const { id, owner, metadata = null, ttl } = ask
  return textOf({ type: 'grant', id, owner, metadata, ttl, floor, replaced: row?.lease ?? null })
}

export function renewalText({ lease, writtenAt }: HeldRow, ttl: number): string {
  return textOf({ type: 'renewal', lease, span: lease.expiresAt - writtenAt, ttl })
}

export function endText({ lease }: HeldRow): string {
  return textOf({ type: 'end', lease })
}

/** Throws when the entry is no lease: nobody may be granted what nobody understands. */
export function rowOf(entry: Entry): Row {
  const content = contentOf(entry)
  const writtenAt = Math.ceil(entry.micros / 1000)
  const row = { resource: entry.name, writtenAt, lapsed: false, ended: null }
  switch (content.type) {
    case 'grant': {
      const { id, owner, metadata, ttl, floor, replaced } = content
      const token = Math.max(floor + 1, entry.micros)
      const lease = { id, owner, metadata, token, acquiredAt: writtenAt, expiresAt: writtenAt + ttl }
      return { ...row, token, lease, ended: replaced && endOf(replaced, 'taken-over', row) }
    }
    case 'renewal': {
      const { lease, span, ttl } = content
      const until = Math.min(lease.expiresAt, writtenAt + span)
      const lapsed = until <= writtenAt
      const expiresAt = lapsed ? until : Math.max(until, writtenAt + ttl)
      return { ...row, token: lease.token, lease: { ...lease, expiresAt }, lapsed }
    }
    case 'end': {
      const { lease } = content
      return { ...row, token: lease.token, lease: null, ended: endOf(lease, 'released', row) }
    }
    case 'floor':
      throw unreadable(entry)
  }
}

/** For those who look at many entries: one that is no lease is passed over. */
export function readableRow(entry: Entry): Row | null {
  try {
    return rowOf(entry)
  } catch {
    return null
  }
}

/** All that a watcher is told of a write, in order. */
export function changesOf(row: Row): LeaseRecord[] {
  const { ended, lease, lapsed, writtenAt } = row
  const now = lease && (lapsed ? recordOf(row, lease, 'expired', 0) : liveRecord(row, writtenAt))
  return [ended, now].filter((record) => record !== null)
}

export function liveRecord(row: Row, now: number): LeaseRecord | null {
  const { lease, lapsed, writtenAt } = row
  if (!lease || lapsed || now >= lease.expiresAt) return null
  return recordOf(row, lease, 'held', lease.expiresAt - Math.max(now, writtenAt))
}

/** The clock has stepped back behind the write. */
export function isAhead({ writtenAt }: Row, now: number): boolean {
  return writtenAt > now + CLOCK_GRAIN_MS
}

/** Nobody uses it, and no clock that steps back by less than an hour could give its token again. */
export function isForgettable({ lease, token, writtenAt }: Row, now: number): boolean {
  return !lease && Math.max(writtenAt, token / 1000) + KEEP_ENDED_MS <= now
}

export const ENDED = { listed: false, dueIn: KEEP_ENDED_MS } as const

function endOf(lease: Term, state: 'released' | 'taken-over', row: Pick<Row, 'resource' | 'writtenAt'>) {
  return recordOf(row, lease, row.writtenAt < lease.expiresAt ? state : 'expired', 0)
}

function recordOf(
  { resource }: Pick<Row, 'resource'>,
  lease: Term,
  state: LeaseRecord['state'],
  remaining: number,
): LeaseRecord {
  const { id, owner, token, metadata, acquiredAt, expiresAt } = lease
  return { resource, id, owner, token, metadata, acquiredAt, expiresAt, remaining, state }
}
