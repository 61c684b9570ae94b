/**
 * Tells what changed, whoever changed it. Every change makes a file in `changes` that is named after its resource,
 * and removes it when the change is done, so one watch on that directory hears of all of them. In case it hears
 * nothing (some mounts), listeners are also served by looking at everything about every second.
 */
import { type Clock, LeaseError, type LeaseRecord, type StoreEvent } from '../../core/index.ts'
import { liveRecord } from '../lease-row.ts'
import { DirectoryWatch } from './directory-watch.ts'
import { inBatches } from './in-batches.ts'
import type { Ledger, Position } from './ledger.ts'

interface Listener {
  readonly on: (event: StoreEvent) => void
  readonly prefix: string
}

export class Feed {
  readonly #ledger: Ledger
  readonly #clock: Clock
  readonly #watch: DirectoryWatch
  readonly #listeners = new Set<Listener>()
  /** How far the listeners were told, by key; complete once the baseline is. */
  readonly #told = new Map<string, Position>()
  #baseline: Promise<void> | undefined
  /** Leases that this process holds, by key and id, with whom to tell if another ends them. */
  readonly #holders = new Map<string, Map<string, () => void>>()
  readonly #looking = new Map<string, { again: boolean }>()
  #closed = false

  constructor(ledger: Ledger, clock: Clock) {
    this.#ledger = ledger
    this.#clock = clock
    this.#watch = new DirectoryWatch(ledger.changes, clock, {
      onName: (name) => this.#onChange(name),
      onBreak: () => this.#tell({ type: 'gap' }),
      onTick: (blind) => this.#lookAround(blind),
    })
  }

  async listen(on: (event: StoreEvent) => void, prefix: string): Promise<AsyncDisposable> {
    const listener = { on, prefix }
    const end = () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#baseline = undefined
      this.#told.clear()
    }
    await this.#ledger.prepare()
    if (this.#closed) throw new LeaseError('closed', 'this file store was closed')
    this.#watch.start()
    this.#listeners.add(listener)
    try {
      this.#baseline ??= this.#compareAll((key, at) => this.#told.set(key, at))
      await this.#baseline
    } catch (error) {
      end()
      throw error
    }
    return { [Symbol.asyncDispose]: async () => end() }
  }

  /** Calls `lost`, once, if another ends this lease. */
  follow(key: string, id: string, lost: () => void): void {
    if (this.#closed) return
    const holders = this.#holders.get(key) ?? new Map<string, () => void>()
    this.#holders.set(key, holders.set(id, lost))
    this.#watch.start()
  }

  /** Gives back whom to tell. */
  unfollow(key: string, id: string): (() => void) | undefined {
    const holders = this.#holders.get(key)
    const lost = holders?.get(id)
    holders?.delete(id)
    if (holders?.size === 0) this.#holders.delete(key)
    return lost
  }

  close(): void {
    this.#closed = true
    this.#watch.stop()
    this.#listeners.clear()
    this.#holders.clear()
  }

  #onChange(name: string): void {
    const key = name.slice(0, name.lastIndexOf('.'))
    const concernsHolder = this.#holders.has(key) && !this.#ledger.isOwn(name)
    if (this.#listeners.size > 0 || concernsHolder) void this.#look(key)
  }

  async #lookAround(blind: boolean): Promise<boolean> {
    try {
      if (blind) await this.#ledger.prepare()
      if (blind) for (const key of this.#holders.keys()) await this.#look(key)
      if (this.#listeners.size > 0) await this.#lookAtAll()
    } catch {
      // The directory cannot be read now; a later look will tell what was missed.
    }
    return this.#listeners.size > 0 || this.#holders.size > 0
  }

  async #lookAtAll(): Promise<void> {
    const gone = new Set(this.#told.keys())
    const changed: string[] = []
    await this.#compareAll((key, { incarnation, number }) => {
      const told = this.#told.get(key)
      gone.delete(key)
      if (told?.incarnation !== incarnation || told.number !== number) changed.push(key)
    })
    for (const key of [...gone, ...changed]) await this.#look(key)
  }

  async #compareAll(compare: (key: string, at: Position) => void): Promise<void> {
    const position = async (key: string) => ({ key, at: await this.#ledger.position(key) })
    for await (const { key, at } of inBatches(await this.#ledger.keys(), position)) if (at) compare(key, at)
  }

  /** One look at a key at a time; a change in the meantime means another look. */
  async #look(key: string): Promise<void> {
    const under = this.#looking.get(key)
    if (under) {
      under.again = true
      return
    }
    const look = { again: true }
    this.#looking.set(key, look)
    try {
      while (look.again) {
        look.again = false
        await this.#tellListeners(key)
        await this.#tellHolders(key)
      }
    } catch {
      // The next change or look will tell it.
    } finally {
      this.#looking.delete(key)
    }
  }

  async #tellListeners(key: string): Promise<void> {
    if (this.#listeners.size === 0) return
    await this.#baseline
    const news = await this.#ledger.since(key, this.#told.get(key))
    if (!news) {
      this.#told.delete(key)
      return
    }
    this.#told.set(key, news.at)
    for (const saved of news.saved) {
      if (!saved) this.#tell({ type: 'gap' })
      if (saved?.ended) this.#tellChange(saved.ended)
      const held = saved && liveRecord(saved.row, this.#clock.now())
      if (held) this.#tellChange(held)
    }
  }

  async #tellHolders(key: string): Promise<void> {
    // Those that were granted before the look: it may not see a later grant.
    const ids = [...(this.#holders.get(key)?.keys() ?? [])]
    if (ids.length === 0) return
    const entry = await this.#ledger.load(key, this.#clock.now())
    for (const id of ids) if (entry?.row.lease?.id !== id) this.unfollow(key, id)?.()
  }

  #tellChange(lease: LeaseRecord): void {
    this.#tell({ type: 'change', lease }, lease.resource)
  }

  #tell(event: StoreEvent, resource?: string): void {
    for (const { on, prefix } of this.#listeners) {
      if (resource !== undefined && !resource.startsWith(prefix)) continue
      try {
        on(event)
      } catch {
        // A listener that throws harms nobody else.
      }
    }
  }
}
