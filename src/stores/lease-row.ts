/**
 * One resource as a store keeps it: the last lease, the line of waiters, and a reservation. Stores that decide
 * in JavaScript (memory, SQLite) load a row, apply one of the functions below under their own lock, and save it.
 *
 *     free ──ask──▶ held ──release, expiry──▶ reserved for the head of the line ──its ask──▶ held
 *
 * A waiter is never granted while it sleeps, since a grant needs the moment at which it was asked for. Instead
 * the head of the line is told to ask, and the resource is reserved for it for a second. If it does not come,
 * it and the other waiters of its process lose their places, and the next one has its turn; that one was put
 * on standby when the reservation was made, so a dead head costs a second.
 */
import type { Answer, Ask, JsonObject, LeaseRecord, Renewal } from '../core/index.ts'

export const RESERVATION_MS = 1000
/** How long a free row is kept, so that its token outlives a clock that steps back. */
export const KEEP_FREE_MS = 3_600_000

export interface LeaseRow {
  readonly resource: string
  /** Of the last grant; for a new row the store-wide floor under which no token may be given again. */
  token: number
  /** Also a lease that has run out, until somebody was handed it. */
  lease: StoredLease | null
  endedAt: number
  line: Waiter[]
  reserved: { readonly id: string; until: number } | null
}

export interface StoredLease {
  readonly id: string
  readonly owner: string
  readonly metadata: JsonObject | null
  readonly acquiredAt: number
  expiresAt: number
  /** Expiry less the clock when it was written: a clock that steps back must not lengthen the lease by more. */
  span: number
}

export interface Waiter {
  readonly id: string
  /** The process or connection that waits; when one of its waiters misses its turn, all of them ask again. */
  readonly channel: string
}

/** What a transition asks its store to do once it is saved. */
export class Effects {
  readonly changes: LeaseRecord[] = []
  readonly wakes = new Map<string, number>()
}

export function newRow(resource: string, floor: number): LeaseRow {
  return { resource, token: floor, lease: null, endedAt: 0, line: [], reserved: null }
}

/** `channel` present: stand in line if the resource is not free. */
export function ask(
  row: LeaseRow,
  request: Ask,
  channel: string | null,
  now: number,
  effects: Effects,
): Answer {
  settle(row, now, effects)
  effects.wakes.delete(request.id)
  const holder = liveLease(row, now)
  if (holder?.id === request.id) {
    extend(holder, request.ttl, now)
    const lease = describe(row, holder, 'held', now)
    effects.changes.push(lease)
    return { granted: true, lease }
  }
  const takesOver = holder !== null && request.replace === row.token
  if (takesOver || (!holder && (row.reserved === null || row.reserved.id === request.id)))
    return grant(row, request, now, effects)
  return stand(row, request.id, channel, now)
}

export function renew(row: LeaseRow, id: string, ttl: number, now: number, effects: Effects): Renewal {
  settle(row, now, effects)
  const holder = liveLease(row, now)
  if (!holder || holder.id !== id) return { ok: false, holder: liveRecord(row, now) }
  extend(holder, ttl, now)
  const lease = describe(row, holder, 'held', now)
  effects.changes.push(lease)
  return { ok: true, lease }
}

export function release(
  row: LeaseRow,
  by: { readonly id: string } | { readonly token: number },
  now: number,
  effects: Effects,
): { ended: LeaseRecord | null; holder: LeaseRecord | null } {
  settle(row, now, effects)
  let ended: LeaseRecord | null = null
  if (row.lease && ('id' in by ? row.lease.id === by.id : row.token === by.token)) {
    ended = end(row, liveLease(row, now) ? 'released' : 'expired', now, effects)
  } else if ('id' in by) {
    row.line = row.line.filter((waiter) => waiter.id !== by.id)
    if (row.reserved?.id === by.id) row.reserved = null
    effects.wakes.delete(by.id)
  }
  settle(row, now, effects)
  return { ended, holder: liveRecord(row, now) }
}

/** Ends a lease that has run out, and says which. */
export function expire(row: LeaseRow, now: number, effects: Effects): LeaseRecord | null {
  const expired = row.lease && !liveLease(row, now) ? end(row, 'expired', now, effects) : null
  settle(row, now, effects)
  return expired
}

