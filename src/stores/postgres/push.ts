import { type Ask, type StoreEvent, systemClock } from '../../core/index.ts'
import type { Listen } from './client.ts'
import { Inbox } from './inbox.ts'
import type { Queries } from './queries.ts'
import { Watchers } from './watchers.ts'

/** A lease that is held for less is not worth a connection. */
const LISTEN_AFTER_MS = 200

interface Waiter {
  readonly wake: (inMs: number) => void
  /** Where the tables say that it hears. */
  readonly address: string | null
}

interface Holder {
  readonly resource: string
  readonly id: string
  readonly lost: () => void
  readonly since: number
  until: number
  address: string | null
}

/** Who in this process is told what: waiters their turn, holders their loss, watchers every change. */
export class Push {
  readonly #queries: () => Queries | Promise<Queries>
  readonly #inbox: Inbox
  readonly #watchers: Watchers
  readonly #waiters = new Map<string, Waiter>()
  /** In the order in which they came. */
  readonly #holders = new Map<string, Holder>()
  #cancelOpenSoon: (() => void) | undefined

  constructor(listen: Listen, queries: () => Queries | Promise<Queries>) {
    this.#queries = queries
    this.#inbox = new Inbox({
      listen,
      queries,
      needed: () => this.#anybody(),
      heard: (channel, payload) => this.#watchers.heard(channel, payload) || this.#heard(payload),
      opened: () => this.#opened(),
      checked: () => this.#checked(),
    })
    this.#watchers = new Watchers(this.#inbox, queries)
  }

  get address(): string | null {
    return this.#inbox.address
  }

  /** Nobody can be woken, and opening the inbox would not help. */
  get deaf(): boolean {
    return this.#inbox.deaf
  }

  ready(patienceMs: number): Promise<string | null> {
    return this.#inbox.ready(patienceMs)
  }

  watch(on: (event: StoreEvent) => void, prefix: string): Promise<AsyncDisposable> {
    return this.#watchers.add(on, prefix)
  }

  /** Before the question goes out with this address, since a message may overtake the answer. */
  asking(ask: Ask, address: string): void {
    if (ask.wake) this.#waiters.set(ask.id, { wake: ask.wake, address })
    this.#hold(ask, address)
  }

  granted(ask: Ask, address: string | null): void {
    this.#waiters.delete(ask.id)
    if (address === null) this.#hold(ask, null)
    if (this.address === null) this.#openSoon()
    else if (address !== this.address) void this.#register()
  }

  refused({ id, wake }: Ask, address: string | null): void {
    this.#holders.delete(id)
    if (!wake) return
    this.#waiters.set(id, { wake, address })
    if (this.address === null) this.#inbox.open()
    else if (address !== this.address) wake(0)
  }

  renewed(id: string, ttl: number): void {
    const holder = this.#holders.get(id)
    if (holder) holder.until = Math.max(holder.until, systemClock.monotonic() + ttl)
  }

  forget(id: string): void {
    this.#waiters.delete(id)
    this.#holders.delete(id)
  }

  async close(): Promise<void> {
    this.#cancelOpenSoon?.()
    this.#waiters.clear()
    this.#holders.clear()
    this.#watchers.clear()
    await this.#inbox.close()
  }

  #hold({ resource, id, ttl, lost }: Ask, address: string | null): void {
    const since = systemClock.monotonic()
    if (lost) this.#holders.set(id, { resource, id, lost, since, until: since + ttl, address })
  }

  /** Holders that let their leases run out do not say so. */
  #anybody(): boolean {
    const now = systemClock.monotonic()
    for (const { id, until } of this.#holders.values()) if (until < now) this.#holders.delete(id)
    return this.#waiters.size + this.#holders.size + this.#watchers.size > 0
  }

  /** Opens the inbox when the oldest lease has been held for a while. */
  #openSoon(): void {
    const [oldest] = this.#holders.values()
    if (!oldest || this.#cancelOpenSoon || this.address !== null) return
    const inMs = Math.max(0, oldest.since + LISTEN_AFTER_MS - systemClock.monotonic())
    this.#cancelOpenSoon = systemClock.setTimer(
      () => {
        this.#cancelOpenSoon = undefined
        if (this.#holders.has(oldest.id)) this.#inbox.open()
        else this.#openSoon()
      },
      inMs,
      true,
    )
  }

  #heard(payload: string): void {
    const [, inMs, waiter = ''] = /^wake (\d+) (.*)$/s.exec(payload) ?? []
    const [, holder = ''] = /^lost (.*)$/s.exec(payload) ?? []
    this.#waiters.get(waiter)?.wake(Number(inMs))
    this.#lose(holder)
  }

  #lose(id: string): void {
    const holder = this.#holders.get(id)
    this.#holders.delete(id)
    holder?.lost()
  }

  #opened(): void {
    this.#inbox.listener?.keepAlive(false)
    for (const { wake, address } of this.#waiters.values()) if (address !== this.address) wake(0)
    void this.#register()
    this.#watchers.reopened()
  }

  #checked(): void {
    void this.#register()
    this.#watchers.keepUp().catch(() => {})
  }

  /** Tells the tables where the holders hear, and the holders whether it is too late. */
  async #register(): Promise<void> {
    const { address } = this
    const holders = [...this.#holders.values()].filter((holder) => holder.address !== address)
    if (address === null || holders.length === 0) return
    try {
      const queries = await this.#queries()
      const gone = await queries.hear(holders, address)
      for (const holder of holders) holder.address = address
      for (const id of gone) this.#lose(id)
    } catch {
      // Tried again at the next check; until then a loss shows at the heartbeat.
    }
  }
}
