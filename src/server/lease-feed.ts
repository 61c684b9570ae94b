/**
 * What becomes of every lease, told once: `started`, `renewed`, `ended`. It is made from state, so that no single
 * message, node or sweeper is needed for it: from the store's `watch`, from the answers of this node's own calls,
 * from a timer on the next expiry, and by reading again what listeners care about, every minute and after a gap.
 * The pair of token and phase of a resource only grows, and whatever is not beyond it was told before.
 */
import type { Clock, LeaseRecord, LeaseStore } from '../core/index.ts'
import { type Expiring, ExpiryQueue } from './expiry-queue.ts'
import type { OnError } from './service.ts'

export interface Transition {
  readonly phase: 'started' | 'renewed' | 'ended'
  readonly lease: LeaseRecord
}

export interface LeaseFeedOptions {
  readonly store: LeaseStore
  readonly clock: Clock
  /** The resources to read again every so often. */
  readonly cared: () => Iterable<string>
  readonly rereadEvery: number
  /** A call of the store that failed, and is tried again. */
  readonly onError: OnError
}

type Listener = (transition: Transition) => void

interface Live extends Expiring {
  lease: LeaseRecord
}

/** So many ended leases are remembered, lest a late message tell them again. */
const REMEMBERED = 10_000
const READ_AT_ONCE = 200
const LIST_AT_ONCE = 500
const RETRY_MS = 1000

export class LeaseFeed {
  readonly #options: LeaseFeedOptions
  readonly #live = new Map<string, Live>()
  readonly #ended = new Map<string, number>()
  readonly #expiries = new ExpiryQueue<Live>()
  readonly #listeners = new Set<Listener>()
  readonly #gapListeners = new Set<() => void>()
  readonly #timers = new Map<'expiry' | 'reread' | 'resync', () => void>()
  #expiryTimerAt = Infinity
  #watch: AsyncDisposable | undefined
  #stopped = false

  constructor(options: LeaseFeedOptions) {
    this.#options = options
  }

  /** How many leases are live, as far as this node knows. */
  get live(): number {
    return this.#live.size
  }

