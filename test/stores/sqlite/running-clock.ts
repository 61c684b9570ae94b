import { FakeClock } from '../../../src/testing/index.ts'

const TICK_MS = 10

/** A fake clock that also runs by itself, because stores notice each other's changes by a timer. */
export class RunningClock extends FakeClock {
  /** How much faster than real time it runs. */
  speed = 1
  #turn: Promise<void> = Promise.resolve()
  readonly #ticking = setInterval(() => this.advance(TICK_MS * this.speed), TICK_MS)

  override advance(ms: number): Promise<void> {
    this.#turn = this.#turn.then(() => super.advance(ms))
    return this.#turn
  }

  stop(): void {
    clearInterval(this.#ticking)
  }
}
