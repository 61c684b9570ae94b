import type { Clock } from '../../base/clock.ts'
import { RESERVATION_MS } from '../options.ts'
import type { Stored, StoredWaiter } from './rows.ts'
import { inTurn, isQueueMissing, type ResourceState } from './state.ts'

/** A waiter, by its place in the queue: one that joins again has another one. */
type Place = Stored<StoredWaiter>['entry']

/**
 * Who has its turn, and since when, as this process has seen it. etcd has no clock that can be read, and needs none
 * here: whether a waiter missed its turn decides only who is next, and a lease is granted by a transaction.
 */
export class WaiterTurns {
  readonly #clock: Clock
  readonly #since = new Map<string, Map<string, number>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `fresh`: those whose turn was not known before. `absent`: those that lose their places because one missed it. */
  observe(state: ResourceState): {
    readonly fresh: readonly Stored<StoredWaiter>[]
    readonly absent: readonly Place[]
  } {
    if (isQueueMissing(state)) return { fresh: [], absent: [] }
    const now = this.#clock.monotonic()
    const known = this.#since.get(state.resource)
    const current = inTurn(state)
    const since = new Map(current.map(({ entry }) => [nameOf(entry), known?.get(nameOf(entry)) ?? now]))
    if (since.size > 0) this.#since.set(state.resource, since)
    else this.#since.delete(state.resource)
    const missed = current.filter(({ entry }) => now - (since.get(nameOf(entry)) ?? now) >= RESERVATION_MS)
    const processes = new Set(missed.map(({ entry }) => entry.lease))
    return {
      fresh: current.filter(({ entry }) => !known?.has(nameOf(entry))),
      absent: state.queue.map(({ entry }) => entry).filter(({ lease }) => processes.has(lease)),
    }
  }
}

function nameOf({ key, created }: Place): string {
  return `${key} ${created}`
}
