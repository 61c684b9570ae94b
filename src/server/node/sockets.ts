import type { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import { systemClock } from '../../core/index.ts'
import type { ChannelsHub, Connection } from '../channels/index.ts'
import { frameMaker } from './text-frame.ts'

/** A client that was told to go has this long to say goodbye. */
const GOODBYE_MS = 2000

export interface SocketsOptions {
  /** Sockets are at `{path}/{key}`. Default `/app`. */
  readonly path?: string
  /**
   * Origins whose pages may connect, such as `https://app.example.com`, beside the server's own. Default: those of
   * the channels, which a lock server takes from its settings. Who sends no origin is no browser, and may connect.
   */
  readonly origins?: readonly string[]
  /** Bytes of a frame that a client may send. Default 16 384. */
  readonly maxPayload?: number
  /** Bytes that may wait for a client that does not read; with more it is cut off. Default 1 MiB. */
  readonly maxBuffered?: number
  /** Whom the limit of sockets counts. Default: the address of the connection. */
  readonly clientOf?: (request: IncomingMessage) => string
}

/**
 * Opens the channels to WebSockets on the server's `upgrade` event. To stop: `hub.close()` first, which tells all
 * sockets; then dispose of this, which waits for them to go.
 *
 * @example
 * const sockets = attachSockets(server, locks.channels)
 */
export function attachSockets(
  server: EventEmitter,
  hub: ChannelsHub,
  options: SocketsOptions = {},
): AsyncDisposable {
  const { path = '/app', origins = hub.origins, maxPayload = 16_384, maxBuffered = 1_048_576 } = options
  const { clientOf = (request) => request.socket.remoteAddress ?? '' } = options
  const webSockets = new WebSocketServer({ noServer: true, maxPayload, perMessageDeflate: false })
  const frameOf = frameMaker()

  const upgrade = (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const url = URL.parse(request.url ?? '', 'http://server')
    const key = url?.pathname.startsWith(`${path}/`) ? url.pathname.slice(path.length + 1) : null
    if (!url || key === null) {
      // Another listener may know what to do with it.
      if (server.listenerCount('upgrade') === 1) answerNotFound(stream)
      return
    }
    webSockets.handleUpgrade(request, stream, head, (webSocket) => {
      const connection = connect(webSocket, stream, frameOf, maxBuffered)
      const visitor = hub.accept(connection, {
        key,
        protocol: url.searchParams.get('protocol'),
        library: url.searchParams.get('client'),
        refusedOrigin: refusedOrigin(request.headers, origins),
        client: clientOf(request),
      })
      // A frame that breaks the rules of WebSockets ends the socket, with a code that says how.
      webSocket.on('error', () => {})
      if (!visitor) return
      webSocket.on('message', (message, isBinary) => {
        if (isBinary) connection.close(1003, 'frames are text')
        else visitor.received(String(message))
      })
      webSocket.on('ping', visitor.alive)
      webSocket.on('pong', visitor.alive)
      webSocket.on('close', visitor.closed)
    })
  }

  server.on('upgrade', upgrade)
  return {
    async [Symbol.asyncDispose]() {
      server.off('upgrade', upgrade)
      const gone = Array.from(
        webSockets.clients,
        (client) => new Promise((resolve) => client.once('close', resolve)),
      )
      for (const client of webSockets.clients) endInTime(client)
      await Promise.all(gone)
    },
  }
}

/**
 * Writes frames to the stream itself, so that a broadcast makes its frame once and not for every socket. `ws` holds
 * nothing back that they could overtake, since it does not compress.
 */
function connect(
  webSocket: WebSocket,
  stream: Duplex,
  frameOf: (text: string) => Buffer,
  maxBuffered: number,
): Connection {
  return {
    send(text) {
      if (webSocket.readyState !== WebSocket.OPEN) return
      if (stream.writableLength > maxBuffered) webSocket.terminate()
      else stream.write(frameOf(text))
    },
    close(code, reason) {
      if (webSocket.readyState !== WebSocket.OPEN) return
      webSocket.close(code, reason)
      endInTime(webSocket)
    },
  }
}

function endInTime(webSocket: WebSocket): void {
  const cancel = systemClock.setTimer(() => webSocket.terminate(), GOODBYE_MS, true)
  webSocket.once('close', cancel)
}

function answerNotFound(stream: Duplex): void {
  stream.on('error', () => {})
  stream.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
}

function refusedOrigin({ origin, host }: IncomingMessage['headers'], others: readonly string[]) {
  // A proxy may end TLS, so the scheme proves nothing.
  const allowed = [`http://${host}`, `https://${host}`, ...others]
  return origin === undefined || allowed.includes(origin) ? undefined : origin
}
