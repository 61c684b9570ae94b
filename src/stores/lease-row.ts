/**
 * The transitions of one resource, for stores that decide in JavaScript. A store loads the row, calls one of the
 * functions below while nobody else can change that row, saves it, and then carries out the effects.
 *
 *     free ──ask──▶ held ──release, expiry──▶ reserved for the first waiters ──their next ask──▶ held
 *
 * A waiter is never granted a lease while it sleeps, because a lease counts from the moment of its request. Instead,
 * the first waiters are woken, as many as fit together, and the resource is reserved for each of them for one second.
 * If one does not ask within that second, all waiters of its channel lose their places, and the next waiters have
 * their turn. The first waiter without a reservation is told when it may have its turn: so a dead waiter costs one
 * second, and a permit that expires is used at once.
 *
 * A lease that has ended may keep the resource for a while: by `atLeast`, or by `lockDelay` if it expired. It then
 * stays in the row, and counts as the live leases do.
 */
import type { JsonObject, LeaseRecord } from '../base/records.ts'
import type { Answer, Ask, Released, Renewal } from '../core/index.ts'
import { KEEP_FREE_MS } from './options.ts'
import {
  describe,
  hasEnded,
  isKeeping,
  isLive,
  keptByAtLeast,
  keptUntil,
  liveLease,
  liveRecords,
} from './row-leases.ts'
import { nextIn, retryInRow, roomIn, settle } from './row-queue.ts'

export { liveRecords, shownRecords } from './row-leases.ts'
export { askAgainIn, nextIn, waitingIn, wakesOf } from './row-queue.ts'

/** Tokens follow the clock in microseconds. */
export const TOKENS_PER_MS = 1000

/** One resource: its leases, its queue and its reservations. */
export interface LeaseRow {
  readonly resource: string
  /** Of the last grant. In a new row: the highest token of all rows that the store has deleted. */
  token: number
  /**
   * In the order of their grants. Also leases that have expired, until a transition returns them as ended, and those
   * that have ended and still keep the resource.
   */
  leases: StoredLease[]
  endedAt: number
  /** By id, in the order in which they came: first in, first out. */
  queue: Map<string, Waiter>
  /** By the id of the waiter. */
  reserved: Map<string, Reservation>
}

/** A lease as a row keeps it. */
export interface StoredLease {
  readonly id: string
  readonly owner: string
  readonly token: number
  readonly metadata: JsonObject | null
  /** `null`: exclusive. */
  readonly share: number | null
  /** Moves back with the clock if `atLeast` counts from it. */
  acquiredAt: number
  expiresAt: number
  /** Milliseconds from the last write to the expiry. A clock that steps back lengthens the lease by no more. */
  span: number
  /** With whose end the lease ends; `null`: with nobody's. */
  process?: string | null
  /** Milliseconds, as in `Ask`. Absent: none. */
  readonly atLeast?: number
  readonly lockDelay?: number
  /** The lease has ended, and keeps the resource until this time. Absent: it has not ended. */
  keptUntil?: number
}

/** A request as a row carries it out. */
export type RowAsk = Ask & {
  /** The record of the process, if the lease is to end with it. */
  readonly process?: string | null
  /** Of the lease, if the backend has a better clock for it. Must be higher than that of the row. */
  readonly token?: number
}

/** A request that waits in the queue of a row. */
export interface Waiter {
  readonly id: string
  /** The process or connection of the waiter. When one waiter misses its turn, all of its channel ask again. */
  readonly channel: string
  /** Missing in rows of earlier versions. */
  readonly owner?: string
  /** Absent: exclusive. */
  readonly share?: number | null
}

/** The resource is kept for a waiter that was woken. */
export interface Reservation {
  until: number
  /** Of the waiter; `null`: exclusive. */
  readonly share: number | null
}

/** What the store does after it has saved the row. */
export class Effects {
  /** Tell those who watch, and the holders of leases that have ended. */
  readonly changes: LeaseRecord[] = []
  /** Tell these waiters after how many milliseconds to ask again. */
  readonly wakes = new Map<string, number>()
}

