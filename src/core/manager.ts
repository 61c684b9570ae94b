import { acquire } from './acquire.ts'
import { bounded, CALL_LIMIT_MS, onAbort, Stop } from './bounded.ts'
import { systemClock } from './clock.ts'
import type { Context } from './context.ts'
import { asLeaseError, LeaseError } from './errors.ts'
import { createEvents } from './events.ts'
import { HeldLease } from './held-lease.ts'
import type { Lease, LeaseEvent, LeaseListener, LeaseRecord } from './lease.ts'
import { backoff, checkResource, type LeaseOptions, type LeasesOptions, makeWish, refuse } from './options.ts'
import { releaseInTime } from './release.ts'
import type { LeaseStore } from './store.ts'
import { createLine } from './waiting.ts'

export interface Leases extends AsyncDisposable {
  /**
   * Acquires, runs, always releases. Resolves with what `work` returns, and rejects with `lease-lost` if the
   * lease was lost before `work` had ended: then another may have been at work too.
   *
   * @example
   * await leases.withLease('invoice:42', async (lease) => save(invoice, lease.token))
   */
  withLease<T>(
    resource: string,
    work: (lease: Lease) => T | PromiseLike<T>,
    options?: LeaseOptions,
  ): Promise<T>
  /** Waits for the lease. Rejects with `lease-held` when the wait is over. Not re-entrant. */
  acquire(resource: string, options?: LeaseOptions): Promise<Lease>
  /** Asks once; `null` when another holds it. */
  tryAcquire(resource: string, options?: Omit<LeaseOptions, 'wait'>): Promise<Lease | null>
  /** The live lease of a resource, whoever holds it. */
  inspect(resource: string): Promise<LeaseRecord | null>
  /** Live leases in order of their names, at most `limit` (default 100). */
  list(query?: { readonly prefix?: string; readonly limit?: number }): Promise<readonly LeaseRecord[]>
  /** Listens to the events of this manager. Returns how to stop. */
  subscribe(listener: LeaseListener): () => void
  /**
   * Ends every wait and releases what is held, after its signal has aborted. The store stays open: it is yours.
   */
  close(): Promise<void>
}

/**
 * Leases on a store: who may write this now, until when?
 *
 * @example
 * const leases = createLeases(sqliteStore('./holdfast.db'))
 * await leases.withLease('invoice:42', async (lease) => save(invoice, lease.token))
 */
