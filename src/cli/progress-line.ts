import type { Clock } from '../base/clock.ts'
import { PROGRESS_EVERY_MS } from './options.ts'

/** One line on a terminal that says what a command does and for how long, if that takes longer than a second. */
export class ProgressLine {
  readonly #write: (text: string) => void
  readonly #clock: Clock
  #step = ''
  #startedAt = 0
  #isDrawn = false
  #cancel = () => {}

  constructor(write: (text: string) => void, clock: Clock) {
    this.#write = write
    this.#clock = clock
  }

  /** What the command does now. Empty: nothing that takes time. */
  show(step: string): void {
    if (this.#step === '') this.#startedAt = this.#clock.monotonic()
    this.#step = step
    this.#cancel()
    if (step === '') this.clear()
    else {
      if (this.#isDrawn) this.#draw()
      this.#drawLater()
    }
  }

  /** Something else is printed now. */
  clear(): void {
    if (this.#isDrawn) this.#write('\r\x1b[K')
    this.#isDrawn = false
  }

  #drawLater(): void {
    this.#cancel = this.#clock.setTimer(
      () => {
        this.#draw()
        this.#drawLater()
      },
      PROGRESS_EVERY_MS,
      true,
    )
  }

  #draw(): void {
    const seconds = Math.floor((this.#clock.monotonic() - this.#startedAt) / 1000)
    this.#write(`\r\x1b[K${this.#step} (${seconds} s)`)
    this.#isDrawn = true
  }
}
