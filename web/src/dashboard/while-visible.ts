/** Often enough that a server that stops answering is noticed within five seconds. */
const EVERY_MS = 2000
const SOON_MS = 1000

/** Reads repeatedly while the page is visible: at once when it becomes visible, and sooner after `hurry`. */
export class WhileVisible {
  readonly #read: () => Promise<void>
  readonly #end = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isReading = false
  #isHurried = false

  constructor(read: () => Promise<void>) {
    this.#read = read
    document.addEventListener('visibilitychange', () => void this.#run(), { signal: this.#end.signal })
    void this.#run()
  }

  /** Something has changed. Any number of calls cause one read in `SOON_MS`. */
  hurry(): void {
    if (this.#isHurried) return
    this.#isHurried = true
    if (!this.#isReading) this.#runIn(SOON_MS)
  }

  close(): void {
    this.#end.abort()
    clearTimeout(this.#timer)
  }

  async #run(): Promise<void> {
    if (document.hidden || this.#isReading) return
    this.#isReading = true
    this.#isHurried = false
    await this.#read()
    this.#isReading = false
    this.#runIn(this.#isHurried ? SOON_MS : EVERY_MS)
  }

  #runIn(ms: number): void {
    clearTimeout(this.#timer)
    if (!this.#end.signal.aborted) this.#timer = setTimeout(() => void this.#run(), ms)
  }
}
