import type { Moment } from '../../../src/base/clock.ts'
import { type Clock, systemClock } from '../../../src/core/index.ts'

/** The real clock, set forward or back: file operations take real time, but nobody has to wait for a TTL. */
export class MovedClock implements Clock {
  /** May be replaced. */
  random = (): number => systemClock.random()
  #wall = 0
  #monotonic = 0
  #stopped: Moment | undefined

  now(): number {
    return (this.#stopped?.wall ?? systemClock.now()) + this.#wall
  }

  monotonic(): number {
    return (this.#stopped?.mono ?? systemClock.monotonic()) + this.#monotonic
  }

  setTimer(run: () => void, ms: number, background?: boolean): () => void {
    return systemClock.setTimer(run, ms, background)
  }

  /** From now on time passes only by `pass`. */
  stop(): void {
    this.#stopped = { wall: systemClock.now(), mono: systemClock.monotonic() }
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
