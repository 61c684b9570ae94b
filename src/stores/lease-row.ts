/**
 * The transitions of one resource, for stores that decide in JavaScript. A store loads the row, calls one of the
 * functions below while nobody else can change that row, saves it, and then carries out the effects.
 *
 *     free ──ask──▶ held ──release, expiry──▶ reserved for the first waiter ──its next ask──▶ held
 *
 * A waiter is never granted a lease while it sleeps, because a lease counts from the moment of its request. Instead,
 * the first waiter is woken, and the resource is reserved for it for one second. If it does not ask within that
 * second, all waiters of its channel lose their places, and the next waiter has its turn. The second waiter is told
 * of the end of the reservation when it is made, so a dead first waiter costs one second.
 */
import type { JsonObject, LeaseRecord } from '../base/records.ts'
import type { Answer, Ask, Released, Renewal, WaitingQueue } from '../core/index.ts'

/** How long a free resource is kept for the first waiter. */
export const RESERVATION_MS = 1000
/** How long the row of a free resource is kept, so that its token outlives a clock that steps back. */
export const KEEP_FREE_MS = 3_600_000
/** Tokens follow the clock in microseconds. */
export const TOKENS_PER_MS = 1000

export interface LeaseRow {
  readonly resource: string
  /** Of the last grant. In a new row: the highest token of all rows that the store has deleted. */
  token: number
  /** Also a lease that has expired, until a transition returns it as ended. */
  lease: StoredLease | null
  endedAt: number
  /** By id, in the order in which they came: first in, first out. */
  queue: Map<string, Waiter>
  reserved: Reservation | null
}

export interface StoredLease {
  readonly id: string
  readonly owner: string
  readonly metadata: JsonObject | null
  readonly acquiredAt: number
  expiresAt: number
  /** Milliseconds from the last write to the expiry. A clock that steps back lengthens the lease by no more. */
  span: number
  /** With whose end the lease ends; `null`: with nobody's. */
  process?: string | null
}

/** A request, with the record of the process if the lease is to end with it. */
export type RowAsk = Ask & { readonly process?: string | null }

export interface Waiter {
  readonly id: string
  /** The process or connection of the waiter. When one waiter misses its turn, all of its channel ask again. */
  readonly channel: string
  /** Missing in rows of earlier versions. */
  readonly owner?: string
}

export interface Reservation {
  /** Of the first waiter. */
  readonly id: string
  until: number
}

/** What the store does after it has saved the row. */
export class Effects {
  /** Tell those who watch, and the holders of leases that have ended. */
  readonly changes: LeaseRecord[] = []
  /** Tell these waiters to ask again, in so many milliseconds. */
  readonly wakes = new Map<string, number>()
}

/** `floor`: the highest token of all rows that the store has deleted. */
export function newRow(resource: string, floor: number): LeaseRow {
  return { resource, token: floor, lease: null, endedAt: 0, queue: new Map(), reserved: null }
}

/** `channel`: joins the queue if the resource is not free; `null`: does not wait. */
export function ask(
  row: LeaseRow,
  request: RowAsk,
  channel: string | null,
  now: number,
  effects: Effects,
): Answer {
  settle(row, now, effects)
  effects.wakes.delete(request.id)
  const holder = liveLease(row, now)
  if (holder?.id === request.id) return { granted: true, lease: extend(row, holder, request, now, effects) }
  const takesOver = holder !== null && request.replace === row.token
  const isFree = !holder && (row.reserved === null || row.reserved.id === request.id)
  return takesOver || isFree ? grant(row, request, now, effects) : refuse(row, request, channel, now)
}

export function renew(
  row: LeaseRow,
  request: Pick<RowAsk, 'id' | 'ttl' | 'process'>,
  now: number,
  effects: Effects,
): Renewal {
  settle(row, now, effects)
  const holder = liveLease(row, now)
  if (holder?.id !== request.id) return { ok: false, holder: liveRecord(row, now) }
  return { ok: true, lease: extend(row, holder, request, now, effects) }
}

export function release(
  row: LeaseRow,
  by: { readonly id: string } | { readonly token: number },
  now: number,
  effects: Effects,
): Released {
  settle(row, now, effects)
  let ended: LeaseRecord | null = null
  if (row.lease && ('id' in by ? row.lease.id === by.id : row.token === by.token)) {
    ended = end(row, liveLease(row, now) ? 'released' : 'expired', now, effects)
  } else if ('id' in by) {
    row.queue.delete(by.id)
    if (row.reserved?.id === by.id) row.reserved = null
  }
  settle(row, now, effects)
  // The caller need not be told.
  if ('id' in by) effects.wakes.delete(by.id)
  return { ended, holder: liveRecord(row, now) }
}

