import { type Clock, LeaseError } from '../core/index.ts'
import { PUSHER_PROTOCOL, parseFrame } from '../protocol/index.ts'
import { type Api, unexpected } from './api.ts'

/** Doubled with every time in a row that a connection failed. */
const RECONNECT_MS = 500
const LONGEST_RECONNECT_MS = 20_000
/** What the server has to answer a ping. */
const PONG_MS = 10_000

export interface SocketOptions {
  readonly url: string
  readonly key: string
  readonly clock: Clock
  /** Where the server signs the subscription to a private channel. */
  readonly api: Api
  /** It is connected after all, or no more. */
  readonly onConnection?: (connected: boolean) => void
}

export interface Subscription {
  /** Rejects when the server refuses the channel. Not before the first connection stands, nor after the end. */
  readonly ready: Promise<void>
  end(): void
}

export interface Channel {
  readonly name: string
  readonly onEvent: (event: string, data: object) => void
  /** Subscribed again after the connection had been lost: events may be missing. */
  readonly onGap: () => void
  /** The connection was lost, or could not be made. It is tried again. */
  readonly onLost?: () => void
}

interface Entry extends Channel {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
  /** Has been told that it hears the channel. */
  isReady: boolean
}

/**
 * One connection to the channels of a server, in the Pusher protocol. It stands while somebody has subscribed,
 * and comes back by itself.
 */
export class Socket {
  readonly #options: SocketOptions
  readonly #entries = new Set<Entry>()
  /** Channels that the server sends on this connection. */
  readonly #joined = new Set<string>()
  #connection: WebSocket | undefined
  #socketId = ''
  #failures = 0
  /** After so much silence the server is asked whether it is there. */
  #activityMs = 120_000
  #cancelTimer = () => {}

  constructor(options: SocketOptions) {
    this.#options = options
  }

  subscribe(channel: Channel): Subscription {
    const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
    ready.catch(() => {})
    const entry = { ...channel, resolve, reject, isReady: false }
    const isShared = this.#names().has(channel.name)
    this.#entries.add(entry)
    if (!this.#connection) this.#connect()
    else if (this.#joined.has(channel.name)) this.#onJoined(entry)
    else if (this.#socketId && !isShared) void this.#join(channel.name)
    return {
      ready,
      end: () => {
        if (!this.#entries.delete(entry)) return
        if (this.#entries.size === 0) this.#disconnect()
        else if (!this.#names().has(channel.name)) this.#leave(channel.name)
      },
    }
  }

  /** Tries now what would be tried later: the network is back, or the page was woken. */
  hurry(): void {
    if (this.#entries.size === 0) return
    if (!this.#connection) this.#connect()
    else if (this.#socketId) this.#ping()
  }

  #names(): Set<string> {
    return new Set(Array.from(this.#entries, ({ name }) => name))
  }

  #connect(): void {
    const { url, key } = this.#options
    const address = new URL(`app/${encodeURIComponent(key)}?protocol=${PUSHER_PROTOCOL}`, url)
    address.protocol = address.protocol.replace('http', 'ws')
    const connection = new WebSocket(address)
    this.#connection = connection
    connection.onmessage = ({ data }) => this.#onFrame(String(data))
    connection.onclose = () => this.#connection === connection && this.#onLost()
    this.#expect(PONG_MS)
  }

  #disconnect(): void {
    const connection = this.#connection
    const stood = this.#socketId !== ''
    this.#cancelTimer()
    this.#connection = undefined
    this.#socketId = ''
    this.#joined.clear()
    connection?.close()
    if (stood) this.#options.onConnection?.(false)
  }

  #onLost(): void {
    this.#disconnect()
    if (this.#entries.size === 0) return
    for (const { onLost } of this.#entries) onLost?.()
    const pause = Math.min(LONGEST_RECONNECT_MS, RECONNECT_MS * 2 ** this.#failures++)
    this.#after(pause * (0.5 + this.#options.clock.random()), () => this.#connect())
  }

  /** Gives the connection up unless something comes in time. */
  #expect(ms: number): void {
    this.#after(ms, () => this.#onLost())
  }

  #after(ms: number, run: () => void): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#options.clock.setTimer(run, ms, true)
  }

  #ping(): void {
    this.#send('pusher:ping', {})
    this.#expect(PONG_MS)
  }

  #onFrame(text: string): void {
    const frame = parseFrame(text)
    if (!frame) return
    const data = Object(frame.data)
    if (frame.event === 'pusher:connection_established') this.#onConnected(data)
    this.#after(this.#activityMs, () => this.#ping())
    if (frame.event === 'pusher:ping') this.#send('pusher:pong', {})
    if (frame.channel !== undefined) this.#onChannel(frame.channel, frame.event, data)
  }

  #onConnected({ socket_id, activity_timeout }: { socket_id?: unknown; activity_timeout?: unknown }): void {
    this.#socketId = String(socket_id)
    this.#failures = 0
    if (typeof activity_timeout === 'number') this.#activityMs = activity_timeout * 1000
    for (const name of this.#names()) void this.#join(name)
    this.#options.onConnection?.(true)
  }

  #onChannel(channel: string, event: string, data: object): void {
    if (event === 'pusher:subscription_error')
      this.#refuse(channel, new LeaseError('store-failed', `the server refused the channel ${channel}`))
    const isJoined = event === 'pusher_internal:subscription_succeeded'
    if (isJoined) this.#joined.add(channel)
    for (const entry of this.#entries) {
      if (entry.name !== channel) continue
      if (isJoined) this.#onJoined(entry)
      else if (!event.startsWith('pusher')) quietly(() => entry.onEvent(event, data))
    }
  }

  async #join(channel: string): Promise<void> {
    const connection = this.#connection
    try {
      const isPrivate = channel.startsWith('private-')
      const auth = isPrivate ? await this.#sign(channel) : undefined
      if (this.#connection === connection) this.#send('pusher:subscribe', { channel, auth })
    } catch (error) {
      if (this.#connection !== connection) return
      // A server that cannot answer now is asked again with the next connection.
      if ((error as LeaseError).retryable) this.#onLost()
      else this.#refuse(channel, error as Error)
    }
  }

  async #sign(channel: string): Promise<unknown> {
    const body = { socket_id: this.#socketId, channel_name: channel }
    const answer = await this.#options.api({ method: 'POST', path: 'broadcasting/auth', body })
    if (answer.status !== 200) throw unexpected(answer)
    return answer.body.auth
  }

  #leave(channel: string): void {
    this.#joined.delete(channel)
    this.#send('pusher:unsubscribe', { channel })
  }

  #refuse(channel: string, error: Error): void {
    for (const entry of this.#entries) if (entry.name === channel) entry.reject(error)
  }

  #onJoined(entry: Entry): void {
    if (entry.isReady) quietly(entry.onGap)
    entry.isReady = true
    entry.resolve()
  }

  #send(event: string, data: object): void {
    if (this.#connection?.readyState === 1) this.#connection.send(JSON.stringify({ event, data }))
  }
}

/** A listener that throws harms neither the connection nor the other listeners. */
export function quietly(tell: () => void): void {
  try {
    tell()
  } catch {
    // Its own affair.
  }
}
