import { refuse } from '../base/arguments.ts'
import { type Duration, millisOf } from '../base/duration.ts'
import type { Clock } from '../core/index.ts'
import { STARTED_MS } from './options.ts'

/** A read takes a nanosecond, so that two reads never return the same time. */
const READ_MS = 1e-6
/** Sums of fractions are rounded. A timer that is due within this time is due. */
const ROUNDING_MS = 1e-3
/** Its milliseconds do not begin at the same moment as those of the monotonic time. */
const WALL_PHASE_MS = 0.4

/**
 * A clock that stands still until it is told to move, for tests that own their time. It is like the clock of a machine:
 * the monotonic time has fractions and goes on by a nanosecond with each read; the wall time is in whole milliseconds.
 *
 * @example
 * const clock = new FakeClock()
 * const leases = createLeases(memoryStore({ clock }), { clock })
 * await clock.advance('30s')
 */
export class FakeClock implements Clock {
  /** What it was told to move. */
  #passed = STARTED_MS
  /** What its reads have taken. It comes on top, so that an advance by 30 s has room for three timers of 10 s. */
  #read = 0
  /** The wall time at monotonic time 0. */
  #origin: number
  readonly #timers = new Set<{ readonly at: number; readonly run: () => void }>()

  constructor(now = Date.UTC(2030, 0, 1)) {
    if (!Number.isFinite(now)) refuse('now', 'milliseconds since 1970', now)
    this.#origin = now + WALL_PHASE_MS - STARTED_MS
  }

  now(): number {
    return Math.floor(this.#origin + this.monotonic())
  }

  monotonic(): number {
    this.#read += READ_MS
    return this.#time
  }

  random(): number {
    return 0.5
  }

  setTimer(run: () => void, ms: number): () => void {
    const timer = { at: this.#time + Math.max(0, ms), run }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** How many timers are set. */
  get pending(): number {
    return this.#timers.size
  }

  /** Lets time pass, runs what falls due in its order, and lets promises settle in between. */
  async advance(by: Duration): Promise<void> {
    const ms = millisecondsOf('by', by)
    if (ms < 0) refuse('by', 'a time that is not negative (jump sets the wall clock back)', by)
    const target = this.#passed + ms
    await settled()
    for (;;) {
      const dueBy = target + this.#read + ROUNDING_MS
      const next = [...this.#timers].filter((timer) => timer.at <= dueBy).sort((a, b) => a.at - b.at)[0]
      if (!next) break
      this.#timers.delete(next)
      this.#passed = Math.max(next.at - this.#read, this.#passed)
      next.run()
      await settled()
    }
    // A longer call at the same time may have gone further.
    this.#passed = Math.max(target, this.#passed)
    await settled()
  }

  /** Sets the wall clock forward or back; monotonic time and timers do not notice, as after a machine's sleep. */
  jump(by: Duration): void {
    this.#origin += millisecondsOf('by', by)
  }

  get #time(): number {
    return this.#passed + this.#read
  }
}

/** Unlike the options of a program, a test may move time by fractions of a millisecond. */
function millisecondsOf(option: string, by: Duration): number {
  const ms = millisOf(by)
  return Number.isFinite(ms) ? ms : refuse(option, "milliseconds, or text such as '30s'", by)
}

/** Resolves when all promises that can settle without time passing have done so. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve)
    else setTimeout(resolve)
  })
}
