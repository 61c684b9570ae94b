import { onAbort, type Stop } from '../base/abort.ts'
import { answerWithin } from '../base/answer-within.ts'
import { expectMethods, refuse } from '../base/arguments.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { defaultOwner } from '../base/default-owner.ts'
import { LeaseError } from '../base/errors.ts'
import { randomId } from '../base/random-id.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { LeasesOptions, ManagedStore } from '../core/index.ts'
import {
  acquire,
  type Context,
  createManager,
  expectStore,
  type Keeper,
  type Manager,
  type ManagerTools,
} from '../core/manager.ts'
import { loadRareParts } from './load-rare-parts.ts'
import { PREFIX, resourceOf } from './names.ts'
import { type LockManagerOptions, PLACED_WITHIN_MS } from './options.ts'
import type { OwnRequest, QueryTools } from './query.ts'
import { type LockRequest, readRequest } from './request.ts'
import { RequestOrder } from './request-order.ts'
import type { Lock, LockManager, LockManagerSnapshot, LockMode } from './types.ts'

const QUERY_TOOLS: QueryTools = { PREFIX, answerWithin, expectMethods, resourceOf }

/** The lock manager of a store. Unlike that of a browser it can be closed. */
export interface StoreLockManager extends LockManager, AsyncDisposable {
  query(): Promise<Required<LockManagerSnapshot>>
  /**
   * Ends every wait: those requests reject with an `AbortError`. Locks are released when their callbacks have ended, at the
   * latest after `closeTimeout` (default 10 s): their requests reject then. The store stays open.
   */
  close(): Promise<void>
}

/**
 * The Web Locks API of browsers, on a store: the same code runs in a tab and on a cluster.
 *
 * @example
 * const locks = createLockManager(redisStore(client))
 * await locks.request('invoice:42', async () => save(invoice))
 */
export function createLockManager(
  store: ManagedStore | PromiseLike<ManagedStore>,
  options: LockManagerOptions = {},
): StoreLockManager {
  const { owner, wait } = Object(options) as LeasesOptions
  if (wait !== undefined) refuse('wait', 'no limit: a request waits until its signal aborts', wait)
  const clientId = owner ?? `${defaultOwner()}:${randomId().slice(0, 8)}`
  const manager = createManager(store, options, clientId, expectStore)
  return new ManagerOfLocks(manager, clientId, options.clock ?? systemClock)
}

class ManagerOfLocks implements StoreLockManager {
  static {
    showMembers(ManagerOfLocks, 'LockManager', 'request', 'query')
  }

  readonly #manager: Manager & ManagerTools
  readonly #clientId: string
  readonly #clock: Clock
  readonly #order = new RequestOrder()
  readonly #requests = new Set<OwnRequest>()

  constructor(manager: Manager & ManagerTools, clientId: string, clock: Clock) {
    this.#manager = manager
    this.#clientId = clientId
    this.#clock = clock
  }

