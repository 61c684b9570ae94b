import type { Clock } from '../../base/clock.ts'
import { pause } from '../../base/pause.ts'
import { MAX_WEBHOOK_EVENTS, WEBHOOK_BATCH_MS, WEBHOOK_LIMIT_MS, WEBHOOK_PAUSES_MS } from '../options.ts'
import { Signer } from '../signer.ts'

/** As Pusher names them. */
export type WebhookEvent =
  | { readonly name: 'channel_occupied' | 'channel_vacated'; readonly channel: string }
  | { readonly name: 'member_added' | 'member_removed'; readonly channel: string; readonly user_id: string }

export interface WebhooksOptions {
  readonly url: string
  readonly key: string
  readonly secret: string
  readonly clock: Clock
  readonly onError: (error: unknown) => void
}

/**
 * Tells a backend who comes and goes, in signed batches, one after the other. A batch is repeated until the backend
 * accepts it, at most three times. Meanwhile a limited number of events wait; the oldest are dropped first.
 */
export class Webhooks {
  readonly #options: WebhooksOptions
  readonly #signer: Signer
  #events: WebhookEvent[] = []
  #cancelSend: (() => void) | undefined
  #closed = false

  constructor(options: WebhooksOptions) {
    this.#options = options
    this.#signer = new Signer(options.secret)
  }

  add(event: WebhookEvent): void {
    if (this.#closed) return
    this.#events.push(event)
    if (this.#events.length > MAX_WEBHOOK_EVENTS) this.#events.shift()
    this.#sendSoon()
  }

  /** Sends what waits, once. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancelSend?.()
    if (this.#events.length > 0) await this.#post(this.#take()).catch(this.#options.onError)
  }

  async #sendAll(): Promise<void> {
    const { onError } = this.#options
    const body = this.#take()
    for (const pauseMs of [0, ...WEBHOOK_PAUSES_MS]) {
      if (this.#closed) break
      if (pauseMs > 0) await pause(this.#options.clock, pauseMs, { background: true })
      try {
        await this.#post(body)
        break
      } catch (error) {
        onError(error)
      }
    }
    this.#cancelSend = undefined
    if (this.#events.length > 0) this.#sendSoon()
  }

  #sendSoon(): void {
    this.#cancelSend ??= this.#options.clock.setTimer(() => void this.#sendAll(), WEBHOOK_BATCH_MS, true)
  }

  #take(): string {
    const events = this.#events
    this.#events = []
    return JSON.stringify({ time_ms: this.#options.clock.now(), events })
  }

  async #post(body: string): Promise<void> {
    const { url, key } = this.#options
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'X-Pusher-Key': key,
        'X-Pusher-Signature': await this.#signer.sign(body),
      },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(WEBHOOK_LIMIT_MS),
    })
    await response.body?.cancel()
    if (!response.ok) throw new Error(`the webhook was answered with ${response.status}`)
  }
}
