/** The queue of one resource: who fits beside its leases, for whom it is reserved, and who is told to ask again. */
import type { WaitingQueue } from '../core/index.ts'
import type { Effects, LeaseRow, Waiter } from './lease-row.ts'
import { RESERVATION_MS } from './options.ts'
import { bringUpToDate, keptUntil } from './row-leases.ts'

/** How many leases there are, and how many each of them allows. An exclusive one allows one. */
export class Room {
  #taken = 0
  #limit = Infinity

  constructor(shares: Iterable<number | null>) {
    for (const share of shares) this.take(share)
  }

  fits(share: number | null): boolean {
    return this.#taken < Math.min(this.#limit, share ?? 1)
  }

  take(share: number | null): void {
    this.#taken++
    this.#limit = Math.min(this.#limit, share ?? 1)
  }
}

/** With the leases of the row. */
export function roomIn({ leases }: LeaseRow, now: number): Room {
  return new Room(leases.filter((lease) => now < keptUntil(lease)).map(({ share }) => share))
}

/**
 * In how many milliseconds a request should ask again, if no push comes. `ends`: in how many milliseconds each lease that
 * is live or keeps the resource ends, and each reservation.
 *
 * All those before a waiter may be dead. An exclusive one needs all ends, and each dead waiter before it then
 * costs the second of a reservation. A shared one asks at the end that frees its own permit, if each waiter before it
 * takes one. `place`: how many waiters are before it. Those with a reservation have their permits already, so a shared
 * one counts only the others.
 */
export function askAgainIn(ends: readonly number[], share: number | null, place: number): number {
  const last = ends.reduce((latest, end) => Math.max(latest, end), 0)
  if (share === null) return last + place * RESERVATION_MS
  const own = ends.toSorted((a, b) => a - b)[place]
  return own ?? last + Math.max(0, place - Math.max(0, ends.length - 1)) * RESERVATION_MS
}

/** The same for a request in this row. `place`: as in `askAgainIn` for an exclusive request. */
export function retryInRow(
  { leases, reserved }: LeaseRow,
  share: number | null,
  place: number,
  now: number,
): number {
  const ends = [...leases.map(keptUntil), ...Array.from(reserved.values(), ({ until }) => until)]
  const left = ends.map((end) => end - now).filter((ms) => ms > 0)
  return askAgainIn(left, share, share === null ? place : Math.max(0, place - reserved.size))
}

/** The first waiter without a reservation. */
export function nextIn({ queue, reserved }: LeaseRow): Pick<Waiter, 'id' | 'share'> | undefined {
  for (const waiter of queue.values()) if (!reserved.has(waiter.id)) return waiter
  return undefined
}

/**
 * Brings the row up to this moment: ends reservations that were not used, and makes the next ones. `tellsNext`: the first
 * waiter without a reservation is another one now, or may ask sooner than it was told.
 */
export function settle(row: LeaseRow, now: number, effects: Effects, tellsNext = false): void {
  bringUpToDate(row, now)
  for (const [id, reservation] of row.reserved) {
    reservation.until = Math.min(reservation.until, now + RESERVATION_MS)
    if (reservation.until <= now) dropChannelOf(row, id, effects)
  }
  const room = roomIn(row, now)
  for (const { share } of row.reserved.values()) room.take(share)
  let isNew = false
  for (const { id, share = null } of row.queue.values()) {
    if (row.reserved.has(id)) continue
    if (!room.fits(share)) break
    room.take(share)
    row.reserved.set(id, { until: now + RESERVATION_MS, share })
    isNew = true
  }
  if (!isNew && !tellsNext) return
  for (const [id, inMs] of wakesOf(row, now)) if (isNew || !row.reserved.has(id)) effects.wakes.set(id, inMs)
}

/**
 * Who should ask again, and in how many milliseconds: those with a reservation now, and the first one without when it
 * may have its turn at the earliest.
 */
export function wakesOf(row: LeaseRow, now: number): Map<string, number> {
  const wakes = new Map<string, number>()
  for (const id of row.reserved.keys()) wakes.set(id, 0)
  const next = nextIn(row)
  const inMs = next ? retryInRow(row, next.share ?? null, 0, now) : 0
  // Zero would mean that it is its turn.
  if (next && inMs > 0) wakes.set(next.id, inMs)
  return wakes
}

/** The first waiters, in the order of the queue. */
export function waitingIn(queue: readonly Omit<Waiter, 'channel'>[], limit: number): WaitingQueue {
  const first = queue
    .slice(0, limit)
    .map(({ id, owner = '', share = null }, place) => ({ id, owner, share, place }))
  return { count: queue.length, first }
}

/** The waiter missed its turn, so its process is probably dead. If it is not, its waiters ask again. */
function dropChannelOf(row: LeaseRow, id: string, effects: Effects): void {
  const channel = row.queue.get(id)?.channel
  row.reserved.delete(id)
  for (const waiter of row.queue.values())
    if (waiter.channel === channel) {
      effects.wakes.set(waiter.id, 0)
      row.queue.delete(waiter.id)
      row.reserved.delete(waiter.id)
    }
}
