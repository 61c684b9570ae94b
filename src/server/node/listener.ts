import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { systemClock } from '../../base/clock.ts'
import { LeaseError, messageOf } from '../../base/errors.ts'
import { notify } from '../../base/notify.ts'
import type { Settings } from '../../configuration/settings.ts'
import type { LockServer } from '../create.ts'
import type { HttpErrorCode } from '../http/error-codes.ts'
import { errorFields, type Log } from '../log.ts'
import { followCertificate, readCertificate } from './tls.ts'

type Fetch = LockServer['fetch']

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
  #fetch: Fetch = answerStarting
  #isDraining = false

  constructor(settings: Settings, log: Log) {
    const certificate = settings.tlsCert === '' ? undefined : readCertificate(settings)
    const { receiveWithin } = settings
    const serverOptions = {
      requestTimeout: receiveWithin,
      headersTimeout: receiveWithin,
      connectionsCheckingInterval: Math.ceil(receiveWithin / 4),
    }
    const fetch: Fetch = (request, env) => this.#fetch(request, env)
    this.server = createAdaptorServer(
      certificate
        ? { fetch, createServer: createHttpsServer, serverOptions: { ...serverOptions, ...certificate } }
        : { fetch, serverOptions },
    ) as Server
    this.#settings = settings
    this.#log = log
    this.#isSecure = certificate !== undefined
    // Before the handler of the requests, which writes the headers.
    this.server.prependListener('request', (_, response) => {
      this.#pending.add(response)
      if (this.#isDraining) response.shouldKeepAlive = false
    })
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

  serve(fetch: Fetch): void {
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
  const body = { error: 'starting' satisfies HttpErrorCode, message: 'the server waits for its store' }
  return Response.json(body, { status: 503, headers: { 'Retry-After': '1' } })
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
  #count = 0
  #onNone: () => void = () => {}

  add(response: ServerResponse): void {
    this.#count++
    response.once('close', () => {
      this.#count--
      if (this.#count === 0) this.#onNone()
    })
  }

  async none(): Promise<void> {
    if (this.#count > 0)
      await new Promise<void>((resolve) => {
        this.#onNone = resolve
      })
  }
}
