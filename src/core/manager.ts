import { Acquisition } from './acquire.ts'
import { bounded, CALL_LIMIT_MS } from './bounded.ts'
import { systemClock } from './clock.ts'
import type { Context } from './context.ts'
import { asLeaseError, LeaseError } from './errors.ts'
import { Events } from './events.ts'
import type { HeldLease } from './held-lease.ts'
import type { Lease, LeaseListener, LeaseRecord } from './lease.ts'
import { checkResource, type LeaseOptions, type LeasesOptions, makeWish, refuse } from './options.ts'
import { releaseInTime } from './release.ts'
import type { LeaseStore } from './store.ts'
import { LocalLine } from './waiting.ts'

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
  /** Ends every wait and releases what is held. The store stays open: it is yours. */
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
  return new Manager(store, options)
}

class Manager implements Leases {
  /** A promise only as long as the store is one. */
  #context: Context | Promise<Context>
  readonly #options: LeasesOptions
  readonly #clock
  readonly #events = new Events()
  readonly #waiting = new Set<AbortController>()
  /** What `close` must see the end of. */
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #held = new Set<HeldLease>()
  #closed: Promise<void> | undefined

  constructor(store: LeaseStore | PromiseLike<LeaseStore>, options: LeasesOptions) {
    const { clock = systemClock, owner = crypto.randomUUID(), onEvent } = options
    this.#clock = clock
    this.#options = { ...options, owner }
    makeWish('-', this.#options, {}, clock)
    if (onEvent) this.subscribe(onEvent)
    if ('then' in Object(store)) {
      const coming = Promise.resolve(store).then(
        (ready) => this.#contextOf(ready),
        (error) => Promise.reject(asLeaseError(error)),
      )
      this.#context = coming
      coming.then((context) => (this.#context = context)).catch(() => {})
    } else this.#context = this.#contextOf(store as LeaseStore)
  }

  async withLease<T>(
    resource: string,
    work: (lease: Lease) => T | PromiseLike<T>,
    options?: LeaseOptions,
  ): Promise<T> {
    const lease = await this.acquire(resource, options)
    try {
      const result = await work(lease)
      await lease[Symbol.asyncDispose]()
      if (lease.signal.aborted) throw lease.signal.reason
      return result
    } finally {
      await lease[Symbol.asyncDispose]()
    }
  }

  async acquire(resource: string, options: LeaseOptions = {}): Promise<Lease> {
    const wish = makeWish(resource, this.#options, options, this.#clock)
    const { signal } = wish
    const stop = new AbortController()
    const onAbort = () =>
      stop.abort(
        new LeaseError('aborted', `waiting for ${wish.resource} was aborted`, { cause: signal?.reason }),
      )
    if (this.#closed) throw closedError()
    this.#waiting.add(stop)
    signal?.addEventListener('abort', onAbort)
    try {
      if (signal?.aborted) onAbort()
      stop.signal.throwIfAborted()
      const context = await this.#ready(stop.signal)
      return await this.#track(new Acquisition(context, wish, stop.signal).run())
    } finally {
      signal?.removeEventListener('abort', onAbort)
      this.#waiting.delete(stop)
    }
  }

  async tryAcquire(resource: string, options: Omit<LeaseOptions, 'wait'> = {}): Promise<Lease | null> {
    try {
      return await this.acquire(resource, { ...options, wait: 0 })
    } catch (error) {
      if (error instanceof LeaseError && error.code === 'lease-held') return null
      throw error
    }
  }

  async inspect(resource: string): Promise<LeaseRecord | null> {
    const name = checkResource(resource)
    const [lease] = await this.#call((store) => store.read([name]))
    return lease ?? null
  }

  async list({ prefix = '', limit = 100 }: { prefix?: string; limit?: number } = {}): Promise<LeaseRecord[]> {
    if (!Number.isInteger(limit) || limit < 1) refuse('limit', 'a whole number from 1', limit)
    if (typeof prefix !== 'string') refuse('prefix', 'a string', prefix)
    const found: LeaseRecord[] = []
    for (let after: string | undefined; found.length < limit; ) {
      const query = { prefix, limit: limit - found.length, ...(after !== undefined && { after }) }
      const page = await this.#call((store) => store.list(query))
      found.push(...page.leases)
      after = page.next
      if (after === undefined) break
    }
    return found
  }

  subscribe(listener: LeaseListener): () => void {
    if (typeof listener !== 'function') refuse('listener', 'a function', listener)
    return this.#events.subscribe(listener)
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    for (const stop of this.#waiting) stop.abort(closedError())
    for (const lease of this.#held) this.#track(lease[Symbol.asyncDispose]())
    // An acquisition that ends may leave a release behind it.
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work)
    const done = () => this.#underWay.delete(work)
    work.then(done, done)
    return work
  }

  #contextOf(store: LeaseStore): Context {
    if (typeof store?.acquire !== 'function' || !store.supports) refuse('store', 'a LeaseStore', store)
    const emit: Context['emit'] = ({ resource, owner, id }, body) =>
      this.#events.emit({ at: this.#clock.now(), resource, owner, ...(id && { leaseId: id }), ...body })
    const context: Context = {
      store,
      clock: this.#clock,
      held: this.#held,
      emit,
      giveUp: (id, wish) => this.#track(releaseInTime(context, id, wish).catch(() => {})),
      line: store.supports.queue ? undefined : new LocalLine(store, emit),
    }
    return context
  }

  #ready(stop?: AbortSignal): Context | Promise<Context> {
    return this.#context instanceof Promise
      ? bounded(this.#clock, this.#context, { ms: CALL_LIMIT_MS, ...(stop && { stop }) })
      : this.#context
  }

  async #call<T>(ask: (store: LeaseStore) => Promise<T>): Promise<T> {
    if (this.#closed) throw closedError()
    const { store } = await this.#ready()
    try {
      return await bounded(this.#clock, ask(store), { ms: CALL_LIMIT_MS })
    } catch (error) {
      throw asLeaseError(error)
    }
  }
}

function closedError(): LeaseError {
  return new LeaseError('closed', 'this lease manager was closed')
}
