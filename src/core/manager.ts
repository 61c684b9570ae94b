import { onAbort, Stop } from '../base/abort.ts'
import { answerWithin, CALL_TIMEOUT_MS } from '../base/answer-within.ts'
import {
  expectBoolean,
  expectFunction,
  expectMethods,
  expectObject,
  expectOptions,
  expectSignal,
  expectWhole,
} from '../base/arguments.ts'
import { createChannel } from '../base/channel.ts'
import { systemClock } from '../base/clock.ts'
import { expectDuration } from '../base/duration.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { backoffMs } from '../base/pause.ts'
import type { LeaseRecord } from '../base/records.ts'
import { checkResource } from '../base/resource-name.ts'
import { acquire } from './acquire.ts'
import { answerOf, type Context } from './context.ts'
import { HeldLease } from './held-lease.ts'
import { HeldLeases } from './held-leases.ts'
import type { Lease, LeaseEvent, LeaseListener } from './lease.ts'
import { createLocalQueue } from './local-queue.ts'
import { checkOptions, expectOneAttempt, type LeaseOptions, type LeasesOptions } from './options.ts'
import { releaseInTime } from './release.ts'
import type { LookingStore, ManagedStore } from './store.ts'

export interface Leases extends AsyncDisposable {
  /**
   * Acquires, runs, always releases. Resolves with what `work` returns. Rejects with `lease-lost` if the lease was
   * lost before `work` ended: another holder may have worked at the same time.
   *
   * @example
   * await leases.withLease('invoice:42', async (lease) => save(invoice, lease.token))
   */
  withLease<T>(
    resource: string,
    work: (lease: Lease) => T | PromiseLike<T>,
    options?: LeaseOptions,
  ): Promise<T>
  /** Waits for the lease. Rejects with `lease-held` when the wait ends. Not re-entrant. */
  acquire(resource: string, options?: LeaseOptions): Promise<Lease>
  /** One attempt; `null` if another caller holds it. */
  tryAcquire(resource: string, options?: Omit<LeaseOptions, 'wait'>): Promise<Lease | null>
  /** The live lease of a resource, whoever holds it. */
  inspect(resource: string): Promise<LeaseRecord | null>
  /** Live leases in order of their names, at most `limit` (default 100). */
  list(query?: { readonly prefix?: string; readonly limit?: number }): Promise<readonly LeaseRecord[]>
  /** Listens to the events of this manager. Returns a function that stops it. */
  subscribe(listener: LeaseListener): () => void
  /**
   * Ends every wait, aborts the signal of every held lease and releases it. The store stays open: it is yours.
   */
  close(): Promise<void>
}

/** `createLeases` without its explanations of mistakes, for other parts. */
export function createManager(
  store: ManagedStore | PromiseLike<ManagedStore>,
  options: LeasesOptions & { readonly owner: string },
): Leases {
  const { clock = systemClock, onEvent, endsWithProcess = true } = options
  const { retry = (failures) => backoffMs(clock, failures) } = options
  const defaults = { ...options, retry }
  checkOptions('-', defaults)
  const callTimeout = expectDuration('callTimeout', options.callTimeout ?? CALL_TIMEOUT_MS, 1)
  expectBoolean('endsWithProcess', endsWithProcess)
  const events = createChannel<LeaseEvent>()
  const held = new HeldLeases()
  const waiting = new Set<Stop>()
  /** `close` waits for these. */
  const underWay = new Set<Promise<unknown>>()
  let closed: Promise<void> | undefined
  if (onEvent) events.subscribe(onEvent)

  /** A promise only while the store is one. */
  let context: Context | Promise<Context>
  if ('then' in Object(store)) {
    const coming = Promise.resolve(store).then(contextOf)
    context = coming
    coming.then((ready) => (context = ready)).catch(() => {})
  } else context = contextOf(store as ManagedStore)

  const leases: Leases = {
    async withLease(resource, work, callOptions) {
      expectFunction('work', work)
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
        const checked = checkOptions(resource, defaults, callOptions)
        return acquire(ready(stop, checked.wait), checked, stop, clock.monotonic())
      }, callOptions?.signal),

    async tryAcquire(resource, callOptions) {
      expectOneAttempt(callOptions)
      try {
        return await leases.acquire(resource, { ...callOptions, wait: 0 })
      } catch (error) {
        if ((error as LeaseError).code === 'lease-held') return null
        throw error
      }
    },

    async inspect(resource) {
      const name = checkResource(resource)
      const [lease] = await call('read', (store, stop) => store.read([name], stop))
      return lease ?? null
    },

    async list(query = {}) {
      expectOptions(query, { prefix: 1, limit: 1 })
      const { prefix = '', limit = 100 } = query
      expectWhole('limit', limit, 1)
      const found: LeaseRecord[] = []
      for (let after: string | undefined; ; ) {
        const rest = { prefix, limit: limit - found.length, ...(after && { after }) }
        const page = await call('list', (store, stop) => store.list(rest, stop))
        found.push(...page.leases)
        after = page.next
        if (!after || found.length >= limit) return found
      }
    },

    subscribe: events.subscribe,

    close() {
      closed ??= closeAll()
      return closed
    },

    [Symbol.asyncDispose]: () => leases.close(),
  }
  return leases

  async function closeAll(): Promise<void> {
    for (const lease of held) track(HeldLease.close(lease, closedError()))
    // After those: their listeners may have asked for another lease.
    for (const stop of waiting) stop.abort(closedError())
    // An acquisition that ends may start a release, and one whose listener calls `close` is not yet tracked.
    do await Promise.allSettled(underWay)
    while (underWay.size > 0)
  }

  function track<T>(work: Promise<T>): Promise<T> {
    underWay.add(work)
    const done = () => underWay.delete(work)
    work.then(done, done)
    return work
  }

  function contextOf(ready: ManagedStore): Context {
    expectObject('store.supports', ready.supports)
    const emit: Context['emit'] = ({ resource, owner, id, token }, body, at) => {
      // The body first: engines copy it much faster than into an object that already has properties.
      if (events.isHeard)
        events.emit({ ...body, at: at ?? clock.now(), resource, owner, leaseId: id, token } as LeaseEvent)
    }
    const shared: Context = {
      store: ready,
      clock,
      callTimeout,
      endsWithProcess,
      held,
      emit,
      giveUp: (id, checked) => track(releaseInTime(shared, id, checked).catch(() => {})),
      queue: ready.supports.queue ? undefined : createLocalQueue(ready, emit),
    }
    return shared
  }

  function ready(stop: Stop, wait?: number): Context | Promise<Context> {
    return context instanceof Promise
      ? answerWithin(context, { clock, ms: Math.min(callTimeout, wait || Infinity), stop })
      : context
  }

  function call<T>(
    method: keyof LookingStore,
    ask: (store: LookingStore, stop: Stop) => Promise<T>,
  ): Promise<T> {
    return whileOpen(async (stop) => {
      const shared = await ready(stop)
      expectMethods('store', shared.store, 'a LeaseStore with the looking half', method)
      return answerOf(shared, ask(shared.store as LookingStore, stop), callTimeout, '', stop)
    })
  }

  /** `close` and the caller's signal stop the work. */
  async function whileOpen<T>(work: (stop: Stop) => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (closed) throw closedError()
    if (signal !== undefined) expectSignal('signal', signal)
    const stop = new Stop(undefined, callTimeout)
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
