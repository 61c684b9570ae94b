import type { Clock } from '../core/index.ts'

/**
 * A clock that stands still until it is told to move, for tests that own their time.
 *
 * @example
 * const clock = new FakeClock()
 * const leases = createLeases(memoryStore({ clock }), { clock })
 * await clock.advance(30_000)
 */
export class FakeClock implements Clock {
  #now: number
  #monotonic = 0
  readonly #timers = new Set<{ readonly at: number; readonly run: () => void }>()

  constructor(now = Date.UTC(2030, 0, 1)) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#monotonic
  }

  random(): number {
    return 0.5
  }

  setTimer(run: () => void, ms: number): () => void {
    const timer = { at: this.#monotonic + Math.max(0, ms), run }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** How many timers are set. */
  get pending(): number {
    return this.#timers.size
  }

  /** Lets time pass, runs what falls due in its order, and lets promises settle in between. */
  async advance(ms: number): Promise<void> {
    const target = this.#monotonic + ms
    await settled()
    for (;;) {
      const next = [...this.#timers].filter((timer) => timer.at <= target).sort((a, b) => a.at - b.at)[0]
      if (!next) break
      this.#timers.delete(next)
      this.#moveTo(Math.max(next.at, this.#monotonic))
      next.run()
      await settled()
    }
    // A longer call at the same time may have gone further.
    this.#moveTo(Math.max(target, this.#monotonic))
    await settled()
  }

  /** Sets the wall clock forward or back; monotonic time and timers do not notice, as after a machine's sleep. */
  jump(ms: number): void {
    this.#now += ms
  }

  #moveTo(monotonic: number): void {
    this.#now += monotonic - this.#monotonic
    this.#monotonic = monotonic
  }
}

/** Resolves when all promises that can settle without time passing have done so. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve)
    else setTimeout(resolve)
  })
}
