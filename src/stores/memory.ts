import { expectOptions } from '../base/arguments.ts'
import { type Clock, expectClock, systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import type { LeaseStore } from '../core/index.ts'
import { Effects } from './lease-row.ts'
import { LeaseTable } from './lease-table.ts'
import { LocalListeners } from './local/listeners.ts'
import { PRUNE_EVERY_MS } from './options.ts'

export interface MemoryStoreOptions {
  /** The store's own clock. Default: the system's. */
  readonly clock?: Clock | undefined
}

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
  const table = new LeaseTable()
  const listeners = new LocalListeners(clock)
  let pruneAt = 0
  let closed = false

  return {
    kind: 'memory',
    supports: { queue: true, push: true, expiry: true, list: true, share: true },

    async acquire(request) {
      const answer = transact((now, effects) => {
        // Also after the clock has stepped back.
        if (now >= pruneAt || now < pruneAt - PRUNE_EVERY_MS) prune(now)
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
        prune(now)
        return swept
      })
    },

    async watch(on, { prefix } = {}) {
      return transact(() => listeners.watch(on, prefix))
    },

    close,
    [Symbol.asyncDispose]: close,
  }

  async function close(): Promise<void> {
    closed = true
    listeners.clear()
  }

  function transact<T>(step: (now: number, effects: Effects) => T): T {
    if (closed) throw new LeaseError('closed', 'this memory store was closed')
    const effects = new Effects()
    const result = step(clock.now(), effects)
    listeners.carryOut(effects)
    // In a microtask, so that a watcher that calls the store does so after this call and not within it.
    for (const lease of effects.changes) queueMicrotask(() => listeners.tellChange(lease))
    return result
  }

  function prune(now: number): void {
    pruneAt = now + PRUNE_EVERY_MS
    table.prune(now)
  }
}
