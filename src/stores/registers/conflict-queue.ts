import type { Stop } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { pauseUntilAborted } from '../../base/pause.ts'
import { DOUBLINGS, LONGEST_PAUSE_MS, TURN_LIMIT_MS } from './options.ts'

/**
 * Of several writes to one register at once only one succeeds. Repeated at once, the writes of 50 holders would take
 * 1 275 attempts. So the calls of one store that met a conflict take turns, and between processes they pause by chance.
 */
export class ConflictQueue {
  readonly #clock: Clock
  /** By the name of the register: when the turn of the last one ends. */
  readonly #last = new Map<string, Promise<unknown>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `work` is told whether another call came before it. */
  async take<T>(name: string, work: (hasWaited: boolean) => Promise<T>): Promise<T> {
    const before = this.#last.get(name)
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    this.#last.set(name, ended)
    await before
    const cancel = this.#clock.setTimer(end, TURN_LIMIT_MS, true)
    try {
      return await work(before !== undefined)
    } finally {
      cancel()
      end()
      if (this.#last.get(name) === ended) this.#last.delete(name)
    }
  }

  /** After several conflicts. `took`: how long the last attempt took, in milliseconds. Resolves with whether it paused. */
  async pause(conflicts: number, took: number, stop: Stop): Promise<boolean> {
    const longest = Math.min(took * 2 ** Math.min(conflicts, DOUBLINGS), LONGEST_PAUSE_MS)
    const ms = Math.floor(longest * this.#clock.random())
    if (ms > 0) await pauseUntilAborted(this.#clock, ms, stop.signal)
    return ms > 0
  }
}
