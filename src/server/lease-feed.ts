/**
 * Reports what happens to every lease, each change once: `started`, `renewed`, `ended`, and if it then keeps the
 * resource by `atLeast` or `lockDelay`, `kept` and `freed`. It works from the state of the leases, so it depends on no
 * single message, node or sweeper. It learns of changes from the store's `watch`, from the answers to this node's own
 * calls, from a timer on the next expiry, and by reading the relevant resources again, every minute and after a gap. A
 * lease is known by its resource and token, and its phase only grows. Beside an exclusive lease there is no other, so
 * all leases with lower tokens have ended.
 *
 * Not `core/watch.ts`, which needs a store that pushes: a server also works on stores that do not.
 */

import type { Clock } from '../base/clock.ts'
import { createEmitter } from '../base/emitter.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { LeasePage, LeaseStore } from '../core/index.ts'
import { type Expiring, ExpiryQueue } from './expiry-queue.ts'
import { setLimited } from './limited-map.ts'
import {
  LIST_LEASES_AT_ONCE,
  MAX_REMEMBERED_LEASES,
  READ_LEASES_AGAIN_MS,
  READ_LEASES_AT_ONCE,
} from './options.ts'
import type { OnError } from './service.ts'

export interface LeaseFeedEvent {
  readonly phase: 'started' | 'renewed' | 'ended' | 'kept' | 'freed'
  readonly lease: LeaseRecord
}

export interface LeaseFeedOptions {
  readonly store: LeaseStore
  readonly clock: Clock
  /** The resources to read again from time to time. */
  readonly relevant: () => Iterable<string>
  /** Milliseconds. */
  readonly rereadEvery: number
  /** Called when a call of the store failed. The feed repeats the call. */
  readonly onError: OnError
}

/** A lease that is live or keeps its resource. */
interface KnownLease extends Expiring {
  lease: LeaseRecord
}

type TimerName = 'expiry' | 'reread' | 'resync'

const EXPIRED = { state: 'expired', remaining: 0 } as const

/**
 * Not the `watch` of the core, which a page loads and which asks the store every second: a server has thousands of rooms,
 * so it sets one timer on the next expiry, learns from the answers of its own node, and reads only what it is asked for.
 */
export class LeaseFeed {
  readonly #options: LeaseFeedOptions
  /** By resource and token. */
  readonly #known = new Map<string, Map<number, KnownLease>>()
  #liveCount = 0
  /** The token of the last exclusive lease that ended, by resource. All lower ones have ended too. */
  readonly #endedTokens = new Map<string, number>()
  /** The shared leases that ended, in the order of their ends. */
  readonly #endedShares = new Map<string, true>()
  /** The leases that keep their resources no longer. */
  readonly #freed = new Map<string, true>()
  readonly #expiries = new ExpiryQueue<KnownLease>()
  readonly #events = createEmitter<LeaseFeedEvent>()
  readonly #gaps = createEmitter<void>()
  readonly #timers = new Map<TimerName, () => void>()
  #expiryTimerAt = Infinity
  #watch: AsyncDisposable | undefined
  #closed = false

  constructor(options: LeaseFeedOptions) {
    this.#options = options
  }

  /** How many leases are live, as far as this node knows. */
  get live(): number {
    return this.#liveCount
  }

