import { type Clock, systemClock } from '../../src/core/index.ts'

/** The system's clock, on which a test lets time pass at once. Timers that are due by then run right away. */
export class PassingClock implements Clock {
  #passed = 0
  /** Each sets its timer again, for what is left of it. */
  readonly #timers = new Set<() => void>()

  now(): number {
    return Math.floor(systemClock.now() + this.#passed)
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#passed
  }

  random(): number {
    return systemClock.random()
  }

  setTimer(run: () => void, ms: number, background?: boolean): () => void {
    const dueAt = this.monotonic() + ms
    let cancel = () => {}
    const arm = () => {
      cancel()
      const left = Math.max(0, dueAt - this.monotonic())
      cancel = systemClock.setTimer(onDue, left, background)
    }
    const onDue = () => {
      this.#timers.delete(arm)
      run()
    }
    this.#timers.add(arm)
    arm()
    return () => {
      this.#timers.delete(arm)
      cancel()
    }
  }

  pass(ms: number): void {
    this.#passed += ms
    for (const arm of this.#timers) arm()
  }
}
