import {
  type Ask,
  type Clock,
  LeaseError,
  type LeaseRecord,
  type LeaseStore,
  type StoreEvent,
  systemClock,
} from '../core/index.ts'
import {
  ask,
  Effects,
  expire,
  isForgettable,
  type LeaseRow,
  liveRecord,
  newRow,
  release,
  renew,
} from './lease-row.ts'

const PRUNE_EVERY_MS = 60_000

export interface MemoryStoreOptions {
  /** The store's own clock. Default: the system's. */
  readonly clock?: Clock
}

/**
 * Leases within one process: for tests, and for programs that are alone. The reference for every other store.
 *
 * @example
 * const leases = createLeases(memoryStore())
 */
export function memoryStore({ clock = systemClock }: MemoryStoreOptions = {}): LeaseStore {
  const rows = new Map<string, LeaseRow>()
  const wakers = new Map<string, (inMs: number) => void>()
  const losers = new Map<string, () => void>()
  const watchers = new Set<{ on: (event: StoreEvent) => void; prefix: string }>()
  let floor = 0
  let pruneAt = 0
  let closed = false

  function transact<T>(step: (now: number, effects: Effects) => T): T {
    if (closed) throw new LeaseError('closed', 'this memory store was closed')
    const effects = new Effects()
    const result = step(clock.now(), effects)
    carryOut(effects)
    return result
  }

  function carryOut({ changes, wakes }: Effects): void {
    for (const [id, inMs] of wakes) wakers.get(id)?.(inMs)
    for (const lease of changes) {
      if (lease.state !== 'held') {
        losers.get(lease.id)?.()
        losers.delete(lease.id)
      }
      for (const watcher of watchers) if (lease.resource.startsWith(watcher.prefix)) tell(watcher.on, lease)
    }
  }

  function prune(now: number): void {
    pruneAt = now + PRUNE_EVERY_MS
    for (const row of rows.values()) {
      if (!isForgettable(row, now)) continue
      floor = Math.max(floor, row.token)
      rows.delete(row.resource)
    }
  }

  return {
    kind: 'memory',
    supports: { queue: true, push: true, expiry: true, list: true },

    async acquire(request) {
      const answer = transact((now, effects) => {
        // Also when the clock has stepped back behind the last time.
        if (now >= pruneAt || now < pruneAt - PRUNE_EVERY_MS) prune(now)
        const row = rows.get(request.resource) ?? newRow(request.resource, floor)
        rows.set(request.resource, row)
        return ask(row, request, request.wake ? request.id : null, now, effects)
      })
      remember(request, answer.granted)
      return answer
    },

    async renew({ resource, id, ttl }) {
      return transact((now, effects) => {
        const row = rows.get(resource)
        return row ? renew(row, id, ttl, now, effects) : { ok: false, holder: null }
      })
    },

    async release(by) {
      return transact((now, effects) => {
        const row = rows.get(by.resource)
        if (!row) return { ended: null, holder: null }
        if ('id' in by) {
          wakers.delete(by.id)
          losers.delete(by.id)
        }
        return release(row, by, now, effects)
      })
    },

    async read(resources) {
      return transact((now) =>
        resources.map((resource) => {
          const row = rows.get(resource)
          return row ? liveRecord(row, now) : null
        }),
      )
    },

    async list({ prefix = '', limit, after = '' }) {
      return transact((now) => {
        const leases = [...rows.values()]
          .filter(({ resource }) => resource.startsWith(prefix) && resource > after)
          .map((row) => liveRecord(row, now))
          .filter((lease) => lease !== null)
          .sort((a, b) => (a.resource < b.resource ? -1 : 1))
        const last = leases[limit - 1]
        return {
          leases: leases.slice(0, limit),
          ...(last && leases.length > limit && { next: last.resource }),
        }
      })
    },

    async sweep({ limit }) {
      return transact((now, effects) => {
        const swept: LeaseRecord[] = []
        for (const row of rows.values()) {
          if (swept.length >= limit) break
          const lease = expire(row, now, effects)
          if (lease) swept.push(lease)
        }
        prune(now)
        return swept
      })
    },

    async watch(on, { prefix = '' } = {}) {
      const watcher = { on, prefix }
      transact(() => watchers.add(watcher))
      return {
        async [Symbol.asyncDispose]() {
          watchers.delete(watcher)
        },
      }
    },

    async close() {
      closed = true
      watchers.clear()
      wakers.clear()
      losers.clear()
    },
  }

  function remember({ id, wake, lost }: Ask, granted: boolean): void {
    if (granted) wakers.delete(id)
    else if (wake) wakers.set(id, wake)
    if (granted && lost) losers.set(id, lost)
  }
}

/** In a microtask, so that a listener finds the store between two calls and not within one. */
function tell(on: (event: StoreEvent) => void, lease: LeaseRecord): void {
  queueMicrotask(() => {
    try {
      on({ type: 'change', lease })
    } catch {
      // A listener that throws harms nobody else.
    }
  })
}
