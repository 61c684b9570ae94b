import { type Clock, systemClock } from '../../../src/core/index.ts'

/** The real clock, set forward or back: file operations take real time, but nobody has to wait for a TTL. */
export class MovedClock implements Clock {
  /** May be replaced. */
  random = (): number => systemClock.random()
  #wall = 0
  #monotonic = 0

  now(): number {
    return systemClock.now() + this.#wall
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#monotonic
  }

  setTimer(run: () => void, ms: number, background?: boolean): () => void {
    return systemClock.setTimer(run, ms, background)
  }

  /** Time passes. */
  pass(ms: number): void {
    this.#wall += ms
    this.#monotonic += ms
  }

  /** Somebody sets the wall clock. */
  jump(ms: number): void {
    this.#wall += ms
  }
}
