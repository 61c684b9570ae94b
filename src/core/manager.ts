import { onAbort, Stop } from '../base/abort.ts'
import { answerWithin } from '../base/answer-within.ts'
import { hasMethods, isObject, refuseClient } from '../base/arguments.ts'
import { createEmitter } from '../base/emitter.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { FIRST_CALL_MS } from '../base/options.ts'
import { suggestStore } from '../base/suggest-store.ts'
import { acquire } from './acquire.ts'
import type { Context } from './context.ts'
import type { Keeper } from './keeper.ts'
import type { LeaseEvent, LeaseListener } from './lease.ts'
import { loadLocalQueue } from './load-local-queue.ts'
import {
  type CheckedOptions,
  checkDefaults,
  checkOptions,
  type LeaseOptions,
  type LeasesOptions,
} from './options.ts'
import { releaseInTime } from './release.ts'
import type { ManagedStore } from './store.ts'

export { acquire, type Context, type Keeper }

/** Waits for leases and holds them. */
export interface Manager {
  /** Waits for the lease. Rejects with `lease-held` when the wait ends. Not re-entrant. */
  acquire(resource: string, options?: LeaseOptions): Promise<Keeper>
  /** Listens to the events of this manager. Returns a function that stops it. */
  subscribe(listener: LeaseListener): () => void
  /**
   * Ends every wait, aborts the signal of every lease and releases it, after the work under it has ended or after
   * `closeTimeout`. Resolves when every request that it sent is answered and every grant released, at the latest after
   * `callTimeout` more. The store stays open: it is yours.
   */
  close(): Promise<void>
}

/** For the parts of `createLeases` that do not acquire. */
export interface ManagerTools {
  /** `close` and the signal stop the work. `started`: when `run` was called, on the monotonic clock. */
  run<T>(
    work: (context: Context, stop: Stop, started: number) => Promise<T>,
    options?: RunOptions,
  ): Promise<T>
  check(resource: string, options?: LeaseOptions): CheckedOptions
}

type LocalQueueModule = Awaited<ReturnType<typeof loadLocalQueue>>
type RunOptions = Partial<Pick<CheckedOptions, 'signal' | 'wait'>>

/** `owner`: if the options name none. `expectStore` throws if the store is not a LeaseStore. */
export function createManager(
  store: ManagedStore | PromiseLike<ManagedStore>,
  options: LeasesOptions,
  owner: string,
  expectStore: (store: ManagedStore) => void = () => {},
): Manager & ManagerTools {
  const defaults = checkDefaults(options, owner)
  const { clock, callTimeout, closeTimeout, endsWithProcess, onEvent } = defaults
  const check: ManagerTools['check'] = (resource, own) => checkOptions(resource, defaults, own)
  check('-')
  const events = createEmitter<LeaseEvent>()
  const held: Context['held'] = new Set()
  const waiting = new Set<Stop>()
  /** How many calls and releases are under way. `close` waits until there are none. */
  let underWay = 0
  let onIdle = () => {}
  let closed: Promise<void> | undefined
  if (onEvent) events.subscribe(onEvent)

  /** A promise only while the store is one. */
  let context =
    'then' in Object(store) ? Promise.resolve(store).then(contextOf) : contextOf(store as ManagedStore)
  if (context instanceof Promise)
    context.then(
      (ready) => (context = ready),
      () => {},
    )

  const manager: Manager & ManagerTools = {
    async acquire(resource, callOptions) {
      const checked = check(resource, callOptions)
      return run((ready, stop, started) => acquire(ready, checked, stop, started), checked)
    },

    subscribe: events.subscribe,

    close: () => (closed ??= closeAll()),

    run,
    check,
  }
  return manager

  async function closeAll(): Promise<void> {
    for (const keeper of held) untilDone(keeper.close(closedError(), closeTimeout))
    // After those: their listeners may have asked for another lease.
    for (const stop of waiting) stop.abort(closedError())
    if (underWay > 0) await new Promise<void>((resolve) => (onIdle = resolve))
  }

  function done(): void {
    if (--underWay === 0) onIdle()
  }

  function untilDone(work: Promise<unknown>): void {
    underWay++
    work.then(done, done)
  }

  function contextOf(ready: ManagedStore): Context | Promise<Context> {
    expectStore(ready)
    const emit: Context['emit'] = ({ resource, owner, id, token }, body) => {
      // The body first: engines copy it much faster than into an object that already has properties.
      if (events.isHeard)
        events.emit({ ...body, at: clock.now(), resource, owner, leaseId: id, token } as LeaseEvent)
    }
    const shared: Context = {
      store: ready,
      clock,
      callTimeout,
      endsWithProcess,
      held,
      emit,
      giveUp(about, checked, late) {
        const release = () => releaseInTime(shared, about, checked)
        untilDone(late ? answerWithin(late.then(release), callTimeout, shared) : release())
      },
      untilDone,
    }
    if (ready.supports.queue) return shared
    const withQueue = ({ createLocalQueue }: LocalQueueModule) => ({
      ...shared,
      queue: createLocalQueue(ready, emit, asLeaseError),
    })
    const module = loadLocalQueue()
    return module instanceof Promise ? module.then(withQueue) : withQueue(module)
  }

  async function run<T>(
    work: (context: Context, stop: Stop, started: number) => Promise<T>,
    { signal, wait }: RunOptions = {},
  ): Promise<T> {
    if (closed) throw closedError()
    const started = clock.monotonic()
    const stop = new Stop(callTimeout)
    const unlisten = onAbort(signal, () =>
      stop.abort(new LeaseError('aborted', 'the wait was aborted', { cause: signal?.reason })),
    )
    waiting.add(stop)
    underWay++
    try {
      stop.throwIfAborted()
      const limit = Math.min(callTimeout, Math.max(wait || Infinity, FIRST_CALL_MS))
      const ready =
        context instanceof Promise ? await answerWithin(context, limit, { clock }, '', stop) : context
      return await work(ready, stop, started)
    } catch (error) {
      throw asLeaseError(error)
    } finally {
      unlisten()
      waiting.delete(stop)
      done()
    }
  }
}

function closedError(): LeaseError {
  return new LeaseError('closed', 'the manager was closed')
}

/** Throws if it is no store, and says which factory makes one of it. */
export function expectStore(store: ManagedStore): void {
  if (!hasMethods(store, 'acquire', 'renew', 'release') || !isObject(store.supports))
    refuseClient('store', `a LeaseStore such as ${suggestStore(store)}`, store)
}