export function createLeases(
  store: LeaseStore | PromiseLike<LeaseStore>,
  options: LeasesOptions = {},
): Leases {
  const { clock = systemClock, onEvent, owner = crypto.randomUUID(), retry = backoff(clock) } = options
  const defaults = { ...options, owner, retry }
  makeWish('-', defaults)
  const events = createEvents()
  const held = new Set<HeldLease>()
  const waiting = new Set<Stop>()
  /** What `close` must see the end of. */
  const underWay = new Set<Promise<unknown>>()
  let closed: Promise<void> | undefined
  if (onEvent) subscribe(onEvent)

  /** A promise only as long as the store is one. */
  let context: Context | Promise<Context>
  if ('then' in Object(store)) {
    const coming = Promise.resolve(store).then(contextOf)
    context = coming
    coming.then((ready) => (context = ready)).catch(() => {})
  } else context = contextOf(store as LeaseStore)

  const leases: Leases = {
    async withLease(resource, work, callOptions) {
      if (typeof work !== 'function') refuse('work', 'a function', work)
      const lease = await leases.acquire(resource, callOptions)
      let result: Awaited<ReturnType<typeof work>>
      try {
        result = await work(lease)
      } finally {
        await lease[Symbol.asyncDispose]()
      }
      lease.signal.throwIfAborted()
      return result
    },

    acquire: (resource, callOptions) =>
      whileOpen((stop) => {
        const wish = makeWish(resource, defaults, callOptions)
        return acquire(ready(stop, wish.wait), wish, stop, clock.monotonic())
      }, callOptions?.signal),

    async tryAcquire(resource, callOptions) {
      try {
        return await leases.acquire(resource, { ...callOptions, wait: 0 })
      } catch (error) {
        if ((error as LeaseError).code === 'lease-held') return null
        throw error
      }
    },

    async inspect(resource) {
      const name = checkResource(resource)
      const [lease] = await call((ready) => ready.read([name]))
      return lease ?? null
    },

    async list({ prefix = '', limit = 100 } = {}) {
      if (!Number.isInteger(limit) || limit < 1) refuse('limit', 'a whole number from 1', limit)
      const found: LeaseRecord[] = []
      for (let after: string | undefined; ; ) {
        const query = { prefix, limit: limit - found.length, ...(after && { after }) }
        const page = await call((ready) => ready.list(query))
        found.push(...page.leases)
        after = page.next
        if (!after || found.length >= limit) return found
      }
    },

    subscribe,

    close() {
      closed ??= closeAll()
      return closed
    },

    [Symbol.asyncDispose]: () => leases.close(),
  }
  return leases

  function subscribe(listener: LeaseListener): () => void {
    if (typeof listener !== 'function') refuse('listener', 'a function', listener)
    return events.subscribe(listener)
  }

  async function closeAll(): Promise<void> {
    for (const lease of held) track(HeldLease.close(lease, closedError()))
    // After those: whom they told may have asked for another lease.
    for (const stop of waiting) stop.abort(closedError())
    // An acquisition that ends may leave a release behind it, and one that calls us itself is not yet tracked.
    do await Promise.allSettled(underWay)
    while (underWay.size > 0)
  }

  function track<T>(work: Promise<T>): Promise<T> {
    underWay.add(work)
    const done = () => underWay.delete(work)
    work.then(done, done)
    return work
  }

  function contextOf(ready: LeaseStore): Context {
    if (typeof ready?.acquire !== 'function' || !ready.supports) refuse('store', 'a LeaseStore', ready)
    const emit: Context['emit'] = ({ resource, owner, id, token }, body, at) => {
      // The body first: engines copy it much faster than into an object that has properties already.
      if (events.wanted())
        events.emit({ ...body, at: at ?? clock.now(), resource, owner, leaseId: id, token } as LeaseEvent)
    }
    const shared: Context = {
      store: ready,
      clock,
      held,
      emit,
      giveUp: (id, wish) => track(releaseInTime(shared, id, wish).catch(() => {})),
      line: ready.supports.queue ? undefined : createLine(ready, emit),
    }
    return shared
  }

  function ready(stop: Stop, wait?: number): Context | Promise<Context> {
    return context instanceof Promise
      ? bounded(clock, context, Math.min(CALL_LIMIT_MS, wait || Infinity), '', stop)
      : context
  }

  function call<T>(ask: (ready: LeaseStore) => Promise<T>): Promise<T> {
    return whileOpen(async (stop) => {
      const { store } = await ready(stop)
      return bounded(clock, ask(store), CALL_LIMIT_MS, '', stop)
    })
  }

  /** The work is told to stop by `close`, and by the caller's signal. */
  async function whileOpen<T>(work: (stop: Stop) => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (closed) throw closedError()
    if (signal !== undefined && typeof signal?.addEventListener !== 'function')
      refuse('signal', 'an AbortSignal', signal)
    const stop = new Stop()
    const unlisten = onAbort(signal, () =>
      stop.abort(new LeaseError('aborted', 'the wait was aborted', { cause: signal?.reason })),
    )
    waiting.add(stop)
    try {
      if (stop.reason) throw stop.reason
      return await track(work(stop))
    } catch (error) {
      throw asLeaseError(error)
    } finally {
      unlisten()
      waiting.delete(stop)
    }
  }
}

function closedError(): LeaseError {
  return new LeaseError('closed', 'the manager was closed')
}
