import { systemClock } from '../../core/index.ts'
import type { Listen, Listener } from './client.ts'
import type { Queries } from './queries.ts'

const CHECK_EVERY_MS = 10_000
/** A connection on which a notification takes longer than this is deaf. */
const HEAR_WITHIN_MS = 2000
const CLOSE_WITHIN_MS = 1000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000
const DEAF_PAUSE_MS = 30_000

export interface InboxOptions {
  readonly listen: Listen
  readonly queries: () => Queries | Promise<Queries>
  /** Whether anybody has to hear. */
  needed(): boolean
  heard(channel: string, payload: string): void
  /** It hears, for the first time or again. */
  opened(): void
  /** Every few seconds while it is open. */
  checked(): void
}

/**
 * The channel on which a store hears, on a connection of its own:
 *
 *     closed ──open──▶ opening ──hears itself──▶ open ──nobody needs it──▶ closed
 *                         ▲                        │
 *                         └────── after a pause ───┴── dropped
 *
 * A pooler that shares connections takes LISTEN without a word and delivers nothing. So the inbox sends a message
 * to itself by the ordinary client, when it opens and every few seconds from then on.
 */
export class Inbox {
  readonly #options: InboxOptions
  readonly #channel = `holdfast_${crypto.randomUUID().replaceAll('-', '')}`
  #open: { readonly address: string; readonly listener: Listener } | undefined
  #opening: Promise<void> | undefined
  #attempt: Promise<void> | undefined
  #deaf = false
  #closed = false
  #probes = 0
  #onProbe: (payload: string) => void = () => {}
  #cancelCheck = () => {}

  constructor(options: InboxOptions) {
    this.#options = options
  }

  /** Where others reach this store; `null` while they cannot. */
  get address(): string | null {
    return this.#open?.address ?? null
  }

  get listener(): Listener | undefined {
    return this.#open?.listener
  }

  /** The connection works, and nothing is delivered on it. */
  get deaf(): boolean {
    return this.#deaf
  }

  /** The address, once it is open; `null` if that fails or takes longer than `patienceMs`. */
  async ready(patienceMs: number): Promise<string | null> {
    const isPausing = this.#deaf && this.#opening
    if (!this.#open && !isPausing) {
      this.open()
      await Promise.race([this.#attempt, pause(patienceMs)])
    }
    return this.address
  }

  /** Goes on trying for as long as somebody has to hear. */
  open(): void {
    if (this.#open || this.#closed) return
    this.#opening ??= this.#tryToOpen().finally(() => {
      this.#opening = undefined
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#shut()
  }

  async #tryToOpen(): Promise<void> {
    let wait = FIRST_PAUSE_MS
    do {
      this.#attempt = this.#tryOnce().catch(() => {})
      await this.#attempt
      if (this.#open) return
      await pause(this.#deaf ? DEAF_PAUSE_MS : wait)
      wait = Math.min(2 * wait, LONGEST_PAUSE_MS)
    } while (!this.#closed && this.#options.needed())
  }

  async #tryOnce(): Promise<void> {
    let dropped = false
    let listener: Listener | undefined
    try {
      listener = await this.#options.listen({
        heard: (channel, payload) => this.#heard(channel, payload),
        dropped: () => {
          dropped = true
          if (listener && this.#open?.listener === listener) this.#onDropped()
        },
      })
      await listener.listen(this.#channel)
      const { heard, start } = await this.#probe(listener)
      this.#deaf = !heard && !dropped
      if (!heard || dropped || this.#closed) throw new Error('does not hear')
      const { pid } = listener
      const address = start === null ? this.#channel : `${this.#channel} ${pid} ${start}`
      this.#open = { address, listener }
    } catch (error) {
      listener?.close().catch(() => {})
      throw error
    }
    this.#checkLater()
    this.#options.opened()
  }

  async #probe(listener: Listener): Promise<{ heard: boolean; start: number | null }> {
    const expected = `probe ${++this.#probes}`
    const heard = new Promise<boolean>((resolve) => {
      this.#onProbe = (payload) => payload === expected && resolve(true)
    })
    const queries = await this.#options.queries()
    const start = await queries.probe(this.#channel, expected, listener.pid)
    // A process that stood still has the notification and the timer at once, and its timers run first.
    const silence = pause(HEAR_WITHIN_MS).then(() => pause(0))
    return { start, heard: await Promise.race([heard, silence.then(() => false)]) }
  }

  #heard(channel: string, payload: string): void {
    if (channel === this.#channel && payload.startsWith('probe ')) this.#onProbe(payload)
    else this.#options.heard(channel, payload)
  }

  #checkLater(): void {
    this.#cancelCheck = systemClock.setTimer(() => void this.#check(), CHECK_EVERY_MS, true)
  }

  async #check(): Promise<void> {
    const open = this.#open
    if (!open) return
    if (!this.#options.needed()) return this.#shut()
    // No answer to the probe says nothing about the listening connection.
    const { heard } = await this.#probe(open.listener).catch(() => ({ heard: true }))
    if (this.#open !== open) return
    if (!heard) return this.#onDropped()
    this.#checkLater()
    this.#options.checked()
  }

  #onDropped(): void {
    void this.#shut()
    if (this.#options.needed()) this.open()
  }

  async #shut(): Promise<void> {
    this.#cancelCheck()
    const listener = this.#open?.listener
    this.#open = undefined
    // A server that has stopped does not say goodbye.
    await Promise.race([listener?.close().catch(() => {}), pause(CLOSE_WITHIN_MS)])
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => systemClock.setTimer(resolve, ms, true))
}
