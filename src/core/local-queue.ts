import { asLeaseError } from '../base/errors.ts'
import type { WakeSignal } from '../base/wake-signal.ts'
import type { About, Context } from './context.ts'
import type { ManagedStore } from './store.ts'

/** The waiters of one manager, for stores that keep no queue. */
export interface LocalQueue {
  /** Whether somebody waits: it was refused, or others are ahead. A first request under way is no reason to refuse. */
  has(resource: string): boolean
  /** Joins the queue if necessary, and returns how many waiters are ahead. */
  place(resource: string, waiter: WakeSignal): number
  leave(resource: string, waiter: WakeSignal): void
  /** Wakes the first waiter. */
  wake(resource: string): void
  /** Somebody has to wait: starts listening to the store. */
  watch(about: About): void
}

/**
 * The queue of a manager whose store keeps none. Only the first waiter calls the store. It is woken when a lease of
 * this manager ends, when the store pushes a change, or by its own timer.
 */
export function createLocalQueue(store: ManagedStore, emit: Context['emit']): LocalQueue {
  const queues = new Map<string, WakeSignal[]>()
  const waited = new Set<string>()
  let watch: Promise<AsyncDisposable> | undefined

  const wake = (resource: string) => queues.get(resource)?.[0]?.wake()
  const wakeAll = () => {
    for (const resource of queues.keys()) wake(resource)
  }

  return {
    wake,
    has: (resource) => waited.has(resource),
    place(resource, waiter) {
      const queue = queues.get(resource) ?? []
      queues.set(resource, queue)
      const place = queue.indexOf(waiter)
      return place < 0 ? queue.push(waiter) - 1 : place
    },
    leave(resource, waiter) {
      const rest = queues.get(resource)?.filter((other) => other !== waiter)
      if (rest?.length) queues.set(resource, rest)
      else {
        queues.delete(resource)
        waited.delete(resource)
      }
      wake(resource)
      if (queues.size > 0) return
      watch?.then((ended) => ended[Symbol.asyncDispose]()).catch(() => {})
      watch = undefined
    },
    watch(about) {
      waited.add(about.resource)
      if (watch || !store.supports.push || !store.watch) return
      const starting = store.watch((event) => {
        if (event.type === 'gap') wakeAll()
        else if (event.lease.state !== 'held') wake(event.lease.resource)
      })
      watch = starting
      // The first waiters ask again once it works, because an earlier change was not heard.
      starting.then(wakeAll, (cause) => {
        if (watch === starting) watch = undefined
        emit(about, { type: 'error', operation: 'watch', error: asLeaseError(cause) })
      })
    },
  }
}