/** `floor`: the highest token of all rows that the store has deleted. */
export function newRow(resource: string, floor: number): LeaseRow {
  return { resource, token: floor, leases: [], endedAt: 0, queue: new Map(), reserved: new Map() }
}

/**
 * Grants the request if it fits. `channel`: otherwise it joins the queue; `null`: it does not wait. `unread`: how many
 * waiters before it are missing in the row.
 */
export function ask(
  row: LeaseRow,
  request: RowAsk,
  channel: string | null,
  now: number,
  effects: Effects,
  unread = 0,
): Answer {
  settle(row, now, effects)
  effects.wakes.delete(request.id)
  const own = liveLease(row, request.id, now)
  if (own) return { granted: true, lease: extend(row, own, request, now, effects) }
  if (isReplacing(row, request, now)) return grant(row, request, now, effects)
  const reservation = row.reserved.get(request.id)
  const isItsTurn = reservation !== undefined || row.queue.size === 0
  // Also with a reservation: if the clock stepped back, a lease that had expired is live again.
  const mayHold = isItsTurn && roomIn(row, now).fits(reservation?.share ?? request.share ?? null)
  return mayHold ? grant(row, request, now, effects) : refuse(row, request, channel, now, unread)
}

/** Whether `ask` would grant a request that does not wait. Changes nothing. */
export function wouldGrant(row: LeaseRow, request: RowAsk, now: number): boolean {
  // A repeated request is granted again, past all waiters.
  if (row.queue.size > 0 && !liveLease(row, request.id, now)) return false
  const leases = row.leases.map((lease) => ({ ...lease }))
  const copy = { ...row, leases, queue: new Map(), reserved: new Map() }
  return ask(copy, request, null, now, new Effects()).granted
}

/** Extends a live lease. Never creates one, and never revives an expired one. */
export function renew(
  row: LeaseRow,
  request: Pick<RowAsk, 'id' | 'ttl' | 'process'>,
  now: number,
  effects: Effects,
): Renewal {
  settle(row, now, effects)
  const own = liveLease(row, request.id, now)
  if (!own) return { ok: false, holders: liveRecords(row, now) }
  return { ok: true, lease: extend(row, own, request, now, effects) }
}

/** Ends the lease, the reservation or the place in the queue of an id, or by force the lease with a token. */
export function release(
  row: LeaseRow,
  by: { readonly id: string } | { readonly token: number },
  now: number,
  effects: Effects,
): Released {
  settle(row, now, effects)
  const isForced = 'token' in by
  const lease = row.leases.find((one) =>
    isForced ? one.token === by.token : one.id === by.id && !hasEnded(one),
  )
  // By force, also one that has ended and keeps the resource.
  const state = lease && !hasEnded(lease) && !isLive(lease, now) ? 'expired' : 'released'
  const ended = lease ? end(row, lease, state, now, effects, isForced) : null
  const isNext = !isForced && nextIn(row)?.id === by.id
  if (!isForced) {
    row.queue.delete(by.id)
    row.reserved.delete(by.id)
  }
  settle(row, now, effects, isNext || (!isForced && lease?.keptUntil !== undefined))
  // The caller need not be told.
  if (!isForced) effects.wakes.delete(by.id)
  return { ended, holders: liveRecords(row, now) }
}

/** Ends expired leases, at most `limit`, and returns them. `tokens`: only these. */
export function expire(
  row: LeaseRow,
  now: number,
  effects: Effects,
  limit = Infinity,
  tokens?: readonly number[],
): LeaseRecord[] {
  const expired = endExpired(row, now, effects, limit, tokens)
  settle(row, now, effects)
  return expired
}

/** Whether nobody needs the row any more. A store that deletes it keeps the highest deleted token as its floor. */
export function isForgettable(row: LeaseRow, now: number): boolean {
  return (
    row.leases.every((lease) => hasEnded(lease) && keptUntil(lease) <= now) &&
    row.queue.size === 0 &&
    isTokenOld(row, now)
  )
}

/** Whether no clock that steps back by less than an hour could produce the token again. */
function isTokenOld({ token, endedAt }: Pick<LeaseRow, 'token' | 'endedAt'>, now: number): boolean {
  return Math.max(endedAt, token / TOKENS_PER_MS) + KEEP_FREE_MS <= now
}

