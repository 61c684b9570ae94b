import { type FSWatcher, watch } from 'node:fs'
import { basename } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { PAUSE_PER_TICK, TICK_MS } from './options.ts'

export interface DirectoryWatchListener {
  /** A file with this name was created or removed. */
  onName(name: string): void
  /** The directory was removed or replaced, so changes may have been missed. */
  onBreak(): void
  /** Called regularly. `isBlind`: there was no watch since the last tick. Returns false if the watch may end. */
  onTick(isBlind: boolean): Promise<boolean>
}

/** One `fs.watch` on a directory, which is started again when it breaks, and ticks in case it notices nothing. */
export class DirectoryWatch {
  readonly #directory: string
  readonly #clock: Clock
  readonly #listener: DirectoryWatchListener
  #watcher: FSWatcher | undefined
  #cancelTimer: (() => void) | undefined

  constructor(directory: string, clock: Clock, listener: DirectoryWatchListener) {
    this.#directory = directory
    this.#clock = clock
    this.#listener = listener
  }

  start(): void {
    this.#watch()
    this.#cancelTimer ??= this.#clock.setTimer(() => void this.#tick(), TICK_MS, true)
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#watcher?.close()
    this.#cancelTimer = undefined
    this.#watcher = undefined
  }

  #watch(): void {
    try {
      this.#watcher ??= watch(this.#directory, { persistent: false }, (_, name) => this.#onEvent(name))
        // The next tick starts a new watch.
        .on('error', () => this.#break())
    } catch {
      // The directory is missing, or the system allows no more watches. The ticks serve instead.
    }
  }

  #onEvent(name: string | null): void {
    if (name === basename(this.#directory)) this.#break()
    else if (name !== null) this.#listener.onName(name)
  }

  #break(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    this.#listener.onBreak()
  }

  async #tick(): Promise<void> {
    const started = this.#clock.monotonic()
    const isBlind = !this.#watcher
    this.#watch()
    const isNeeded = await this.#listener.onTick(isBlind)
    if (!this.#cancelTimer) return
    if (!isNeeded) return this.stop()
    const pause = Math.max(TICK_MS, (this.#clock.monotonic() - started) * PAUSE_PER_TICK)
    this.#cancelTimer = this.#clock.setTimer(() => void this.#tick(), pause, true)
  }
}
