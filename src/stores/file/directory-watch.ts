import { type FSWatcher, watch } from 'node:fs'
import { basename } from 'node:path'
import type { Clock } from '../../core/index.ts'

const TICK_MS = 1000
/** The work of a tick may take one part in so many of the time. */
const TICK_SHARE = 20

export interface DirectoryWatchListener {
  /** Something with this name came or went. */
  onName(name: string): void
  /** The directory was removed or replaced: something may have been missed. */
  onBreak(): void
  /** Regularly. `blind`: nothing was heard since the last time. False: the watch may end. */
  onTick(blind: boolean): Promise<boolean>
}

/** One `fs.watch` on a directory, begun anew when it breaks, and a regular look in case it hears nothing. */
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
    this.#listen()
    this.#cancelTimer ??= this.#clock.setTimer(() => void this.#tick(), TICK_MS, true)
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#watcher?.close()
    this.#cancelTimer = undefined
    this.#watcher = undefined
  }

  #listen(): void {
    try {
      this.#watcher ??= watch(this.#directory, { persistent: false }, (_, name) => this.#onEvent(name))
        // A watch that cannot go on is begun anew.
        .on('error', () => this.#break())
    } catch {
      // No such directory, or no watch to be had: the ticks have to do.
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
    const blind = !this.#watcher
    this.#listen()
    const goOn = await this.#listener.onTick(blind)
    if (!this.#cancelTimer) return
    if (!goOn) return this.stop()
    const pause = Math.max(TICK_MS, (this.#clock.monotonic() - started) * TICK_SHARE)
    this.#cancelTimer = this.#clock.setTimer(() => void this.#tick(), pause, true)
  }
}
