/**
 * Tells what changed, whoever changed it. Every change makes a file in `changes` that is named after its resource,
 * and removes it when the change is done, so one `fs.watch` on that directory hears of all of them. A watch may
 * miss something, or hear nothing at all (some mounts), so listeners are also served by looking every second or so.
 */
import { type FSWatcher, watch } from 'node:fs'
import { basename } from 'node:path'
import type { Clock, LeaseRecord, StoreEvent } from '../../core/index.ts'
import { liveRecord } from '../lease-row.ts'
import { inBatches } from './in-batches.ts'
import type { Ledger, Position } from './ledger.ts'

const POLL_MS = 1000
/** Looking at everything may take one part in so many of the time. */
const POLL_SHARE = 20

interface Listener {
  readonly on: (event: StoreEvent) => void
  readonly prefix: string
}

export class Feed {
  readonly #ledger: Ledger
  readonly #clock: Clock
  readonly #listeners = new Set<Listener>()
  /** Leases that this process holds, by key and id, with whom to tell if another ends them. */
  readonly #holders = new Map<string, Map<string, () => void>>()
  /** How far the listeners were told, by key. */
  readonly #told = new Map<string, Position>()
  readonly #looking = new Map<string, { again: boolean }>()
  #watcher: FSWatcher | undefined
  #cancelTimer: (() => void) | undefined
  #baseline: Promise<void> | undefined

  constructor(ledger: Ledger, clock: Clock) {
    this.#ledger = ledger
    this.#clock = clock
  }

  async listen(on: (event: StoreEvent) => void, prefix: string): Promise<AsyncDisposable> {
    const listener = { on, prefix }
    await this.#ledger.prepare()
    this.#open()
    this.#listeners.add(listener)
    this.#baseline ??= this.#compareAll((key, at) => this.#told.set(key, at))
    try {
      await this.#baseline
    } catch (error) {
      this.#listeners.delete(listener)
      this.#shut()
      throw error
    }
    return {
      [Symbol.asyncDispose]: async () => {
        this.#listeners.delete(listener)
      },
    }
  }

  /** Calls `lost`, once, if another ends this lease. */
  follow(key: string, id: string, lost: () => void): void {
    const holders = this.#holders.get(key) ?? new Map<string, () => void>()
    this.#holders.set(key, holders.set(id, lost))
    this.#open()
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
    this.#listeners.clear()
    this.#holders.clear()
    this.#shut()
  }

  #open(): void {
    this.#watcher ??= this.#startWatcher()
    this.#cancelTimer ??= this.#clock.setTimer(() => void this.#tick(), POLL_MS, true)
  }

  #startWatcher(): FSWatcher | undefined {
    try {
      const watcher = watch(this.#ledger.changes, { persistent: false }, (_, name) => this.#onEvent(name))
      return watcher.on('error', () => this.#onInterrupted())
    } catch {
      // No directory yet, or no watch to be had: looking has to do.
      return undefined
    }
  }

  #onEvent(name: string | null): void {
    if (name === null) return
    const key = name.slice(0, name.lastIndexOf('.'))
    if (name === basename(this.#ledger.changes)) this.#onInterrupted()
    else if (this.#listeners.size > 0) void this.#look(key)
    else if (this.#holders.has(key) && !this.#ledger.isOwn(name)) void this.#look(key)
  }

  /** The watched directory was removed or replaced. */
  #onInterrupted(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    this.#tell({ type: 'gap' }, null)
  }

  async #tick(): Promise<void> {
    if (this.#listeners.size === 0 && this.#holders.size === 0) return this.#shut()
    const started = this.#clock.monotonic()
    const blind = !this.#watcher
    try {
      if (blind) {
        await this.#ledger.prepare()
        this.#watcher = this.#startWatcher()
        for (const key of this.#holders.keys()) await this.#look(key)
      }
      if (this.#listeners.size > 0) await this.#lookAtAll()
    } catch {
      // The directory cannot be read now; the next look will tell what was missed.
    }
    if (!this.#cancelTimer) return
    const pause = Math.max(POLL_MS, (this.#clock.monotonic() - started) * POLL_SHARE)
    this.#cancelTimer = this.#clock.setTimer(() => void this.#tick(), pause, true)
  }

  #shut(): void {
    this.#cancelTimer?.()
    this.#watcher?.close()
    this.#cancelTimer = undefined
    this.#watcher = undefined
    this.#baseline = undefined
    this.#told.clear()
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

  /** One look at a key at a time; an event in the meantime means another look. */
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
      // The next event or look will tell it.
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
      if (!saved) this.#tell({ type: 'gap' }, null)
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

  #tell(event: StoreEvent, resource: string | null): void {
    for (const { on, prefix } of this.#listeners) {
      if (resource !== null && !resource.startsWith(prefix)) continue
      try {
        on(event)
      } catch {
        // A listener that throws harms nobody else.
      }
    }
  }
}
