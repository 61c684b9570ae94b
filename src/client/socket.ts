import type { Clock } from '../base/clock.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { PUSHER_PROTOCOL, parseFrame } from '../protocol/pusher.ts'
import { type Api, type Body, retryAfterOf, unexpected } from './api.ts'

/** Doubled with every failed connection in a row. */
const RECONNECT_MS = 500
const LONGEST_RECONNECT_MS = 20_000
/** A connection whose events have arrived for so long has not failed. Proxies end others right after they opened. */
const STABLE_MS = 10_000
/** The longest time for a connection to open, and for the answer to a ping. */
const PONG_MS = 10_000

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

export interface Socket {
  /** Whether events arrive now. */
  readonly isJoined: boolean
  /** Opens the connection if there is none, also during the pause before a reconnection. */
  open(): void
  /** Reconnects, or checks the connection, at once: the network is back, or the page was woken. */
  checkNow(): void
  /** It may be opened again. */
  close(): void
}

/** A connection to the channels of a server, in the Pusher protocol. It reconnects by itself until it is closed. */
export function createSocket(options: SocketOptions): Socket {
  const { url, key, channels, clock, api, name, onEvent, onJoined, onRefused, onConnection } = options
  let connection: WebSocket | undefined
  /** The server's id of this connection; empty until the connection is open. */
  let socketId = ''
  let isWanted = false
  let isJoined = false
  let wasJoined = false
  let failures = 0
  /** When the events began to arrive, on this connection. */
  let joinedAt = Infinity
  /** The server has asked for no connection before this time. */
  let notBefore = -Infinity
  /** After this much silence, a ping checks whether the server is still there. */
  let activityMs = 120_000
  let cancelTimer = () => {}

  return {
    get isJoined() {
      return isJoined
    },

    open() {
      isWanted = true
      if (!connection) connect()
    },

    checkNow() {
      if (socketId) ping()
      else if (isWanted && !connection && clock.monotonic() >= notBefore) connect()
    },

    close() {
      isWanted = wasJoined = false
      disconnect()
    },
  }

  function connect(): void {
    // To its own client the server also tells renewals, and never uses Laravel's event names.
    const query = `protocol=${PUSHER_PROTOCOL}&client=holdfast`
    const address = new URL(`app/${encodeURIComponent(key)}?${query}`, url)
    address.protocol = address.protocol.replace('http', 'ws')
    const opening = new WebSocket(address)
    connection = opening
    opening.onmessage = ({ data }) => connection === opening && onFrame(String(data))
    opening.onclose = () => connection === opening && onLost()
    expectFrame()
  }

  function disconnect(): void {
    const ending = connection
    cancelTimer()
    connection = undefined
    socketId = ''
    isJoined = false
    ending?.close()
    notify(onConnection, false)
  }

  function onLost(retryAfterMs = 0): void {
    const now = clock.monotonic()
    if (now - joinedAt >= STABLE_MS) failures = 0
    joinedAt = Infinity
    notBefore = now + retryAfterMs
    disconnect()
    if (!isWanted) return
    const pause = Math.min(LONGEST_RECONNECT_MS, RECONNECT_MS * 2 ** failures++)
    setTimer(Math.max(pause * (0.5 + clock.random()), retryAfterMs), connect)
  }

  /** Gives up the connection unless a frame arrives in time. */
  function expectFrame(): void {
    setTimer(PONG_MS, () => onLost())
  }

  /** One timer at a time: the next one replaces it. */
  function setTimer(ms: number, run: () => void): void {
    cancelTimer()
    cancelTimer = clock.setTimer(run, ms, true)
  }

  function ping(): void {
    send('pusher:ping')
    expectFrame()
  }

  function onFrame(text: string): void {
    const frame = parseFrame(text)
    if (!frame) return
    const { event, channel = '' } = frame
    const data = Object(frame.data)
    if (event === 'pusher:connection_established') onConnected(data)
    setTimer(activityMs, ping)
    if (event === 'pusher:ping') send('pusher:pong')
    if (channels.includes(channel)) onChannelEvent(event, data, channel)
  }

  function onConnected({ socket_id, activity_timeout }: Body): void {
    socketId = String(socket_id)
    activityMs = Math.max(1000, Number(activity_timeout) * 1000 || activityMs)
    for (const channel of channels) void join(channel)
    notify(onConnection, true)
  }

  function onChannelEvent(event: string, data: Body, channel: string): void {
    if (event === 'pusher_internal:subscription_succeeded') {
      isJoined = true
      joinedAt = Math.min(joinedAt, clock.monotonic())
      notify(onJoined, wasJoined)
      wasJoined = true
      // In a presence channel, it names the members.
      notify(onEvent, event, data)
    } else if (event === 'pusher:subscription_error')
      notify(onRefused, new LeaseError('store-failed', `the server refused the channel ${channel}`))
    else notify(onEvent, event, data)
  }

  async function join(channel: string): Promise<void> {
    const current = connection
    try {
      const signed = /^(private|presence)-/.test(channel) && (await sign(channel))
      if (connection === current) send('pusher:subscribe', { channel, ...signed })
    } catch (cause) {
      if (connection !== current) return
      const error = asLeaseError(cause)
      // A server that cannot answer now is asked again on the next connection.
      if (error.retryable) onLost(retryAfterOf(error))
      else notify(onRefused, error)
    }
  }

  async function sign(channel: string): Promise<Body> {
    const body = { socket_id: socketId, channel_name: channel, name: name?.() }
    const response = await api({ method: 'POST', path: 'broadcasting/auth', body })
    const { auth, channel_data } = response.body
    if (response.status !== 200 || typeof auth !== 'string') throw unexpected(response)
    return { auth, channel_data }
  }

  function send(event: string, data: object = {}): void {
    if (connection?.readyState === 1) connection.send(JSON.stringify({ event, data }))
  }
}
