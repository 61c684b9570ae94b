import type { Clock } from '../base/clock.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { PUSHER_PROTOCOL, parseFrame } from '../protocol/pusher.ts'
import { type Api, type Body, retryAfterOf, unexpected } from './api.ts'
import {
  LONGEST_RECONNECT_MS,
  PING_AFTER_MS,
  PONG_MS,
  RECONNECT_MS,
  SHORTEST_PING_AFTER_MS,
  STABLE_MS,
} from './rare-options.ts'

export interface SocketOptions {
  readonly url: string
  readonly key: string
  readonly channels: readonly string[]
  readonly clock: Clock
  /** The server signs subscriptions to private and presence channels here. */
  readonly api: Api
  /** The name that others in a presence channel see. */
  readonly name?: (() => string | undefined) | undefined
  readonly onEvent: (event: string, data: Body) => void
  /** Events of a channel arrive from now on. `again`: after the connection was lost, so events may be missing. */
  readonly onJoined: (again: boolean) => void
  /** The server refuses the channel. */
  readonly onRefused?: (error: LeaseError) => void
  /** The connection was opened; or it was lost, closed, or could not be opened. */
  readonly onConnection?: (connected: boolean) => void
}

/** A connection to the channels of a server, in the Pusher protocol. It reconnects by itself until it is closed. */
export class Socket {
  readonly #options: SocketOptions
  #connection: WebSocket | undefined
  /** The server's id of this connection; empty until the connection is open. */
  #id = ''
  #isWanted = false
  #isJoined = false
  #wasJoined = false
  #failures = 0
  /** When the events began to arrive, on this connection. */
  #joinedAt = Infinity
  /** The server has asked for no connection before this time. */
  #notBefore = -Infinity
  /** After this much silence, a ping checks whether the server is still there. */
  #pingAfterMs = PING_AFTER_MS
  #cancelTimer = () => {}

  constructor(options: SocketOptions) {
    this.#options = options
  }

  /** Whether events arrive now. */
  get isJoined(): boolean {
    return this.#isJoined
  }

  /** Opens the connection if there is none, also during the pause before a reconnection. */
  open(): void {
    this.#isWanted = true
    if (!this.#connection) this.#connect()
  }

  /** Reconnects, or checks the connection, at once: the network is back, or the page was woken. */
  checkNow(): void {
    if (this.#id) this.#ping()
    else if (this.#isWanted && !this.#connection && this.#options.clock.monotonic() >= this.#notBefore)
      this.#connect()
  }

  /** It may be opened again. */
  close(): void {
    this.#isWanted = this.#wasJoined = false
    this.#disconnect()
  }

  #connect(): void {
    const { url, key } = this.#options
    // To its own client the server also tells renewals, and never uses Laravel's event names.
    const query = `protocol=${PUSHER_PROTOCOL}&client=holdfast`
    const address = new URL(`app/${encodeURIComponent(key)}?${query}`, url)
    address.protocol = address.protocol.replace('http', 'ws')
    const opening = new WebSocket(address)
    this.#connection = opening
    opening.onmessage = ({ data }) => this.#connection === opening && this.#onFrame(String(data))
    opening.onclose = () => this.#connection === opening && this.#onLost()
    this.#expectFrame()
  }

  #disconnect(): void {
    const ending = this.#connection
    this.#cancelTimer()
    this.#connection = undefined
    this.#id = ''
    this.#isJoined = false
    ending?.close()
    notify(this.#options.onConnection, false)
  }

  #onLost(retryAfterMs = 0): void {
    const { clock } = this.#options
    const now = clock.monotonic()
    if (now - this.#joinedAt >= STABLE_MS) this.#failures = 0
    this.#joinedAt = Infinity
    this.#notBefore = now + retryAfterMs
    this.#disconnect()
    if (!this.#isWanted) return
    const pause = Math.min(LONGEST_RECONNECT_MS, RECONNECT_MS * 2 ** this.#failures++)
    this.#setTimer(Math.max(pause * (0.5 + clock.random()), retryAfterMs), () => this.#connect())
  }

  /** Gives up the connection unless a frame arrives in time. */
  #expectFrame(): void {
    this.#setTimer(PONG_MS, () => this.#onLost())
  }

  /** One timer at a time: the next one replaces it. */
  #setTimer(ms: number, run: () => void): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#options.clock.setTimer(run, ms, true)
  }

  #ping(): void {
    this.#send('pusher:ping')
    this.#expectFrame()
  }

  #onFrame(text: string): void {
    const frame = parseFrame(text)
    if (!frame) return
    const { event, channel = '' } = frame
    const data = Object(frame.data)
    if (event === 'pusher:connection_established') this.#onConnected(data)
    this.#setTimer(this.#pingAfterMs, () => this.#ping())
    if (event === 'pusher:ping') this.#send('pusher:pong')
    if (this.#options.channels.includes(channel)) this.#onChannelEvent(event, data, channel)
  }

  #onConnected({ socket_id, activity_timeout }: Body): void {
    const { channels, onConnection } = this.#options
    if (typeof socket_id !== 'string') return
    this.#id = socket_id
    const askedMs = typeof activity_timeout === 'number' ? activity_timeout * 1000 : 0
    this.#pingAfterMs = Math.max(SHORTEST_PING_AFTER_MS, askedMs || this.#pingAfterMs)
    for (const channel of channels) void this.#join(channel)
    notify(onConnection, true)
  }

  #onChannelEvent(event: string, data: Body, channel: string): void {
    const { clock, onEvent, onJoined, onRefused } = this.#options
    if (event === 'pusher_internal:subscription_succeeded') {
      this.#isJoined = true
      this.#joinedAt = Math.min(this.#joinedAt, clock.monotonic())
      notify(onJoined, this.#wasJoined)
      this.#wasJoined = true
      // In a presence channel, it names the members.
      notify(onEvent, event, data)
    } else if (event === 'pusher:subscription_error')
      notify(onRefused, new LeaseError('store-failed', `the server refused the channel ${channel}`))
    else notify(onEvent, event, data)
  }

  async #join(channel: string): Promise<void> {
    const current = this.#connection
    try {
      const signed = /^(private|presence)-/.test(channel) && (await this.#sign(channel))
      if (this.#connection === current) this.#send('pusher:subscribe', { channel, ...signed })
    } catch (cause) {
      if (this.#connection !== current) return
      const error = asLeaseError(cause)
      // A server that cannot answer now is asked again on the next connection.
      if (error.retryable) this.#onLost(retryAfterOf(error))
      else notify(this.#options.onRefused, error)
    }
  }

  async #sign(channel: string): Promise<Body> {
    const { api, name } = this.#options
    const body = { socket_id: this.#id, channel_name: channel, name: name?.() }
    const response = await api({ method: 'POST', path: 'broadcasting/auth', body })
    const { auth, channel_data } = response.body
    if (response.status !== 200 || typeof auth !== 'string') throw unexpected(response)
    return { auth, channel_data }
  }

  #send(event: string, data: object = {}): void {
    if (this.#connection?.readyState === 1) this.#connection.send(JSON.stringify({ event, data }))
  }
}