  /** How many leases have ended and keep their resources. */
  get kept(): number {
    let all = 0
    for (const ofResource of this.#known.values()) all += ofResource.size
    return all - this.#liveCount
  }

  /** The live leases of a resource, as far as this node knows. */
  leasesOf(resource: string): LeaseRecord[] {
    return this.#knownOf(resource).filter(({ state }) => state === 'held')
  }

  /** The resources that have live leases, or are kept. */
  get resources(): Iterable<string> {
    return this.#known.keys()
  }

  /** Resolves when it receives changes. */
  async start(): Promise<void> {
    const { store } = this.#options
    if (store.supports.push) {
      this.#watch = await store.watch((event) => {
        if (event.type === 'change') this.observe(event.lease)
        else this.#onGap()
      })
    }
    await this.#resync()
    this.#rereadLater()
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const cancel of this.#timers.values()) cancel()
    await this.#watch?.[Symbol.asyncDispose]()
  }

  subscribe(listener: (event: LeaseFeedEvent) => void): () => void {
    return this.#events.subscribe(listener)
  }

  /** The listener is called when something may have been missed. */
  onGap(listener: () => void): void {
    this.#gaps.subscribe(listener)
  }

  /** Takes a lease as the store reported it. Reports may come in any order, and more than once. */
  observe(lease: LeaseRecord): void {
    if (this.#closed) return
    const { resource, token, state } = lease
    const known = this.#known.get(resource)?.get(token)
    if (known?.lease.state === 'kept') {
      if (state === 'kept') this.#moveKeeping(known, lease)
      else if (state !== 'held') this.#free(lease)
      return
    }
    if (known && state === 'held') {
      this.#extend(known, lease)
      return
    }
    if (state === 'kept') {
      // The message about its end was lost.
      if (known) this.#end({ ...known.lease, ...EXPIRED })
      if (!this.#isFreed(lease)) this.#keep(lease)
      return
    }
    if (this.#isOver(lease)) return
    // The ends of earlier leases are reported first, even if the messages about them were lost.
    for (const earlier of this.#knownOf(resource)) {
      if (earlier.token > token || areTogether(earlier, lease)) continue
      if (earlier.state === 'kept') this.#free({ ...earlier, state: 'taken-over', remaining: 0 })
      else if (earlier.token < token) this.#end({ ...earlier, ...EXPIRED })
    }
    if (state === 'held') this.#start(lease)
    else this.#end({ ...lease, metadata: lease.metadata ?? known?.lease.metadata ?? null })
  }

  /**
   * The same for the answer to a call that ended a lease. By now the store may have reported that the lease keeps the
   * resource, and this is not the end of that.
   */
  observeEnd(lease: LeaseRecord): void {
    const known = this.#known.get(lease.resource)?.get(lease.token)
    if (known?.lease.state !== 'kept') this.observe(lease)
  }

  #knownOf(resource: string): LeaseRecord[] {
    return Array.from(this.#known.get(resource)?.values() ?? [], ({ lease }) => lease)
  }

  /** Whether the lease has ended, by what was reported before. */
  #isOver(lease: LeaseRecord): boolean {
    const { resource, token } = lease
    if (token <= (this.#endedTokens.get(resource) ?? 0) || this.#endedShares.has(keyOf(lease))) return true
    return this.leasesOf(resource).some((later) => later.token > token && !areTogether(later, lease))
  }

  /** Whether the lease keeps its resource no longer, by what was reported before. */
  #isFreed(lease: LeaseRecord): boolean {
    const { resource, token } = lease
    if (token < (this.#endedTokens.get(resource) ?? 0) || this.#freed.has(keyOf(lease))) return true
    return this.leasesOf(resource).some((later) => later.token > token && !areTogether(later, lease))
  }

  #extend(known: KnownLease, lease: LeaseRecord): void {
    const longerBy = (lease.expiresAt ?? 0) - (known.lease.expiresAt ?? 0)
    // An older report. A renewal never shortens a lease.
    if (longerBy < 0) return
    known.lease = lease
    known.deadline = Math.max(known.deadline, this.#deadlineOf(lease))
    if (longerBy > 0) this.#events.emit({ phase: 'renewed', lease })
  }

  #start(lease: LeaseRecord): void {
    this.#add(lease)
    this.#liveCount++
    this.#events.emit({ phase: 'started', lease })
  }

  #keep(lease: LeaseRecord): void {
    this.#add(lease)
    this.#events.emit({ phase: 'kept', lease })
  }

  /** An item of the queue never becomes due earlier, so it is added anew. */
  #moveKeeping(known: KnownLease, lease: LeaseRecord): void {
    known.over = true
    this.#add(lease)
  }

  #free(lease: LeaseRecord): void {
    this.#remove(lease)
    setLimited(this.#freed, keyOf(lease), true, MAX_REMEMBERED_LEASES)
    this.#events.emit({ phase: 'freed', lease })
  }

  #add(lease: LeaseRecord): void {
    const { resource, token } = lease
    const known = { lease, deadline: this.#deadlineOf(lease), over: false }
    const ofResource = this.#known.get(resource) ?? new Map<number, KnownLease>()
    this.#known.set(resource, ofResource.set(token, known))
    this.#expiries.add(known)
    this.#armExpiryTimer()
  }

  #remove({ resource, token }: LeaseRecord): KnownLease | undefined {
    const ofResource = this.#known.get(resource)
    const known = ofResource?.get(token)
    if (known) known.over = true
    ofResource?.delete(token)
    if (ofResource?.size === 0) this.#known.delete(resource)
    return known
  }

  #deadlineOf({ remaining }: LeaseRecord): number {
    return this.#options.clock.monotonic() + (remaining ?? Infinity)
  }

  #end(lease: LeaseRecord): void {
    const { resource, token, share } = lease
    if (this.#remove(lease)) this.#liveCount--
    if (share === null) {
      // Deleted first, so that it becomes the newest entry.
      this.#endedTokens.delete(resource)
      setLimited(this.#endedTokens, resource, token, MAX_REMEMBERED_LEASES)
    } else setLimited(this.#endedShares, keyOf(lease), true, MAX_REMEMBERED_LEASES)
    this.#events.emit({ phase: 'ended', lease })
  }

  #armExpiryTimer(): void {
    const next = this.#expiries.next ?? Infinity
    if (next === Infinity || (this.#timers.has('expiry') && next >= this.#expiryTimerAt)) return
    this.#expiryTimerAt = next
    this.#setTimer('expiry', Math.max(0, next - this.#options.clock.monotonic()), () => this.#onExpiry())
  }

  /** By our own clock these leases have expired. Only the store decides whether they have. */
  async #onExpiry(): Promise<void> {
    const { clock } = this.#options
    const due = this.#expiries.takeDue(clock.monotonic())
    try {
      if (due.length > 0) await this.#check(new Set(due.map(({ lease }) => lease.resource)))
    } finally {
      const retryAt = clock.monotonic() + READ_LEASES_AGAIN_MS
      for (const live of due) {
        if (live.over) continue
        // Without a later deadline the store has not answered, or still sees the lease as live.
        if (live.deadline <= clock.monotonic()) live.deadline = retryAt
        this.#expiries.add(live)
      }
      this.#armExpiryTimer()
    }
  }

  /** Reads the resources, and reports what has started or ended there. */
  async #check(resources: Iterable<string>): Promise<void> {
    const { store } = this.#options
    const all = [...resources]
    for (let from = 0; from < all.length; from += READ_LEASES_AT_ONCE) {
      const names = all.slice(from, from + READ_LEASES_AT_ONCE)
      const before = names.map((name) => this.#knownOf(name))
      const found = await store.read(names)
      for (const [n, leases] of found.entries()) {
        for (const known of before[n] ?? [])
          if (leases.every(({ token }) => token !== known.token)) this.observe({ ...known, ...endOf(known) })
        for (const lease of leases) this.observe(lease)
      }
    }
  }

  #onGap(): void {
    this.#gaps.emit()
    this.#setTimer('resync', 0, () => this.#resync())
  }

  /** Lists all leases, and checks those that were believed to be live, or to keep their resources. */
  async #resync(): Promise<void> {
    const { store, relevant } = this.#options
    const believed = [...this.#known.values()].flatMap((ofResource) => [...ofResource.values()])
    const found = new Set<string>()
    for (let after: string | undefined = ''; store.supports.list && after !== undefined; ) {
      const page: LeasePage = await store.list({ limit: LIST_LEASES_AT_ONCE, after })
      for (const lease of page.leases) {
        found.add(keyOf(lease))
        this.observe(lease)
      }
      after = page.next
    }
    const missing = believed.filter(({ lease }) => !found.has(keyOf(lease)))
    await this.#check(new Set([...missing.map(({ lease }) => lease.resource), ...relevant()]))
  }

  #rereadLater(): void {
    const { rereadEvery, relevant } = this.#options
    this.#setTimer('reread', rereadEvery, async () => {
      this.#rereadLater()
      await this.#check(relevant())
    })
  }

  #setTimer(name: TimerName, ms: number, run: () => Promise<void>): void {
    if (this.#closed) return
    this.#timers.get(name)?.()
    const { clock, onError } = this.#options
    const cancel = clock.setTimer(
      () => {
        this.#timers.delete(name)
        run().catch((error: unknown) => {
          onError(name, error)
          if (name === 'resync') this.#setTimer(name, READ_LEASES_AGAIN_MS, run)
        })
      },
      ms,
      true,
    )
    this.#timers.set(name, cancel)
  }
}

/** Of a lease that the store does not show any more. */
function endOf({ state }: LeaseRecord): Pick<LeaseRecord, 'state' | 'remaining'> {
  return state === 'kept' ? { state: 'released', remaining: 0 } : EXPIRED
}

/** Whether both leases may be live at the same time. */
function areTogether(a: LeaseRecord, b: LeaseRecord): boolean {
  return a.share !== null && b.share !== null
}

/** No name of a resource contains a tab. */
function keyOf({ resource, token }: LeaseRecord): string {
  return `${resource}\t${token}`
}