/** Ends an expired lease and returns it. */
export function expire(row: LeaseRow, now: number, effects: Effects): LeaseRecord | null {
  const expired = row.lease && !liveLease(row, now) ? end(row, 'expired', now, effects) : null
  settle(row, now, effects)
  return expired
}

export function liveRecord(row: LeaseRow, now: number): LeaseRecord | null {
  const lease = liveLease(row, now)
  return lease && describe(row, lease, 'held', now)
}

/** The first waiters, in the order of the queue. */
export function waitingIn(queue: readonly Omit<Waiter, 'channel'>[], limit: number): WaitingQueue {
  const first = queue.slice(0, limit).map(({ id, owner = '' }, place) => ({ id, owner, place }))
  return { count: queue.length, first }
}

/** Whether nobody needs the row any more. A store that deletes it keeps the highest deleted token as its floor. */
export function isForgettable(row: LeaseRow, now: number): boolean {
  return !row.lease && row.queue.size === 0 && isTokenOld(row, now)
}

/** Whether no clock that steps back by less than an hour could produce the token again. */
export function isTokenOld({ token, endedAt }: Pick<LeaseRow, 'token' | 'endedAt'>, now: number): boolean {
  return Math.max(endedAt, token / TOKENS_PER_MS) + KEEP_FREE_MS <= now
}

/** The clock in microseconds, but always higher than the previous token. */
export function nextToken(previous: number, now: number): number {
  return Math.max(previous + 1, Math.floor(now * TOKENS_PER_MS))
}

/** Who should ask again because of the reservation, and in how many milliseconds. */
export function reservationWakes({ queue, reserved }: LeaseRow, now: number): Map<string, number> {
  if (!reserved) return new Map()
  const wakes = new Map([[reserved.id, 0]])
  const [, second] = queue.values()
  if (second && second.id !== reserved.id) wakes.set(second.id, Math.max(0, reserved.until - now))
  return wakes
}

function grant(row: LeaseRow, request: RowAsk, now: number, effects: Effects): Answer {
  const { id, owner, ttl, metadata = null, process } = request
  const replaced = row.lease && end(row, liveLease(row, now) ? 'taken-over' : 'expired', now, effects)
  row.token = nextToken(row.token, now)
  row.lease = { id, owner, metadata, acquiredAt: now, expiresAt: now + ttl, span: ttl }
  if (process) row.lease.process = process
  row.queue.delete(id)
  row.reserved = null
  const lease = describe(row, row.lease, 'held', now)
  effects.changes.push(lease)
  return { granted: true, lease, ...(replaced && { replaced }) }
}

function refuse(row: LeaseRow, { id, owner }: Ask, channel: string | null, now: number): Answer {
  const { queue } = row
  const joins = channel !== null && !queue.has(id)
  if (joins) queue.set(id, { id, channel, owner })
  // Only a waiter that asks again is searched: joining costs the same in every queue.
  const place = joins ? queue.size - 1 : [...queue.keys()].indexOf(id)
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
  // Saved, because from now on the lease must not end later than that.
  if (row.lease) row.lease.expiresAt = Math.min(row.lease.expiresAt, now + row.lease.span)
  const { reserved } = row
  if (reserved) {
    reserved.until = Math.min(reserved.until, now + RESERVATION_MS)
    if (reserved.until <= now) dropChannelOf(row, reserved.id, effects)
  }
  const [first] = row.queue.values()
  if (!first || row.reserved || liveLease(row, now)) return
  row.reserved = { id: first.id, until: now + RESERVATION_MS }
  for (const [id, inMs] of reservationWakes(row, now)) effects.wakes.set(id, inMs)
}

/** The waiter missed its turn, so its process is probably dead. If it is not, its waiters ask again. */
function dropChannelOf(row: LeaseRow, id: string, effects: Effects): void {
  const channel = row.queue.get(id)?.channel
  for (const waiter of row.queue.values())
    if (waiter.channel === channel) {
      effects.wakes.set(waiter.id, 0)
      row.queue.delete(waiter.id)
    }
  row.reserved = null
}

function extend(
  row: LeaseRow,
  lease: StoredLease,
  { ttl, process }: Pick<RowAsk, 'ttl' | 'process'>,
  now: number,
  effects: Effects,
): LeaseRecord {
  if (process !== undefined) lease.process = process
  lease.expiresAt = Math.max(lease.expiresAt, now + ttl)
  lease.span = lease.expiresAt - now
  const record = describe(row, lease, 'held', now)
  effects.changes.push(record)
  return record
}

function end(row: LeaseRow, state: 'released' | 'expired' | 'taken-over', now: number, effects: Effects) {
  const ended = row.lease && describe(row, row.lease, state, now)
  row.lease = null
  row.endedAt = now
  if (ended) effects.changes.push(ended)
  return ended
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
