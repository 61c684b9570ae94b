import type { Stop } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { BUSY_LIMIT_MS } from '../../clients/options.ts'
import { busyPauseMs } from '../../clients/sqlite.ts'
import { isBusy } from '../../clients/sqlite-errors.ts'
import { RUN_AT_ONCE } from './options.ts'

interface WaitingCall {
  readonly stop: Stop
  /** Throws only if the database is still busy and the call may wait longer. */
  run(): void
  reject(error: unknown): void
}

/**
 * Runs work on the database, at once if it can. While another connection writes, or the application has a
 * transaction open on ours, calls wait here in their order, and only the first one tries again, by a timer.
 * SQLite's own busy timeout would block the event loop instead.
 */
export class BusyQueue {
  readonly #clock: Clock
  readonly #waiting: WaitingCall[] = []
  #tries = 0
  #cancelTimer: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** For calls that write: after those that came before. */
  write<T>(work: () => T, stop: Stop): T | Promise<T> {
    return this.#waiting.length > 0 ? this.#wait(work, stop) : this.read(work, stop)
  }

  /** For calls that read: another connection that writes does not keep them out. */
  read<T>(work: () => T, stop: Stop): T | Promise<T> {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error)) throw error
      return this.#wait(work, stop)
    }
  }

  /** Rejects the calls that wait and whose callers have gone. */
  dropAborted(): void {
    for (const call of this.#waiting.splice(0)) {
      const { reason } = call.stop
      if (reason) call.reject(reason)
      else this.#waiting.push(call)
    }
    if (this.#waiting.length > 0) return
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #wait<T>(work: () => T, stop: Stop): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const giveUpAt = this.#clock.monotonic() + BUSY_LIMIT_MS
    const run = () => {
      if (stop.reason) return reject(stop.reason)
      try {
        resolve(work())
      } catch (error) {
        if (isBusy(error) && this.#clock.monotonic() < giveUpAt) throw error
        reject(error)
      }
    }
    this.#waiting.push({ stop, run, reject })
    this.#retryLater()
    return promise
  }

  #retryLater(): void {
    this.#cancelTimer ??= this.#clock.setTimer(() => this.#retry(), busyPauseMs(this.#clock, this.#tries))
  }

  #retry(): void {
    this.#cancelTimer = undefined
    this.#tries++
    for (let calls = 0; calls < RUN_AT_ONCE && this.#waiting[0]; calls++) {
      try {
        this.#waiting[0].run()
      } catch {
        break
      }
      this.#waiting.shift()
      this.#tries = 0
    }
    if (this.#waiting.length > 0) this.#retryLater()
  }
}
