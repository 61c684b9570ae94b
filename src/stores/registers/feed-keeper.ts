import { systemClock } from '../../core/index.ts'
import type { Entry, Feed, Registers } from './port.ts'

/** How long the feed stays open after the last need of it, so that a loop of short leases does not reopen it. */
const LINGER_MS = 1000
const REOPEN_MS = { first: 250, longest: 10_000 }

export interface FeedUser<E> extends Pick<Feed<E>, 'changed' | 'gone'> {
  isNeeded(): boolean
  /** `missed`: there was one before, which broke; what happened in between was not told. */
  opened(missed: boolean): void
}

/** Keeps one feed of all changes open while it is needed, and opens it anew when it breaks. */
export class FeedKeeper<E extends Entry> {
  readonly #registers: Registers<E>
  readonly #user: FeedUser<E>
  #feed: { readonly stop: AbortController; readonly opened: Promise<void> } | undefined
  #missed = false
  #failures = 0
  #cancelTimer: () => void = () => {}

  constructor(registers: Registers<E>, user: FeedUser<E>) {
    this.#registers = registers
    this.#user = user
  }

  open(): Promise<void> {
    this.#cancelTimer()
    this.#feed ??= this.#openFeed()
    return this.#feed.opened
  }

  /** To be called when a need has ended. */
  closeSoon(): void {
    if (!this.#user.isNeeded()) this.#setTimer(() => this.#closeFeed(), LINGER_MS)
  }

  close(): void {
    this.#cancelTimer()
    this.#closeFeed()
  }

  #openFeed() {
    const stop = new AbortController()
    const unlessStopped =
      <A extends unknown[]>(act: (...args: A) => void) =>
      (...args: A) => {
        if (!stop.signal.aborted) act(...args)
      }
    const feed: Feed<E> = {
      changed: unlessStopped((entry) => this.#user.changed(entry)),
      gone: unlessStopped((name) => this.#user.gone(name)),
      ended: unlessStopped(() => this.#reopen()),
    }
    const opened = this.#registers.watch(feed, stop.signal)
    opened.then(
      unlessStopped(() => this.#opened()),
      unlessStopped(() => {
        this.#failures++
        this.#reopen()
      }),
    )
    return { stop, opened }
  }

  #opened(): void {
    const missed = this.#missed
    this.#missed = false
    this.#failures = 0
    this.#user.opened(missed)
  }

  #reopen(): void {
    this.#missed = true
    this.#closeFeed()
    if (!this.#user.isNeeded()) return
    const { first, longest } = REOPEN_MS
    const pause = this.#failures === 0 ? 0 : Math.min(longest, first * 2 ** (this.#failures - 1))
    this.#setTimer(() => this.open().catch(() => {}), pause)
  }

  #closeFeed(): void {
    this.#feed?.stop.abort()
    this.#feed = undefined
  }

  #setTimer(run: () => void, ms: number): void {
    this.#cancelTimer()
    this.#cancelTimer = systemClock.setTimer(run, ms, true)
  }
}
