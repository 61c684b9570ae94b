import { expectOptions } from '../base/arguments.ts'
import { type Clock, expectClock, systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import type { Ask, LeaseStore } from '../core/index.ts'
import { Effects } from './lease-row.ts'
import { LeaseTable } from './lease-table.ts'
import { LocalListeners } from './local/listeners.ts'
import { type MemoryStoreOptions, PRUNE_EVERY_MS } from './options.ts'

export type { MemoryStoreOptions } from './options.ts'

/**
 * Leases within one process: for tests, and for programs with a single process. The reference for every other store.
 *
 * @example
 * const leases = createLeases(memoryStore())
 */
export function memoryStore(options: MemoryStoreOptions = {}): LeaseStore {
  expectOptions(options, { clock: 1 })
  const { clock = systemClock } = options
  expectClock('clock', clock)
  const data = new MemoryData(clock)
  const { table, listeners } = data
  const transact: MemoryData['transact'] = (step) => data.transact(step)
  const close = () => data.close()

  const store: LeaseStore = {
    kind: 'memory',
    supports: { queue: true, push: true, expiry: true, list: true, share: true },

    async acquire(request) {
      const answer = transact((now, effects) => {
        data.pruneIfDue(now)
        return table.acquire(request, request.id, now, effects)
      })
      listeners.answered(request, answer)
      return answer
    },

    async renew(request) {
      const renewal = transact((now, effects) => table.renew(request, now, effects))
      if (renewal.ok) listeners.renewed(renewal.lease)
      return renewal
    },

    async release(by) {
      return transact((now, effects) => {
        if ('id' in by) listeners.forget(by.id)
        return table.release(by, now, effects)
      })
    },

    async read(resources) {
      return transact((now) => table.read(resources, now))
    },

    async waiting(query) {
      return transact(() => table.waiting(query))
    },

    async list(query) {
      return transact((now) => table.list(query, now))
    },

    async sweep({ limit }) {
      return transact((now, effects) => {
        const swept = table.sweep(limit, now, effects)
        data.prune(now)
        return swept
      })
    },

    async watch(on, { prefix } = {}) {
      return transact(() => listeners.watch(on, prefix))
    },

    close,
    [Symbol.asyncDispose]: close,
  }
  const acquireAll: LeaseStore['acquireAll'] = async (requests) => {
    const grants = transact((now, effects) => {
      data.pruneIfDue(now)
      return table.acquireAll(requests, now, effects)
    })
    for (const [n, grant] of (grants ?? []).entries()) listeners.answered(requests[n] as Ask, grant)
    return grants
  }
  // A spread must not copy it: a wrapper `{ ...store, acquire }` would otherwise be passed by.
  return Object.defineProperty(store, 'acquireAll', { value: acquireAll })
}

/** All leases, and those in this process who wait, hold and watch. */
class MemoryData {
  readonly table = new LeaseTable()
  readonly listeners: LocalListeners
  readonly #clock: Clock
  #pruneAt = 0
  #isClosed = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.listeners = new LocalListeners(clock)
  }

  transact<T>(step: (now: number, effects: Effects) => T): T {
    if (this.#isClosed) throw new LeaseError('closed', 'this memory store was closed')
    const effects = new Effects()
    const result = step(this.#clock.now(), effects)
    this.listeners.carryOut(effects)
    // In a microtask, so that a watcher that calls the store does so after this call and not within it.
    for (const lease of effects.changes) queueMicrotask(() => this.listeners.tellChange(lease))
    return result
  }

  pruneIfDue(now: number): void {
    // Also after the clock has stepped back.
    if (now >= this.#pruneAt || now < this.#pruneAt - PRUNE_EVERY_MS) this.prune(now)
  }

  prune(now: number): void {
    this.#pruneAt = now + PRUNE_EVERY_MS
    this.table.prune(now)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.listeners.clear()
  }
}
