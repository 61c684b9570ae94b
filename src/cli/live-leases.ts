import type { LeaseRecord } from '../base/records.ts'
import type { LookingStore } from '../core/index.ts'
import { listLeases } from './list-leases.ts'

/** The store does not push an expiry that it has not noticed itself, so overdue leases are read again. */
const READ_OVERDUE_EVERY_MS = 1000
/** Finds what was not pushed, such as after a broken connection. */
const LIST_EVERY_MS = 15_000
const PAGE_SIZE = 1000
const ENDED_KEPT = 10_000

export interface LeaseChange {
  readonly type: 'held' | 'renewed' | 'released' | 'expired' | 'taken-over'
  readonly lease: LeaseRecord
}

export interface FollowOptions {
  /** Only resources whose names begin with this text. */
  readonly prefix: string
  readonly onChange: (change: LeaseChange) => void
  readonly onError: (error: unknown) => void
}

interface ReceivedLease {
  readonly lease: LeaseRecord
  /** When the lease was received. Its `remaining` counts from then. */
  readonly receivedAt: number
}

/** The leases that are held. Pushes of the store, timers and repeated lists keep them up to date. */
export class LiveLeases implements AsyncDisposable {
  readonly #store: LookingStore
  readonly #options: FollowOptions
  readonly #held = new Map<string, ReceivedLease>()
  /** The token of the last lease of each resource that ended, so that no end is reported twice. */
  readonly #ended = new Map<string, number>()
  readonly #timers: NodeJS.Timeout[] = []
  #watch: AsyncDisposable | undefined

  private constructor(store: LookingStore, options: FollowOptions) {
    this.#store = store
    this.#options = options
  }

  /** Resolves when the leases that are already held have been reported. */
  static async follow(store: LookingStore, options: FollowOptions): Promise<LiveLeases> {
    const live = new LiveLeases(store, options)
    const { prefix, onError } = options
    const list = () => live.#list().catch(onError)
    live.#watch = await store.watch(
      (event) => (event.type === 'gap' ? void list() : live.#apply(event.lease)),
      { prefix },
    )
    await live.#list()
    live.#timers.push(
      setInterval(() => live.#readOverdue().catch(onError), READ_OVERDUE_EVERY_MS),
      setInterval(list, LIST_EVERY_MS),
    )
    return live
  }

  /** Ordered by resource, with the time that they have left now. */
  get current(): LeaseRecord[] {
    return [...this.#held.values()]
      .map((received) => ({ ...received.lease, remaining: remainingOf(received) }))
      .sort((a, b) => (a.resource < b.resource ? -1 : 1))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#watch?.[Symbol.asyncDispose]()
  }

  #apply(lease: LeaseRecord): void {
    const { resource, token, state } = lease
    const known = this.#held.get(resource)?.lease
    // This event is late: a later lease, or the end of this one, is already known.
    if ((known && known.token > token) || (this.#ended.get(resource) ?? 0) >= token) return
    if (state === 'held') {
      this.#keep(lease)
      if (known && known.token < token) this.#report('taken-over', known)
      this.#report(known?.token === token ? 'renewed' : 'held', lease)
    } else {
      this.#held.delete(resource)
      this.#report(state, lease)
    }
  }

  #keep(lease: LeaseRecord): void {
    this.#held.set(lease.resource, { lease, receivedAt: performance.now() })
  }

  #report(type: LeaseChange['type'], lease: LeaseRecord): void {
    if (type !== 'held' && type !== 'renewed') {
      if (this.#ended.size >= ENDED_KEPT) this.#ended.clear()
      this.#ended.set(lease.resource, lease.token)
    }
    this.#options.onChange({ type, lease })
  }

  async #list(): Promise<void> {
    const before = [...this.#held.values()]
    const found = new Set<string>()
    for await (const lease of listLeases(this.#store, this.#options.prefix, PAGE_SIZE)) {
      found.add(lease.resource)
      // A renewal that only the list shows is not reported.
      if (this.#held.get(lease.resource)?.lease.token === lease.token) this.#keep(lease)
      else this.#apply(lease)
    }
    for (const received of before) if (!found.has(received.lease.resource)) this.#endMissing(received)
  }

  async #readOverdue(): Promise<void> {
    const overdue = [...this.#held.values()].filter((received) => remainingOf(received) === 0)
    if (overdue.length === 0) return
    const leases = await this.#store.read(overdue.map(({ lease }) => lease.resource))
    for (const [index, received] of overdue.entries()) {
      const [lease] = leases[index] ?? []
      if (lease) this.#apply(lease)
      else this.#endMissing(received)
    }
  }

  /** The store no longer has the lease, and no event said how it ended. */
  #endMissing(received: ReceivedLease): void {
    const { lease } = received
    if (this.#held.get(lease.resource)?.lease.token !== lease.token) return
    const state = remainingOf(received) === 0 ? 'expired' : 'released'
    this.#apply({ ...lease, state, remaining: 0 })
  }
}

function remainingOf({ lease: { remaining }, receivedAt }: ReceivedLease): number | null {
  return remaining === null ? null : Math.max(0, remaining - (performance.now() - receivedAt))
}