  async request(name: unknown, second: unknown, ...rest: unknown[]): Promise<never> {
    const request = readRequest(name, second, rest)
    const own = ownRequest(request, this.#clientId)
    const called = Promise.withResolvers<void>()
    this.#requests.add(own)
    try {
      const keeper = await this.#grant(request, own, called)
      const result = keeper
        ? hold(request, keeper, () => this.#beforeRelease(request))
        : request.callback(null)
      called.resolve()
      return (await result) as never
    } finally {
      called.resolve()
      this.#requests.delete(own)
    }
  }

  async query(): Promise<Required<LockManagerSnapshot>> {
    return this.#manager.run(async (context, stop) => {
      const { query } = await loadRareParts()
      return query(QUERY_TOOLS, context, stop, [...this.#requests])
    })
  }

  close(): Promise<void> {
    return this.#manager.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Waits for the lock. `null`: it is not available. */
  async #grant(
    request: LockRequest,
    own: OwnRequest,
    called: PromiseWithResolvers<void>,
  ): Promise<Keeper | null> {
    const { name, mode, ifAvailable, steal, signal } = request
    const isShared = mode === 'shared'
    const placed = Promise.withResolvers<void>()
    const before = this.#order.take(name, isShared, placed.promise)
    let earlierCallbacks: Promise<void> | undefined
    let keeper: Keeper | null = null

    const send = async (context: Context, stop: Stop) => {
      const { resource, metadata } = await resourceOf(name)
      // The order of shared requests among themselves does not matter to a queue.
      const others = isShared && context.store.supports.queue ? before?.exclusive : before?.all
      const limit = ifAvailable ? context.callTimeout : Infinity
      if (others) await answerWithin(others, limit, context, resource, stop)
      stop.throwIfAborted()
      earlierCallbacks = this.#order.sent(called.promise)
      const emit: Context['emit'] = (about, body) => {
        const isWaiting = body.type === 'waiting' && body.reason === 'held'
        own.id = about.id
        // It had to wait, and others were sent meanwhile. They were asked for before the lock became free.
        if (body.type === 'attempt' && body.attempt > 1) earlierCallbacks = this.#order.called
        if (isWaiting || body.type === 'acquired') placed.resolve()
        // After an error the request is sent again. Those of its name wait for that, and no others.
        if (isWaiting || body.type === 'error') called.resolve()
        context.emit(about, body)
      }
      const { share } = own
      if ((share || steal) && !context.store.supports.share)
        throw new LeaseError(
          'invalid-argument',
          `the ${context.store.kind} store cannot share or steal a lock`,
        )
      const options = { metadata, share: share ?? undefined, wait: ifAvailable ? 0 : Infinity }
      const checked = {
        ...this.#manager.check(resource, options),
        replace: steal ? ('any' as const) : undefined,
      }
      own.keeper = await acquire({ ...context, emit }, checked, stop, context.clock.monotonic())
      if (steal) this.#breakOthers(own.keeper.record)
      return own.keeper
    }

    try {
      keeper = await this.#manager.run(send, { signal })
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      if (!ifAvailable || (error as LeaseError).code !== 'lease-held') throw explain(error as LeaseError)
    } finally {
      own.isPending = false
      placed.resolve()
    }
    await earlierCallbacks
    if (!signal?.aborted) return keeper
    keeper?.release().catch(() => {})
    throw signal.reason
  }

  /** The requests that were made before the release must have their places before it: they wait for this lock. */
  async #beforeRelease({ name }: LockRequest): Promise<void> {
    const placed = this.#order.placed(name)
    if (!placed) return
    let cancel = () => {}
    const limit = new Promise<void>((resolve) => {
      cancel = this.#clock.setTimer(resolve, PLACED_WITHIN_MS)
    })
    await Promise.race([placed, limit])
    cancel()
  }

  /** A store that cannot push would tell them only with their next renewal. */
  #breakOthers({ resource, token }: LeaseRecord): void {
    for (const { keeper } of this.#requests)
      if (keeper?.record.resource === resource && keeper.record.token < token) keeper.lose('ended')
  }
}

function ownRequest({ name, mode, ifAvailable }: LockRequest, owner: string): OwnRequest {
  return { name, owner, share: mode === 'shared' ? Infinity : null, isPending: !ifAvailable }
}

class GrantedLock implements Lock {
  static {
    showMembers(GrantedLock, 'Lock', 'name', 'mode')
  }

  readonly #request: LockRequest

  constructor(request: LockRequest) {
    this.#request = request
  }

  get name(): string {
    return this.#request.name
  }

  get mode(): LockMode {
    return this.#request.mode
  }
}

/** Calls the callback, and releases the lock when it has ended. Rejects at once if the lease is lost meanwhile. */
async function hold(
  request: LockRequest,
  keeper: Keeper,
  beforeRelease: () => Promise<void>,
): Promise<unknown> {
  // A lease that was lost before must not start work.
  const isHeld = keeper.isHeld()
  const { signal } = keeper.loss
  const lost = new Promise<never>((_, reject) => {
    onAbort(signal, () => reject(explain(signal.reason)))
  })
  const work = async () => {
    try {
      return await request.callback(new GrantedLock(request))
    } finally {
      await beforeRelease()
      // If the store cannot be reached, the lease ends with its TTL.
      await keeper.release().catch(() => {})
    }
  }
  if (!isHeld) return lost
  keeper.isWorking = true
  return Promise.race([lost, work()])
}

/** The error of a browser for it, with the `LeaseError` as its cause. For a store that fails there is none. */
function explain(error: LeaseError): Error {
  const { code, message } = error
  const isEnd = code === 'closed' || code === 'lease-lost'
  if (!isEnd && code !== 'invalid-argument') return error
  const shown = new DOMException(message, isEnd ? 'AbortError' : 'NotSupportedError')
  return Object.defineProperty(shown, 'cause', { value: error })
}

/** As the members of an interface of the browser. */
function showMembers(
  { prototype }: { readonly prototype: object },
  tag: string,
  ...members: readonly string[]
): void {
  Object.defineProperty(prototype, Symbol.toStringTag, { value: tag, configurable: true })
  for (const member of members) Object.defineProperty(prototype, member, { enumerable: true })
}
