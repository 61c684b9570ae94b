import { once } from 'node:events'
import {
  createServer as createHttpServer,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { systemClock } from '../../base/clock.ts'
import { LeaseError, messageOf } from '../../base/errors.ts'
import { notify } from '../../base/notify.ts'
import type { Settings } from '../../configuration/settings.ts'
import type { LockServer } from '../create.ts'
import { HttpError } from '../http/http-error.ts'
import { refusalOf } from '../http/reply.ts'
import { errorFields, type Log } from '../log.ts'
import { errorResponse, refuseConnection, refuseResponse } from './refusals.ts'
import { followCertificate, readCertificate } from './tls.ts'

/**
 * The port of a server:
 *
 *     starting ─ serve ─▶ serving ─ drain ─▶ draining ─ stopListening ─▶ stopping ─ close ─▶ closed
 *
 * Until `serve` it answers 503, so that probes see a process that lives and is not ready.
 */
export class Listener {
  readonly server: Server
  readonly #settings: Settings
  readonly #log: Log
  readonly #isSecure: boolean
  #unfollow = () => {}
  readonly #pending = new PendingResponses()
  #fetch: LockServer['fetch'] = answerStarting
  #isDraining = false

  constructor(settings: Settings, log: Log) {
    const certificate = settings.tlsCert === '' ? undefined : readCertificate(settings)
    const { receiveWithin, host } = settings
    const options = {
      requestTimeout: receiveWithin,
      headersTimeout: receiveWithin,
      connectionsCheckingInterval: Math.ceil(receiveWithin / 4),
      // A request without a host, or with two, is refused in JSON like every other.
      requireHostHeader: false,
      joinDuplicateHeaders: true,
    }
    const handle = getRequestListener((request, env) => this.#fetch(request, env), {
      // The probes of some balancers speak HTTP/1.0 and name no host.
      hostname: host.includes(':') ? `[${host}]` : host,
      errorHandler: errorResponse,
    })
    const listener: RequestListener = (request, response) => {
      if (request.headers.host !== undefined || request.httpVersion === '1.0') void handle(request, response)
      else refuseResponse(response, new HttpError(400, 'bad_request', 'expected a Host header'))
    }
    this.server = certificate
      ? createHttpsServer({ ...options, ...certificate }, listener)
      : createHttpServer(options, listener)
    this.#settings = settings
    this.#log = log
    this.#isSecure = certificate !== undefined
    // Before the handler of the requests, which writes the headers.
    this.server.prependListener('request', (_, response) => {
      this.#pending.add(response)
      if (this.#isDraining) response.shouldKeepAlive = false
    })
    this.server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
      if (this.#pending.hasBegun(stream) || !stream.writable) stream.destroy()
      else refuseConnection(stream, malformed(error))
    })
    this.server.on('checkExpectation', (_, response) =>
      refuseResponse(response, new HttpError(417, 'expectation_failed', 'Expect: expected 100-continue')),
    )
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  get url(): string {
    const { host } = this.#settings
    return `${this.#isSecure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${this.port}`
  }

  async listen(): Promise<void> {
    try {
      this.server.listen(this.#settings.port, this.#settings.host)
      await once(this.server, 'listening')
    } catch (error) {
      throw cannotListen(this.#settings, error)
    }
    if (this.#isSecure)
      this.#unfollow = followCertificate(this.server as HttpsServer, this.#settings, (error) =>
        notify(this.#log, 'error', 'certificate', errorFields(error)),
      )
  }

  serve(fetch: LockServer['fetch']): void {
    this.#fetch = fetch
  }

  /** From now on each answer closes its connection, so that the client opens the next one elsewhere. */
  drain(): void {
    this.#isDraining = true
  }

  /** Accepts no more connections, and after `stopWithin` cuts those that are left. Returns the function that waits. */
  stopListening(): { readonly closed: () => Promise<void> } {
    this.#unfollow()
    const closed = once(this.server, 'close')
    this.server.close()
    const cancel = systemClock.setTimer(() => this.server.closeAllConnections(), this.#settings.stopWithin)
    return {
      closed: async () => {
        await this.#pending.none()
        // Clients keep the remaining connections alive, but no request uses them.
        this.server.closeAllConnections()
        await closed
        cancel()
      },
    }
  }
}

function answerStarting(request: Request): Response {
  const isAlive = new URL(request.url).pathname === '/healthz'
  if (isAlive) return Response.json({ status: 'ok' })
  const { body, ...init } = refusalOf(
    new HttpError(503, 'starting', 'the server waits for its store', { headers: { 'Retry-After': '1' } }),
  )
  return new Response(body, init)
}

/** What the HTTP parser found wrong, or the time limit of a request. */
function malformed({ code }: NodeJS.ErrnoException): HttpError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new HttpError(408, 'request_timeout', 'the request did not arrive completely in time')
  if (code === 'HPE_HEADER_OVERFLOW')
    return new HttpError(431, 'headers_too_large', 'the headers are too long')
  return new HttpError(400, 'bad_request', 'the request is not valid HTTP')
}

function cannotListen({ host, port }: Settings, error: unknown): LeaseError {
  const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
  const message = isTaken
    ? `port: ${port} of ${host} is in use; stop the program that listens there, or choose another port (0 is any)`
    : `host and port: cannot listen on port ${port} of ${host}: ${messageOf(error)}`
  return new LeaseError('invalid-argument', message, { cause: error })
}

/** Requests that are not answered yet. */
class PendingResponses {
  readonly #responses = new Set<ServerResponse>()
  #onNone: () => void = () => {}

  add(response: ServerResponse): void {
    this.#responses.add(response)
    response.once('close', () => {
      this.#responses.delete(response)
      if (this.#responses.size === 0) this.#onNone()
    })
  }

  /** Whether a part of a response has been sent on this connection. */
  hasBegun(stream: Duplex): boolean {
    return [...this.#responses].some(({ socket, headersSent }) => socket === stream && headersSent)
  }

  async none(): Promise<void> {
    if (this.#responses.size > 0)
      await new Promise<void>((resolve) => {
        this.#onNone = resolve
      })
  }
}
