/**
 * Tells watchers and holders what has changed, whichever process changed it. Every change creates a file in
 * `changes` that is named after its resource, and removes it afterwards, so one watch on that directory notices all
 * changes. In case the watch notices nothing (as on some mounts), everything is also read about every second.
 */
import type { Stop } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import type { StoreEvent } from '../../core/index.ts'
import { shownRecords } from '../lease-row.ts'
import type { LocalListeners } from '../local/listeners.ts'
import { DirectoryWatch } from './directory-watch.ts'
import { inBatches } from './files.ts'
import type { LeaseDirectory, Position } from './lease-directory.ts'
import { keyOf } from './names.ts'

export class Push {
  readonly #directory: LeaseDirectory
  readonly #clock: Clock
  readonly #listeners: LocalListeners
  readonly #watch: DirectoryWatch
  /** By key: the last generation that the watchers were told of. Complete once the baseline is read. */
  readonly #told = new Map<string, Position>()
  #baseline: Promise<void> | undefined
  /** The keys that are being read. */
  readonly #reading = new Map<string, { again: boolean }>()
  #closed = false

  /** `listeners` know resources by their keys. */
  constructor(directory: LeaseDirectory, clock: Clock, listeners: LocalListeners) {
    this.#directory = directory
    this.#clock = clock
    this.#listeners = listeners
    this.#watch = new DirectoryWatch(directory.changes, clock, {
      onName: (name) => this.#onChange(name),
      onBreak: () => listeners.tellGap(),
      onTick: (isBlind) => this.#onTick(isBlind),
    })
  }

  /** After a grant: its holder may have to be told that another process ended the lease. */
  start(): void {
    if (!this.#closed && this.#listeners.isNeeded) this.#watch.start()
  }

  async watch(
    on: (event: StoreEvent) => void,
    prefix: string | undefined,
    stop: Stop,
  ): Promise<AsyncDisposable> {
    await this.#directory.prepare()
    stop.throwIfAborted()
    this.#watch.start()
    const watch = this.#listeners.watch(on, prefix)
    const end = async () => {
      await watch[Symbol.asyncDispose]()
      if (this.#listeners.isWatched) return
      this.#baseline = undefined
      this.#told.clear()
    }
    try {
      this.#baseline ??= this.#readPositions((key, position) => this.#told.set(key, position))
      await this.#baseline
      stop.throwIfAborted()
    } catch (error) {
      await end()
      throw error
    }
    return { [Symbol.asyncDispose]: end }
  }

  close(): void {
    this.#closed = true
    this.#watch.stop()
  }

  #onChange(name: string): void {
    const key = name.slice(0, name.lastIndexOf('.'))
    const concernsHolder = !this.#directory.isOwn(name) && this.#listeners.heldOn(key).length > 0
    if (this.#listeners.isWatched || concernsHolder) void this.#read(key)
  }

  /** Says whether the ticks should go on. */
  async #onTick(isBlind: boolean): Promise<boolean> {
    try {
      if (isBlind) await this.#directory.prepare()
      if (isBlind) for (const { resource } of this.#listeners.held()) await this.#read(keyOf(resource))
      if (this.#listeners.isWatched) await this.#readChanged()
    } catch {
      // The directory cannot be read now. A later tick will find what was missed.
    }
    return this.#listeners.isNeeded
  }

  async #readChanged(): Promise<void> {
    const gone = new Set(this.#told.keys())
    const changed: string[] = []
    await this.#readPositions((key, { incarnation, number }) => {
      const told = this.#told.get(key)
      gone.delete(key)
      if (told?.incarnation !== incarnation || told.number !== number) changed.push(key)
    })
    for (const key of [...gone, ...changed]) await this.#read(key)
  }

  async #readPositions(onPosition: (key: string, position: Position) => void): Promise<void> {
    const read = async (key: string) => ({ key, position: await this.#directory.position(key) })
    for await (const { key, position } of inBatches(await this.#directory.keys(), read))
      if (position) onPosition(key, position)
  }

  /** Reads a key once at a time, and once more if it changed meanwhile. */
  async #read(key: string): Promise<void> {
    const running = this.#reading.get(key)
    if (running) {
      running.again = true
      return
    }
    const reading = { again: true }
    this.#reading.set(key, reading)
    try {
      while (reading.again) {
        reading.again = false
        await this.#tellWatchers(key)
        await this.#tellHolders(key)
      }
    } catch {
      // The next change or tick will read it again.
    } finally {
      this.#reading.delete(key)
    }
  }

  async #tellWatchers(key: string): Promise<void> {
    if (!this.#listeners.isWatched) return
    await this.#baseline
    const news = await this.#directory.since(key, this.#told.get(key))
    if (!news) {
      this.#told.delete(key)
      return
    }
    this.#told.set(key, news.position)
    for (const saved of news.saved) {
      if (!saved) {
        this.#listeners.tellGap()
        continue
      }
      const shown = shownRecords(saved.row, this.#clock.now())
      const ended = new Set(saved.ended.map(({ token }) => token))
      const kept = shown.filter(({ state, token }) => state === 'kept' && ended.has(token))
      const changed = shown.filter(({ state, id }) => state === 'held' && saved.changed.includes(id))
      for (const lease of [...saved.ended, ...kept, ...changed]) this.#listeners.tellChange(lease)
    }
  }

  async #tellHolders(key: string): Promise<void> {
    // Only leases that were granted before the read: it may have missed a later grant.
    const held = this.#listeners.heldOn(key)
    if (held.length === 0) return
    const loaded = await this.#directory.load(key, this.#clock.now())
    const ids = loaded?.row.leases.filter(({ keptUntil }) => keptUntil === undefined).map(({ id }) => id)
    for (const { id, token } of held) if (!ids?.includes(id)) this.#listeners.ended(id, token)
  }
}