export function liveRecord(row: LeaseRow, now: number): LeaseRecord | null {
  const lease = liveLease(row, now)
  return lease && describe(row, lease, 'held', now)
}

/** A row may go when nobody uses it and no clock that steps back by less than an hour could give its token again. */
export function isForgettable(row: LeaseRow, now: number): boolean {
  return !row.lease && row.line.length === 0 && Math.max(row.endedAt, row.token / 1000) + KEEP_FREE_MS <= now
}

function grant(row: LeaseRow, request: Ask, now: number, effects: Effects): Answer {
  const { id, owner, ttl, metadata = null } = request
  const previous = row.lease && end(row, liveLease(row, now) ? 'taken-over' : 'expired', now, effects)
  row.token = Math.max(row.token + 1, Math.floor(now * 1000))
  row.lease = { id, owner, metadata, acquiredAt: now, expiresAt: now + ttl, span: ttl }
  row.line = row.line.filter((waiter) => waiter.id !== id)
  row.reserved = null
  const lease = describe(row, row.lease, 'held', now)
  effects.changes.push(lease)
  return { granted: true, lease, ...(previous && { replaced: previous }) }
}

function stand(row: LeaseRow, id: string, channel: string | null, now: number): Answer {
  if (channel !== null && !row.line.some((waiter) => waiter.id === id)) row.line.push({ id, channel })
  const place = row.line.findIndex((waiter) => waiter.id === id)
  const holder = liveRecord(row, now)
  const freeIn = holder?.remaining ?? (row.reserved ? row.reserved.until - now : 0)
  return {
    granted: false,
    holder,
    place: place < 0 ? null : place,
    retryIn: freeIn + Math.max(place, 0) * RESERVATION_MS,
  }
}

/** Brings the row up to this moment: ends a reservation that was not used, and makes the next one. */
function settle(row: LeaseRow, now: number, effects: Effects): void {
  // Written back, since from now on the lease must end no later than that.
  if (row.lease) row.lease.expiresAt = Math.min(row.lease.expiresAt, now + row.lease.span)
  const { reserved } = row
  if (reserved) {
    reserved.until = Math.min(reserved.until, now + RESERVATION_MS)
    if (reserved.until <= now) dropAbsent(row, reserved.id, effects)
  }
  const [head, second] = row.line
  if (!head || row.reserved || liveLease(row, now)) return
  row.reserved = { id: head.id, until: now + RESERVATION_MS }
  effects.wakes.set(head.id, 0)
  if (second) effects.wakes.set(second.id, RESERVATION_MS)
}

function dropAbsent(row: LeaseRow, id: string, effects: Effects): void {
  const absent = row.line.find((waiter) => waiter.id === id)?.channel
  for (const waiter of row.line) if (waiter.channel === absent) effects.wakes.set(waiter.id, 0)
  row.line = row.line.filter((waiter) => waiter.channel !== absent)
  row.reserved = null
}

function end(row: LeaseRow, state: 'released' | 'expired' | 'taken-over', now: number, effects: Effects) {
  const ended = row.lease && describe(row, row.lease, state, now)
  row.lease = null
  row.endedAt = now
  if (ended) effects.changes.push(ended)
  return ended
}

function extend(lease: StoredLease, ttl: number, now: number): void {
  lease.expiresAt = Math.max(lease.expiresAt, now + ttl)
  lease.span = lease.expiresAt - now
}

function liveLease(row: LeaseRow, now: number): StoredLease | null {
  return row.lease && now < row.lease.expiresAt ? row.lease : null
}

function describe(row: LeaseRow, lease: StoredLease, state: LeaseRecord['state'], now: number): LeaseRecord {
  const { id, owner, metadata, acquiredAt } = lease
  const expiresAt = Math.min(lease.expiresAt, now + lease.span)
  return {
    resource: row.resource,
    id,
    owner,
    token: row.token,
    metadata,
    acquiredAt,
    expiresAt,
    remaining: state === 'held' ? expiresAt - now : 0,
    state,
  }
}
