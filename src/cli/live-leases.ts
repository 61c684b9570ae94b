import type { LeaseRecord, LeaseStore } from '../core/index.ts'

/** Behind the store's push: what it could not tell, such as an expiry that nobody has noticed yet. */
const LOOK_EVERY_MS = 1000
const LIST_EVERY_MS = 15_000
const PAGE = 1000
const ENDED_KEPT = 10_000

export interface LeaseChange {
  readonly type: 'held' | 'renewed' | 'released' | 'expired' | 'taken-over'
  readonly lease: LeaseRecord
}

interface Seen {
  readonly lease: LeaseRecord
  readonly at: number
}

/** The leases that are held, kept up to date: by the store's push, by time, and by looking again. */
export class LiveLeases implements AsyncDisposable {
  readonly #store: LeaseStore
  readonly #prefix: string
  readonly #on: (change: LeaseChange) => void
  readonly #held = new Map<string, Seen>()
  /** The last token of each resource that ended, so that no end is told twice. */
  readonly #ended = new Map<string, number>()
  readonly #timers: NodeJS.Timeout[] = []
  #watch: AsyncDisposable | undefined

  private constructor(store: LeaseStore, prefix: string, on: (change: LeaseChange) => void) {
    this.#store = store
    this.#prefix = prefix
    this.#on = on
  }

  static async follow(
    store: LeaseStore,
    prefix: string,
    on: (change: LeaseChange) => void,
    onError: (error: unknown) => void,
  ): Promise<LiveLeases> {
    const live = new LiveLeases(store, prefix, on)
    const list = () => live.#list().catch(onError)
    live.#watch = await store.watch(
      (event) => (event.type === 'gap' ? void list() : live.#apply(event.lease)),
      { prefix },
    )
    await live.#list()
    live.#timers.push(
      setInterval(() => live.#lookAtOverdue().catch(onError), LOOK_EVERY_MS),
      setInterval(list, LIST_EVERY_MS),
    )
    return live
  }

  /** In order of their names, with the time that is left to them now. */
  get current(): LeaseRecord[] {
    return [...this.#held.values()]
      .map(({ lease, at }) => ({ ...lease, remaining: remainingOf(lease, at) }))
      .sort((a, b) => (a.resource < b.resource ? -1 : 1))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#watch?.[Symbol.asyncDispose]()
  }

  #apply(lease: LeaseRecord): void {
    const { resource, token, state } = lease
    const known = this.#held.get(resource)?.lease
    // Told late: a later lease, or the end of this one, is known already.
    if ((known && known.token > token) || (this.#ended.get(resource) ?? 0) >= token) return
    if (state === 'held') {
      this.#held.set(resource, { lease, at: performance.now() })
      if (known && known.token < token) this.#tell('taken-over', known)
      this.#tell(known?.token === token ? 'renewed' : 'held', lease)
    } else {
      this.#held.delete(resource)
      this.#tell(state, lease)
    }
  }

  #tell(type: LeaseChange['type'], lease: LeaseRecord): void {
    if (type !== 'held' && type !== 'renewed') {
      if (this.#ended.size >= ENDED_KEPT) this.#ended.clear()
      this.#ended.set(lease.resource, lease.token)
    }
    this.#on({ type, lease })
  }

  async #list(): Promise<void> {
    const before = [...this.#held.values()]
    const found = new Set<string>()
    for (let after: string | undefined; ; ) {
      const page = await this.#store.list({ prefix: this.#prefix, limit: PAGE, ...(after && { after }) })
      for (const lease of page.leases) {
        found.add(lease.resource)
        // A renewal that only the list shows is no news.
        const known = this.#held.get(lease.resource)
        if (known?.lease.token === lease.token)
          this.#held.set(lease.resource, { lease, at: performance.now() })
        else this.#apply(lease)
      }
      after = page.next
      if (!after) break
    }
    for (const seen of before) if (!found.has(seen.lease.resource)) this.#missed(seen)
  }

  async #lookAtOverdue(): Promise<void> {
    const overdue = [...this.#held.values()].filter(({ lease, at }) => remainingOf(lease, at) === 0)
    if (overdue.length === 0) return
    const leases = await this.#store.read(overdue.map(({ lease }) => lease.resource))
    for (const [index, seen] of overdue.entries()) {
      const lease = leases[index]
      if (lease) this.#apply(lease)
      else this.#missed(seen)
    }
  }

  /** It is no longer there, and nobody has told how it ended. */
  #missed({ lease, at }: Seen): void {
    if (this.#held.get(lease.resource)?.lease.token !== lease.token) return
    const state = remainingOf(lease, at) === 0 ? 'expired' : 'released'
    this.#apply({ ...lease, state, remaining: 0 })
  }
}

function remainingOf({ remaining }: LeaseRecord, at: number): number | null {
  return remaining === null ? null : Math.max(0, remaining - (performance.now() - at))
}
