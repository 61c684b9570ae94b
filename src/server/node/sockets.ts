import type { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { WebSocket, WebSocketServer } from 'ws'
import {
  expectFunction,
  expectMethods,
  expectOptions,
  expectText,
  expectWhole,
  refuse,
} from '../../base/arguments.ts'
import { limitKeyOf } from '../../base/ip-address.ts'
import { settingsOf } from '../../configuration/settings.ts'
import type { ChannelsHub, Connection } from '../channels/index.ts'
import { misdirected } from '../http/hosts.ts'
import { HttpError } from '../http/http-error.ts'
import { isTrustedOrigin } from '../http/origins.ts'
import type { HeaderOf } from '../http/request-headers.ts'
import { CLOSE_SOCKET_LIMIT_MS, MAX_BUFFERED_BYTES, MAX_FRAME_BYTES } from '../options.ts'
import type { SocketsOptions } from './options.ts'
import { refuseConnection } from './refusals.ts'

/** The code of RFC 6455 for a server that goes down, for sockets that nobody has told more. */
const GOING_AWAY = 1001

export interface AttachedSockets extends AsyncDisposable {
  /** Accepts no more sockets, and resolves when the open ones are closed. Call `hub.close()` first, which tells them why. */
  close(): Promise<void>
}

/**
 * Opens the channels to WebSockets on the server's `upgrade` event.
 *
 * @example
 * const sockets = attachSockets(server, locks.channels)
 */
export function attachSockets(
  server: EventEmitter,
  hub: ChannelsHub,
  options: SocketsOptions = {},
): AttachedSockets {
  checkArguments(server, hub, options)
  const { path = '/app', maxPayload = MAX_FRAME_BYTES, maxBuffered = MAX_BUFFERED_BYTES } = options
  const { origins } = options.origins ? settingsOf({ origins: options.origins }) : hub
  // Its types do not know `closeTimeout` yet.
  const limits = { maxPayload, closeTimeout: CLOSE_SOCKET_LIMIT_MS }
  const webSockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    autoPong: false,
    ...limits,
  })
  const frameOf = frameEncoder()

  webSockets.on('wsClientError', ({ message }, stream) =>
    refuseConnection(stream, new HttpError(400, 'bad_request', message)),
  )

  const upgrade = (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const url = addressOf(request)
    const key = url?.pathname.startsWith(`${path}/`) ? url.pathname.slice(path.length + 1) : null
    if (!url || key === null || request.headers.upgrade?.toLowerCase() !== 'websocket') {
      // Another listener may handle it.
      if (server.listenerCount('upgrade') === 1) parseWithoutUpgrade(server, request, stream, head)
      return
    }
    const headerOf: HeaderOf = (name) => request.headers[name] as string | undefined
    const { address, host } = hub.senderOf(headerOf, request.socket.remoteAddress)
    if (!hub.isOwnHost(host)) return refuseConnection(stream, misdirected())
    let client: string
    try {
      client = limitKeyOf(options.clientOf?.(request) ?? address)
    } catch {
      return refuseConnection(stream, new HttpError(500, 'internal', 'clientOf has thrown an error'))
    }
    webSockets.handleUpgrade(request, stream, head, (webSocket) => {
      const connection = connect(webSocket, stream, frameOf, maxBuffered)
      const handler = hub.accept(connection, {
        key,
        protocol: url.searchParams.get('protocol'),
        library: url.searchParams.get('client'),
        refusedOrigin: refusedOrigin(request.headers.origin, host, origins),
        client,
        request: requestOf(request),
      })
      // After an invalid frame `ws` closes the socket with a code that says what was wrong.
      webSocket.on('error', () => {})
      if (!handler) return
      webSocket.on('message', (message, isBinary) => {
        if (isBinary) connection.close(1003, 'frames are text')
        else handler.received(String(message))
      })
      webSocket.on('ping', (data) => {
        handler.alive()
        connection.pong(data)
      })
      webSocket.on('pong', handler.alive)
      webSocket.on('close', handler.closed)
    })
  }

  const close = async () => {
    server.off('upgrade', upgrade)
    const closed = Array.from(
      webSockets.clients,
      (client) => new Promise((resolve) => client.once('close', resolve)),
    )
    for (const client of webSockets.clients) client.close(GOING_AWAY)
    await Promise.all(closed)
  }
  server.on('upgrade', upgrade)
  return { close, [Symbol.asyncDispose]: close }
}