/** The clock in microseconds, but always higher than the previous token. */
export function nextToken(previous: number, now: number): number {
  return Math.max(previous + 1, Math.floor(now * TOKENS_PER_MS))
}

function isReplacing(row: LeaseRow, { replace }: Ask, now: number): boolean {
  if (replace === undefined) return false
  if (replace === 'any') return true
  const taken = row.leases.filter((lease) => now < keptUntil(lease))
  return taken.length === 1 && taken.every((lease) => lease.token === replace && isLive(lease, now))
}

function grant(row: LeaseRow, request: RowAsk, now: number, effects: Effects): Answer {
  const { id, owner, ttl, metadata = null, process, atLeast, lockDelay } = request
  const share = row.reserved.get(id)?.share ?? request.share ?? null
  const ended = endExpired(row, now, effects)
  const isTakeover = isReplacing(row, request, now)
  if (isTakeover) {
    for (const lease of row.leases.filter((one) => isLive(one, now)))
      ended.push(end(row, lease, 'taken-over', now, effects, true))
    for (const lease of row.leases) end(row, lease, 'taken-over', now, effects, true)
    // They may not fit beside the new lease. Those that do are made again below.
    row.reserved.clear()
  }
  const replaced = ended.at(-1)
  const token = request.token ?? nextToken(row.token, now)
  const lease: StoredLease = {
    id,
    owner,
    token,
    metadata,
    share,
    acquiredAt: now,
    expiresAt: now + ttl,
    span: ttl,
  }
  row.token = token
  row.leases.push({
    ...lease,
    ...(process && { process }),
    ...(atLeast && { atLeast }),
    ...(lockDelay && { lockDelay }),
  })
  row.queue.delete(id)
  row.reserved.delete(id)
  const record = describe(row, lease, 'held', now)
  effects.changes.push(record)
  if (isTakeover) settle(row, now, effects)
  return { granted: true, lease: record, ...(replaced && { replaced }) }
}

function refuse(row: LeaseRow, request: Ask, channel: string | null, now: number, unread: number): Answer {
  const { queue } = row
  const { id, owner } = request
  const share = request.share ?? null
  const joins = channel !== null && !queue.has(id)
  const waiter = queue.get(id)
  if (joins) queue.set(id, { id, channel, owner, share })
  // It goes on at another process, and keeps its place when the first one ends.
  else if (waiter && channel !== null && waiter.channel !== channel) queue.set(id, { ...waiter, channel })
  // Only a waiter that asks again is searched: joining costs the same in every queue.
  const found = joins ? queue.size - 1 : [...queue.keys()].indexOf(id)
  const place = found < 0 ? null : found + unread
  const kept = row.leases.filter((lease) => isKeeping(lease, now))
  const keptFor = Math.max(...kept.map(keptUntil)) - now
  return {
    granted: false,
    holders: liveRecords(row, now),
    place,
    retryIn: retryInRow(row, share, place ?? 0, now),
    ...(kept.length > 0 && { keptFor }),
  }
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

function endExpired(
  row: LeaseRow,
  now: number,
  effects: Effects,
  limit = Infinity,
  tokens?: readonly number[],
): LeaseRecord[] {
  const expired = row.leases.filter((lease) => !hasEnded(lease) && !isLive(lease, now))
  return expired
    .filter(({ token }) => !tokens || tokens.includes(token))
    .slice(0, limit)
    .map((lease) => end(row, lease, 'expired', now, effects))
}

/** `isForced`: it does not keep the resource. */
function end(
  row: LeaseRow,
  lease: StoredLease,
  state: 'released' | 'expired' | 'taken-over',
  now: number,
  effects: Effects,
  isForced = false,
): LeaseRecord {
  const ended = describe(row, lease, state, now)
  const until = state === 'released' ? keptByAtLeast(lease) : keptUntil(lease)
  const isKept = !isForced && now < until
  if (isKept) lease.keptUntil = until
  else row.leases = row.leases.filter((one) => one !== lease)
  row.endedAt = now
  effects.changes.push(ended)
  if (isKept) effects.changes.push(describe(row, lease, 'kept', now))
  return ended
}