  /** Resolves when it hears. */
  async start(): Promise<void> {
    const { store, rereadEvery } = this.#options
    if (store.supports.push) {
      this.#watch = await store.watch((event) => {
        if (event.type === 'change') this.tell(event.lease)
        else this.#onGap()
      })
    }
    await this.#resync()
    this.#every('reread', rereadEvery, () => this.#check([...this.#options.cared()]))
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const cancel of this.#timers.values()) cancel()
    await this.#watch?.[Symbol.asyncDispose]()
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Runs when something may have been missed. */
  onGap(listener: () => void): void {
    this.#gapListeners.add(listener)
  }

  /** Takes in what the store says of a lease, in any order and as often as one likes. */
  tell(lease: LeaseRecord): void {
    if (this.#stopped) return
    const { resource, token } = lease
    const known = this.#live.get(resource)
    if (token < (known?.lease.token ?? 0) || token <= (this.#ended.get(resource) ?? 0)) return
    const isSame = known?.lease.token === token
    // The end of what went before is told first, though its own message was lost.
    if (known && !isSame) this.#end(known, { ...known.lease, state: 'expired', remaining: 0 })
    if (lease.state === 'held') this.#hold(lease, isSame ? known : undefined)
    else if (known && isSame) this.#end(known, { ...lease, metadata: lease.metadata ?? known.lease.metadata })
    else this.#finish(lease)
  }

  #hold(lease: LeaseRecord, known: Live | undefined): void {
    const deadline = this.#options.clock.monotonic() + (lease.remaining ?? Infinity)
    if (known) {
      const isLonger = (lease.expiresAt ?? 0) > (known.lease.expiresAt ?? 0)
      known.lease = lease
      known.deadline = Math.max(known.deadline, deadline)
      if (isLonger) this.#emit('renewed', lease)
      return
    }
    const live = { lease, deadline, over: false }
    this.#live.set(lease.resource, live)
    this.#expiries.add(live)
    this.#armExpiry()
    this.#emit('started', lease)
  }

  #end(live: Live, lease: LeaseRecord): void {
    live.over = true
    this.#live.delete(lease.resource)
    this.#finish(lease)
  }

  #finish(lease: LeaseRecord): void {
    const { resource, token } = lease
    this.#ended.delete(resource)
    this.#ended.set(resource, token)
    if (this.#ended.size > REMEMBERED) {
      const [oldest] = this.#ended.keys()
      if (oldest !== undefined) this.#ended.delete(oldest)
    }
    this.#emit('ended', lease)
  }

  #emit(phase: Transition['phase'], lease: LeaseRecord): void {
    for (const listener of this.#listeners) listener({ phase, lease })
  }

  #armExpiry(): void {
    const next = this.#expiries.next ?? Infinity
    if (next === Infinity || (this.#timers.has('expiry') && next >= this.#expiryTimerAt)) return
    this.#expiryTimerAt = next
    this.#after('expiry', Math.max(0, next - this.#options.clock.monotonic()), () => this.#onExpiry())
  }

  /** Our own clock says that they have run out; the store decides. */
  async #onExpiry(): Promise<void> {
    const due = this.#expiries.takeDue(this.#options.clock.monotonic())
    try {
      if (due.length > 0) await this.#check(due.map(({ lease }) => lease.resource))
    } finally {
      const soon = this.#options.clock.monotonic() + RETRY_MS
      for (const live of due) {
        if (live.over) continue
        // Unless the store has put it off, it did not answer.
        if (live.deadline <= this.#options.clock.monotonic()) live.deadline = soon
        this.#expiries.add(live)
      }
      this.#armExpiry()
    }
  }

  /** Reads the resources, and tells of what has begun or ended there. */
  async #check(resources: readonly string[]): Promise<void> {
    const { store } = this.#options
    for (let from = 0; from < resources.length; from += READ_AT_ONCE) {
      const names = resources.slice(from, from + READ_AT_ONCE)
      const before = names.map((name) => this.#live.get(name))
      const found = await store.read(names)
      for (const [n, lease] of found.entries()) {
        const known = before[n]
        if (lease) this.tell(lease)
        else if (known) this.tell({ ...known.lease, state: 'expired', remaining: 0 })
      }
    }
  }

  #onGap(): void {
    for (const listener of this.#gapListeners) listener()
    this.#after('resync', 0, () => this.#resync())
  }

  /** Finds all that is live, and checks what was believed to be. */
  async #resync(): Promise<void> {
    const { store } = this.#options
    const believed = [...this.#live.keys()]
    const found = new Set<string>()
    for (let after: string | undefined = ''; store.supports.list && after !== undefined; ) {
      const page: Awaited<ReturnType<LeaseStore['list']>> = await store.list({ limit: LIST_AT_ONCE, after })
      for (const lease of page.leases) {
        found.add(lease.resource)
        this.tell(lease)
      }
      after = page.next
    }
    await this.#check([...believed.filter((resource) => !found.has(resource)), ...this.#options.cared()])
  }

  #every(timer: 'reread', ms: number, run: () => Promise<void>): void {
    this.#after(timer, ms, async () => {
      this.#every(timer, ms, run)
      await run()
    })
  }

  #after(timer: 'expiry' | 'reread' | 'resync', ms: number, run: () => Promise<void>): void {
    if (this.#stopped) return
    this.#timers.get(timer)?.()
    const { clock, onError } = this.#options
    const cancel = clock.setTimer(
      () => {
        this.#timers.delete(timer)
        run().catch((error: unknown) => {
          onError(timer, error)
          if (timer === 'resync') this.#after(timer, RETRY_MS, run)
        })
      },
      ms,
      true,
    )
    this.#timers.set(timer, cancel)
  }
}
