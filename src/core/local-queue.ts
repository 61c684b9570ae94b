import type { asLeaseError, LeaseError } from '../base/errors.ts'
import type { WakeSignal } from '../base/wake-signal.ts'
import type { About, Context } from './context.ts'
import type { CallOptions, ManagedStore, Refusal } from './store.ts'

/** The waiters of one manager, for stores that keep no queue. */
export interface LocalQueue {
  /**
   * Resolves when the caller may ask the store. The queue is first in, first out, and only its first waiter asks.
   * Rejects if the caller does not wait, and somebody else does.
   */
  turn(resource: string, waiter: WakeSignal, acquisition: Acquisition): Promise<void>
  leave(resource: string, waiter: WakeSignal): void
  /** Wakes the first waiter. */
  wake(resource: string): void
  /** Somebody has to wait: starts listening to the store. */
  watch(about: About): void
}

/** The acquisition that waits for its turn. */
export interface Acquisition {
  readonly waits: boolean
  /** Waits behind this number of others, until it is woken. */
  waitAt(place: number): Promise<void>
  /** What the store answers in time. */
  answer<T>(read: (call: CallOptions) => Promise<T>): Promise<T>
  /** The error for a refusal. */
  refused(refusal: Refusal): LeaseError
}

/**
 * The queue of a manager whose store keeps none. Only the first waiter calls the store. It is woken when a lease of
 * this manager ends, when the store pushes a change, or by its own timer. Loaded on demand, so it imports nothing: see
 * Pages in ARCHITECTURE.
 */
export function createLocalQueue(
  store: ManagedStore,
  emit: Context['emit'],
  toLeaseError: typeof asLeaseError,
): LocalQueue {
  const queues = new Map<string, WakeSignal[]>()
  const waited = new Set<string>()
  let watch: Promise<AsyncDisposable> | undefined

  const wake = (resource: string) => queues.get(resource)?.[0]?.wake()
  const wakeAll = () => {
    for (const resource of queues.keys()) wake(resource)
  }

  return {
    wake,
    async turn(resource, waiter, { waits, waitAt, answer, refused }) {
      while (waits) {
        const place = join(resource, waiter)
        if (place === 0) return
        await waitAt(place)
        waiter.reset()
      }
      // Somebody waits: it was refused, or others are ahead. A first request under way is no reason to refuse.
      if (!waited.has(resource)) return
      const [found = []] = await answer(async (call) => {
        call.limited = false
        return store.read?.([resource], call) ?? []
      })
      const holders = found.filter(({ state }) => state === 'held')
      const keptFor = found.find(({ state }) => state === 'kept')?.remaining ?? 0
      throw refused({ granted: false, holders, place: null, retryIn: null, keptFor })
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
        emit(about, { type: 'error', operation: 'watch', error: toLeaseError(cause) })
      })
    },
  }

  /** Joins the queue if necessary, and returns how many waiters are ahead. */
  function join(resource: string, waiter: WakeSignal): number {
    const queue = queues.get(resource) ?? []
    queues.set(resource, queue)
    const place = queue.indexOf(waiter)
    return place < 0 ? queue.push(waiter) - 1 : place
  }
}
