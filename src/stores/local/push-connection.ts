import { Stop } from '../../base/abort.ts'
import { answerWithin, settledWithin } from '../../base/answer-within.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { asLeaseError, LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import type { LocalListeners } from './listeners.ts'
import {
  CLOSE_PUSH_LIMIT_MS,
  OPEN_FOR_HOLDER_MS,
  OPEN_LIMIT_MS,
  PUSH_IDLE_MS,
  REOPEN_AFTER_FINAL_ERROR_MS,
  REOPEN_MS,
} from './options.ts'

/** How to open and close the connection, and whether anybody needs it. */
export interface PushConnectionOptions<C> {
  readonly clock?: Clock | undefined
  /**
   * `broken` may be called at any time afterwards, also before the promise has settled. `stop` aborts when the attempt
   * is given up: after 10 s, or because the store was closed. Free then what is half open. A connection that opens all
   * the same is closed.
   */
  open(broken: () => void, stop: AbortSignal): Promise<C>
  close(connection: C): unknown
  /** Whether anybody waits, holds or watches. */
  isNeeded(): boolean
  /** `missed`: an earlier connection broke, so messages may be missing. */
  opened(connection: C, missed: boolean): void
}

/**
 * The one connection on which a store listens:
 *
 *     closed ──open──▶ opening ──▶ open ──not needed for a while──▶ closed
 *                         ▲          │
 *                         └─ pause ──┴── broken
 */
export class PushConnection<C> {
  readonly #options: PushConnectionOptions<C>
  readonly #clock: Clock
  #connection: C | undefined
  #opening: Promise<C> | undefined
  /** Ends the attempt that is under way. */
  #attempt = new Stop()
  /** Why the last attempt failed, if a retry cannot help for a while. */
  #finalError: { readonly error: LeaseError; readonly until: number } | undefined
  #failures = 0
  #missed = false
  #used = false
  #closed = false
  #cancelTimer: (() => void) | undefined

  constructor(options: PushConnectionOptions<C>) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  get connection(): C | undefined {
    return this.#connection
  }

  /** Opens it now, or joins the attempt that is under way. Rejects if that fails; it then retries while needed. */
  open(): Promise<C> {
    this.#used = true
    if (this.#connection !== undefined) return Promise.resolve(this.#connection)
    if (this.#finalError && this.#clock.monotonic() < this.#finalError.until)
      return Promise.reject(this.#finalError.error)
    if (this.#closed) return Promise.reject(closedError())
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  /** Opens it later if it is needed then. */
  openIn(ms: number, isNeeded = this.#options.isNeeded): void {
    this.#used = true
    const isIdle = this.#connection === undefined && !this.#opening && !this.#cancelTimer
    if (isIdle && !this.#closed) this.#setTimer(ms, () => this.#openIfNeeded(isNeeded))
  }

  /** Opens it when a lease is held for a while. Most are released before a connection would pay off. */
  openForHolder(lease: LeaseRecord, listeners: LocalListeners): void {
    this.openIn(OPEN_FOR_HOLDER_MS, () => {
      if (listeners.holds(lease)) return true
      const [oldest] = listeners.held()
      if (oldest) this.openForHolder(oldest, listeners)
      return false
    })
  }

  /** The connection is dead, as a check has found. */
  drop(connection: C): void {
    if (this.#connection !== connection) return
    this.#missed = true
    this.#shut()
    if (this.#options.isNeeded()) this.#retryLater()
  }

  /** Closes it now if nobody needs it, instead of after a while. It may be opened again. */
  async closeIfUnneeded(): Promise<void> {
    if (!this.#options.isNeeded()) await this.#shutWithin()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#attempt.abort(closedError())
    await this.#shutWithin()
  }

  async #open(): Promise<C> {
    this.#clearTimer()
    const attempt = new Stop()
    this.#attempt = attempt
    let connection: C | undefined
    let isBroken = false
    const opening = this.#options.open(() => {
      isBroken = true
      if (connection !== undefined) this.drop(connection)
    }, attempt.signal)
    try {
      // The limit alone keeps no process alive.
      const clock: Pick<Clock, 'setTimer'> = { setTimer: (run, ms) => this.#clock.setTimer(run, ms, true) }
      connection = await answerWithin(opening, OPEN_LIMIT_MS, { clock }, undefined, attempt)
      if (isBroken) throw new LeaseError('store-unavailable', 'the connection broke while it was opened')
      attempt.throwIfAborted()
    } catch (error) {
      attempt.abort(asLeaseError(error))
      // Also if it opens later.
      opening.then(
        (unwanted) => this.#end(unwanted),
        () => {},
      )
      this.#failures++
      const isFinal = error instanceof LeaseError && error.code === 'store-failed'
      this.#finalError = isFinal
        ? { error, until: this.#clock.monotonic() + REOPEN_AFTER_FINAL_ERROR_MS }
        : undefined
      if (!this.#closed && this.#options.isNeeded()) this.#retryLater()
      throw error
    }
    this.#connection = connection
    this.#failures = 0
    this.#finalError = undefined
    const missed = this.#missed
    this.#missed = false
    this.#closeWhenIdle()
    this.#options.opened(connection, missed)
    return connection
  }

  #retryLater(): void {
    const ms = this.#finalError
      ? REOPEN_AFTER_FINAL_ERROR_MS
      : (REOPEN_MS[Math.min(this.#failures, REOPEN_MS.length - 1)] ?? 0)
    this.#setTimer(ms, () => this.#openIfNeeded())
  }

  #openIfNeeded(isNeeded = this.#options.isNeeded): void {
    if (isNeeded()) this.open().catch(() => {})
  }

  #closeWhenIdle(): void {
    this.#setTimer(PUSH_IDLE_MS, () => {
      const isIdle = !this.#used && !this.#options.isNeeded()
      this.#used = false
      if (isIdle) this.#shut()
      else this.#closeWhenIdle()
    })
  }

  #clearTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #setTimer(ms: number, run: () => void): void {
    this.#clearTimer()
    this.#cancelTimer = this.#clock.setTimer(
      () => {
        this.#cancelTimer = undefined
        run()
      },
      ms,
      true,
    )
  }

  async #shutWithin(): Promise<void> {
    const closing = this.#shut()
    if (closing) await settledWithin(closing, CLOSE_PUSH_LIMIT_MS, this.#clock)
  }

  #shut(): Promise<void> | undefined {
    this.#clearTimer()
    const connection = this.#connection
    this.#connection = undefined
    return connection === undefined ? undefined : this.#end(connection)
  }

  async #end(connection: C): Promise<void> {
    try {
      await this.#options.close(connection)
    } catch {
      // It is not used any more.
    }
  }
}

function closedError(): LeaseError {
  return new LeaseError('closed', 'the connection was closed')
}
