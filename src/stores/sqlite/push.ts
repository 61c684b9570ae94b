/**
 * Learns what other processes have changed. SQLite does not notify, so while somebody in this process waits, holds
 * or watches, a timer compares SQLite's change counter every 10 ms, and reads the rows again after a change.
 */
import type { Clock } from '../../base/clock.ts'
import { notify } from '../../base/notify.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { nextIn, wakesOf } from '../lease-row.ts'
import type { LocalListeners } from '../local/listeners.ts'
import type { ChangeLog } from './change-log.ts'
import type { Connection } from './connection.ts'
import { CHECK_PLACES_EVERY_MS, FEW_WAITERS, LEASES_AT_ONCE, LOOK_EVERY_MS } from './options.ts'
import type { DamagedRows } from './rows.ts'

export interface PushOptions {
  readonly clock: Clock
  readonly connection: Connection
  readonly damaged: DamagedRows
  readonly listeners: LocalListeners
  readonly changeLog: ChangeLog
}

interface SeenQueue {
  /** Of all waiters; `null`: they were not read. */
  readonly ids: ReadonlySet<string> | null
  /** A text that differs for other reservations, or another time until which the resource is kept; empty: neither. */
  readonly reservations: string
  readonly wakes: ReadonlyMap<string, number>
}

export class Push {
  readonly #options: PushOptions
  #counter: number | undefined
  /** Something has changed since the places of all waiters were read. */
  #arePlacesDue = false
  #placesReadAt = -Infinity
  /** By the id of a waiter: the `reservations` of which it was told. */
  #told = new Map<string, string>()
  /** Held leases that are still to be checked. */
  #unchecked: LeaseRecord[] = []
  #isCheckDue = false
  #cancelTimer: (() => void) | undefined

  constructor(options: PushOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTimer ??= this.#options.clock.setTimer(() => this.#onTimer(), LOOK_EVERY_MS, true)
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #onTimer(): void {
    this.#cancelTimer = undefined
    if (!this.#options.listeners.isNeeded) return
    this.start()
    // A database that cannot be read now is looked at again the next time.
    notify(() => this.#look())
  }

  #look(): void {
    const { connection, changeLog } = this.#options
    const counter = connection.queries.changeCounter()
    const hasChanged = counter !== this.#counter
    if (hasChanged || this.#arePlacesDue) this.#lookAtQueues()
    this.#lookAtLeases(hasChanged)
    changeLog.read()
    this.#counter = counter
  }

  /** Wakes waiters whose turn has come, and waiters that have lost their places. */
  #lookAtQueues(): void {
    const { listeners, clock } = this.#options
    const waiting = listeners.waiting()
    const now = clock.monotonic()
    const readsPlaces = waiting.length <= FEW_WAITERS || now >= this.#placesReadAt + CHECK_PLACES_EVERY_MS
    this.#arePlacesDue = !readsPlaces
    if (readsPlaces) this.#placesReadAt = now
    const queues = new Map<string, SeenQueue>()
    const told = new Map<string, string>()
    for (const { id, resource } of waiting) {
      const queue = queues.get(resource) ?? this.#readQueue(resource, readsPlaces)
      queues.set(resource, queue)
      if (queue.ids && !queue.ids.has(id)) {
        listeners.dropped(id)
        continue
      }
      const inMs = queue.wakes.get(id)
      if (inMs === undefined) continue
      if (this.#told.get(id) !== queue.reservations) listeners.wake(id, inMs)
      told.set(id, queue.reservations)
    }
    this.#told = told
  }

  #readQueue(resource: string, readsPlaces: boolean): SeenQueue {
    const { connection, damaged, clock } = this.#options
    const { queries } = connection
    const now = clock.now()
    const stored = queries.find(resource)
    const row = stored ? damaged.decode(stored, now) : null
    if (!row || stored?.line === null) return { ids: new Set(), reservations: '', wakes: new Map() }
    const { reserved, leases } = row
    const freeAt = Math.min(...leases.map(({ keptUntil = Infinity }) => keptUntil))
    const waiters = readsPlaces
      ? queries.waiters(resource)
      : queries.firstWaiters(resource, reserved.size + 1)
    row.queue = new Map(waiters.map((waiter) => [waiter.id, waiter]))
    const reservations = Array.from(reserved, ([id, { until }]) => `${id} ${until}`)
    return {
      ids: readsPlaces ? new Set(waiters.map(({ id }) => id)) : null,
      reservations: [freeAt, nextIn(row)?.id, ...reservations].join(),
      wakes: wakesOf(row, now),
    }
  }

  /** Finds leases that others have ended: some at a time, all of them after each change. */
  #lookAtLeases(hasChanged: boolean): void {
    const { listeners, connection } = this.#options
    this.#isCheckDue ||= hasChanged
    if (this.#unchecked.length === 0 && this.#isCheckDue) {
      this.#unchecked = listeners.held()
      this.#isCheckDue = false
    }
    for (const { resource, id, token } of this.#unchecked.splice(0, LEASES_AT_ONCE))
      if (!connection.queries.hasLease(resource, id)) listeners.ended(id, token)
  }
}
