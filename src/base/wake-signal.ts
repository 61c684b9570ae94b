import { onAbort } from './abort.ts'
import type { Clock } from './clock.ts'

/**
 * Wakes one waiter. A wake-up is kept: one that comes before the sleep has begun, while the request is still under
 * way, ends that sleep at once.
 */
export class WakeSignal {
  readonly #clock: Clock
  #due = Infinity
  #rearm: () => void = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  wake(inMs = 0): void {
    this.#due = Math.min(this.#due, this.#clock.monotonic() + inMs)
    this.#rearm()
  }

  /** Forgets earlier wake-ups. Call it just before a request: the answer covers what they announced. */
  reset(): void {
    this.#due = Infinity
  }

  /** Sleeps for `ms`, or less if it is woken. Rejects with the reason of `stop` when that aborts. */
  async sleep(ms: number, stop: AbortSignal): Promise<void> {
    const unlisten = onAbort(stop, () => this.wake())
    let cancel = () => {}
    this.wake(ms)
    await new Promise<void>((resolve) => {
      this.#rearm = () => {
        cancel()
        const left = this.#due - this.#clock.monotonic()
        // A timer would take at least a millisecond.
        if (left > 0) cancel = this.#clock.setTimer(resolve, left)
        else resolve()
      }
      this.#rearm()
    })
    this.#rearm = () => {}
    cancel()
    unlisten()
    stop.throwIfAborted()
  }
}
