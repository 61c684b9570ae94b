/** After an update, the page rests for the time that the update took, times this factor. */
const REST = 3

/**
 * Turns thousands of changes per second into updates that the machine can draw: one per frame while they are cheap,
 * fewer when the list is long.
 */
export class UpdatePace {
  readonly #update: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #frame = 0
  #restUntil = 0

  constructor(update: () => void) {
    this.#update = update
  }

  updateSoon(): void {
    if (this.#timer !== undefined || this.#frame !== 0) return
    const rest = this.#restUntil - performance.now()
    if (rest > 0) this.#timer = setTimeout(() => this.#inNextFrame(), rest)
    else this.#inNextFrame()
  }

  close(): void {
    clearTimeout(this.#timer)
    cancelAnimationFrame(this.#frame)
  }

  #inNextFrame(): void {
    this.#timer = undefined
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0
      const started = performance.now()
      this.#update()
      // A task of its own, because React draws after this one.
      setTimeout(() => {
        const ended = performance.now()
        this.#restUntil = ended + REST * (ended - started)
      })
    })
  }
}