function checkArguments(server: EventEmitter, hub: ChannelsHub, options: SocketsOptions): void {
  expectMethods('server', server, 'a Server of node:http', 'on', 'off', 'listenerCount')
  expectMethods('hub', hub, 'a ChannelsHub', 'accept')
  expectOptions(options, { path: 1, origins: 1, maxPayload: 1, maxBuffered: 1, clientOf: 1 })
  const { path, origins, maxPayload, maxBuffered, clientOf } = options
  if (path !== undefined) expectText('path', path)
  if (origins !== undefined && !Array.isArray(origins)) refuse('origins', 'an array', origins)
  if (maxPayload !== undefined) expectWhole('maxPayload', maxPayload, 1)
  if (maxBuffered !== undefined) expectWhole('maxBuffered', maxBuffered, 1)
  if (clientOf !== undefined) expectFunction('clientOf', clientOf)
}

/**
 * Writes frames to the stream itself, so that a broadcast encodes its frame once and not for every socket. They
 * cannot overtake other frames: without compression `ws` writes at once.
 */
function connect(
  webSocket: WebSocket,
  stream: Duplex,
  frameOf: (text: string) => Buffer,
  maxBuffered: number,
): Connection & { pong(data: Buffer): void } {
  const write = (run: () => void) => {
    if (webSocket.readyState !== WebSocket.OPEN) return
    if (stream.writableLength > maxBuffered) webSocket.terminate()
    else run()
  }
  return {
    send: (text) => write(() => stream.write(frameOf(text))),
    pong: (data) => write(() => webSocket.pong(data)),
    close(code, reason) {
      if (webSocket.readyState === WebSocket.OPEN) webSocket.close(code, reason)
    },
  }
}

/**
 * A server may ignore an `Upgrade` header (RFC 9110), and then the request is a plain one. Node asks nobody before it
 * takes such a connection away from its HTTP parser. So the parser gets it back, with the request without that header.
 */
function parseWithoutUpgrade(
  server: EventEmitter,
  request: IncomingMessage,
  stream: Duplex,
  head: Buffer,
): void {
  const { method, url, httpVersion, rawHeaders } = request
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let n = 0; n < rawHeaders.length; n += 2) {
    const [name = '', value = ''] = rawHeaders.slice(n, n + 2)
    if (/^(upgrade|http2-settings)$/i.test(name)) continue
    lines.push(`${name}: ${/^connection$/i.test(name) ? withoutUpgrade(value) : value}`)
  }
  stream.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  server.emit((stream as TLSSocket).encrypted ? 'secureConnection' : 'connection', stream)
}

function withoutUpgrade(connection: string): string {
  const options = connection.split(',').filter((option) => !/^\s*(upgrade|http2-settings)\s*$/i.test(option))
  return options.join(',').trim() || 'keep-alive'
}

/** The request that opens a socket, for `identify` and `clientOf`. */
export function requestOf(incoming: IncomingMessage): Request {
  const { href } = addressOf(incoming) ?? { href: 'http://server' }
  return new Request(href, { headers: incoming.headers as Record<string, string> })
}

/** `null`: not an address. One with a user or a password is none either, and no `Request` takes it. */
function addressOf({ url = '', headers }: IncomingMessage): URL | null {
  const address = URL.parse(url.startsWith('/') ? `http://${headers.host ?? 'server'}${url}` : url)
  return address?.username || address?.password ? null : address
}

function refusedOrigin(origin: string | undefined, host: string, origins: readonly string[]) {
  return origin === undefined || isTrustedOrigin(origin, host, origins) ? undefined : origin
}

const FINAL_TEXT = 0x81
const LENGTH_IN_TWO_BYTES = 126
const LENGTH_IN_EIGHT_BYTES = 127

/** Encodes the frames that a server sends. It keeps the last one, because a broadcast needs the same one many times. */
function frameEncoder(): (text: string) => Buffer {
  let last = { text: '', frame: encodeFrame('') }
  return (text) => {
    if (text !== last.text) last = { text, frame: encodeFrame(text) }
    return last.frame
  }
}

function encodeFrame(text: string): Buffer {
  const payload = Buffer.from(text)
  return Buffer.concat([frameHeader(payload.length), payload])
}

function frameHeader(length: number): Buffer {
  if (length < LENGTH_IN_TWO_BYTES) return Buffer.from([FINAL_TEXT, length])
  const header = Buffer.alloc(length < 65_536 ? 4 : 10, FINAL_TEXT)
  header[1] = length < 65_536 ? LENGTH_IN_TWO_BYTES : LENGTH_IN_EIGHT_BYTES
  if (length < 65_536) header.writeUInt16BE(length, 2)
  else header.writeBigUInt64BE(BigInt(length), 2)
  return header
}
