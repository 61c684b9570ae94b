/** The queue of one resource: who fits beside its leases, for whom it is reserved, and who is told to ask again. */
import type { WaitingQueue } from '../core/index.ts'
import type { Effects, LeaseRow, Waiter } from './lease-row.ts'
import { bringUpToDate, keptUntil } from './row-leases.ts'

/** How long a free resource is kept for a waiter that was woken. */
export const RESERVATION_MS = 1000

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

/** When the request may fit: an exclusive one when all have ended, a shared one when the first has. */
export function freeIn({ leases, reserved }: LeaseRow, share: number | null, now: number): number {
  let first = Infinity
  let last = now
  for (const until of [...leases.map(keptUntil), ...Array.from(reserved.values(), ({ until }) => until)]) {
    if (until <= now) continue
    first = Math.min(first, until)
    last = Math.max(last, until)
  }
  return (share === null ? last : Math.min(first, last)) - now
}

/**
 * Brings the row up to this moment: ends reservations that were not used, and makes the next ones. `freeAt`: a lease has
 * just ended and keeps the resource until then.
 */
export function settle(row: LeaseRow, now: number, effects: Effects, freeAt?: number): void {
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
  if (!isNew && !freeAt) return
  for (const [id, inMs] of wakesOf(row, now, freeAt))
    if (isNew || !row.reserved.has(id)) effects.wakes.set(id, inMs)
}

/**
 * Who should ask again, and in how many milliseconds: those with a reservation now, and the first one without when a
 * reservation ends. `freeAt`: or then, because a lease that has ended keeps the resource no longer.
 */
export function wakesOf({ queue, reserved }: LeaseRow, now: number, freeAt = Infinity): Map<string, number> {
  const wakes = new Map<string, number>()
  let until = freeAt
  for (const [id, reservation] of reserved) {
    wakes.set(id, 0)
    until = Math.min(until, reservation.until)
  }
  if (until === Infinity) return wakes
  for (const id of queue.keys()) {
    if (reserved.has(id)) continue
    wakes.set(id, Math.max(0, until - now))
    break
  }
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
