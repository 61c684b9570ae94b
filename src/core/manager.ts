import { onAbort, Stop } from '../base/abort.ts'
import { answerWithin, CALL_TIMEOUT_MS } from '../base/answer-within.ts'
import { expectBoolean, expectObject, expectSignal } from '../base/arguments.ts'
import { createChannel } from '../base/channel.ts'
import { systemClock } from '../base/clock.ts'
import { expectDuration } from '../base/duration.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { backoffMs } from '../base/pause.ts'
import { acquire } from './acquire.ts'
import type { Context, LeaseClass } from './context.ts'
import { HeldLease } from './held-lease.ts'
import { HeldLeases } from './held-leases.ts'
import type { LeaseEvent, LeaseListener } from './lease.ts'
import { createLocalQueue } from './local-queue.ts'
import {
  type CheckedOptions,
  checkOptions,
  expectOneAttempt,
  type LeaseOptions,
  type LeasesOptions,
} from './options.ts'
import { releaseInTime } from './release.ts'
import type { ManagedStore } from './store.ts'

export type { HeldLease }

/** Waits for leases and holds them. */
export interface Manager<L extends HeldLease = HeldLease> extends AsyncDisposable {
  /** Waits for the lease. Rejects with `lease-held` when the wait ends. Not re-entrant. */
  acquire(resource: string, options?: LeaseOptions): Promise<L>
  /** One attempt; `null` if another caller holds it. */
  tryAcquire(resource: string, options?: Omit<LeaseOptions, 'wait'>): Promise<L | null>
  /** Listens to the events of this manager. Returns a function that stops it. */
  subscribe(listener: LeaseListener): () => void
  /**
   * Ends every wait, aborts the signal of every held lease and releases it. The store stays open: it is yours.
   */
  close(): Promise<void>
}

/** For the parts of `createLeases` that do not acquire. */
export interface ManagerTools {
  /** `close` and the signal stop the work. */
  run<T>(work: (context: Context, stop: Stop) => Promise<T>, signal?: AbortSignal): Promise<T>
  check(resource: string, options?: LeaseOptions): CheckedOptions
}

/** `Lease`: the class of the leases that it grants. */
export function createManager<L extends HeldLease = HeldLease>(
  store: ManagedStore | PromiseLike<ManagedStore>,
  options: LeasesOptions & { readonly owner: string },
  Lease: LeaseClass<L> = HeldLease as unknown as LeaseClass<L>,
): Manager<L> & ManagerTools {
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

  const check: ManagerTools['check'] = (resource, own) => checkOptions(resource, defaults, own)
  const manager: Manager<L> & ManagerTools = {
    acquire: (resource, callOptions) =>
      whileOpen((stop) => {
        const checked = check(resource, callOptions)
        return acquire(ready(stop, checked.wait), checked, stop, clock.monotonic()) as Promise<L>
      }, callOptions?.signal),

    async tryAcquire(resource, callOptions) {
      expectOneAttempt(callOptions)
      try {
        return await manager.acquire(resource, { ...callOptions, wait: 0 })
      } catch (error) {
        if ((error as LeaseError).code === 'lease-held') return null
        throw error
      }
    },

    subscribe: events.subscribe,

    close() {
      closed ??= closeAll()
      return closed
    },

    [Symbol.asyncDispose]: () => manager.close(),

    run: (work, signal) => whileOpen(async (stop) => work(await ready(stop), stop), signal),
    check,
  }
  return manager

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
      Lease,
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
