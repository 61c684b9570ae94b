import { type Clock, systemClock } from '../../core/index.ts'
import type { BusMessage } from '../bus.ts'
import { inTime } from './in-time.ts'
import { busClosed, Listeners } from './listeners.ts'

const PAUSES_MS = [50, 200, 1000, 2000]
/** A connection on which our own message takes longer is deaf, though it looks alive. */
const ECHO_LIMIT_MS = 5000

export interface Hearing {
  heard(text: string): void
  /** Nothing may come any more. */
  dropped(): void
}

/** A connection that hears from when it was opened. */
export interface Line {
  close(): unknown
}

/**
 * The one connection on which a bus listens: opened for the first listener, closed after the last, and opened again
 * for as long as there is one.
 *
 *     closed ──add──▶ opening ──▶ open ──nobody listens──▶ closed
 *                        ▲          │
 *                        └─ pause ──┴── dropped, or deaf
 */
export class Ear {
  readonly #open: (hearing: Hearing) => Promise<Line>
  readonly #clock: Clock
  readonly #listeners = new Listeners()
  #line: Line | undefined
  #opening: Promise<void> | undefined
  #cancelEcho: (() => void) | undefined
  #closed = false

  constructor(open: (hearing: Hearing) => Promise<Line>, clock: Clock = systemClock) {
    this.#open = open
    this.#clock = clock
  }

  async add(on: (message: BusMessage) => void): Promise<AsyncDisposable> {
    if (this.#closed) throw busClosed()
    const listener = this.#listeners.add(on)
    const end = async () => {
      await listener[Symbol.asyncDispose]()
      if (!this.#needed) await this.#shut()
    }
    try {
      if (!this.#line) await inTime(() => this.#begin(() => this.#openOnce()))
    } catch (error) {
      await end()
      throw error
    }
    return { [Symbol.asyncDispose]: end }
  }

  /** A message of ours was handed over, and should come back. */
  expectEcho(): void {
    const line = this.#line
    if (line) this.#cancelEcho ??= this.#clock.setTimer(() => this.#dropped(line), ECHO_LIMIT_MS, true)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#listeners.clear()
    await this.#shut()
  }

  get #needed(): boolean {
    return this.#listeners.size > 0
  }

  async #openOnce(): Promise<void> {
    let line: Line | undefined
    let isDropped = false
    // A line that was given up may still hear, or open after all.
    let isOver = false
    const opened = this.#open({
      heard: (text) => isOver || this.#heard(text),
      dropped: () => {
        isDropped = true
        if (line) this.#dropped(line)
      },
    })
    const giveUp = () => {
      isOver = true
      return opened.then((late) => late.close())
    }
    try {
      await inTime(async () => {
        await opened
        if (isDropped) throw new Error('the connection was lost')
      })
    } catch (error) {
      giveUp().catch(() => {})
      throw error
    }
    line = { close: giveUp }
    this.#line = line
    if (!this.#needed) await this.#shut()
  }

  #heard(text: string): void {
    this.#cancelEcho?.()
    this.#cancelEcho = undefined
    this.#listeners.hear(text)
  }

  #dropped(line: Line): void {
    if (this.#line !== line) return
    void this.#shut()
    void this.#begin(() => this.#openAgain())
  }

  #begin(opening: () => Promise<void>): Promise<void> {
    this.#opening ??= opening().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #openAgain(): Promise<void> {
    for (let attempt = 0; this.#needed && !this.#line; attempt++) {
      const pauseMs = PAUSES_MS[Math.min(attempt, PAUSES_MS.length - 1)] ?? 0
      await new Promise<void>((resolve) => this.#clock.setTimer(resolve, pauseMs, true))
      if (this.#needed) await this.#openOnce().catch(() => {})
    }
  }

  async #shut(): Promise<void> {
    const line = this.#line
    this.#line = undefined
    this.#cancelEcho?.()
    this.#cancelEcho = undefined
    // A server that is gone does not say goodbye.
    await inTime(() => line?.close()).catch(() => {})
  }
}
