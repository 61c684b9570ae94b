import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { type Settings, settingsOf } from '../../configuration/settings.ts'
import { LeaseError, systemClock } from '../../core/index.ts'
import { createLockServer, type LockServer, type LockServerOptions } from '../create.ts'
import { lastHop } from '../http/client-address.ts'
import { assetHandler, expectPages } from './assets.ts'
import { withKeptSecrets } from './kept-secrets.ts'
import { prometheusMeter } from './prometheus.ts'
import { attachSockets } from './sockets.ts'

export interface ServerOptions extends LockServerOptions {
  /** A directory of pages, served at `/`; its `index.html` is the first. */
  readonly assets?: string
}

export interface HoldfastServer {
  /** Such as `http://127.0.0.1:4321`. */
  readonly url: string
  readonly port: number
  readonly settings: Settings
  readonly locks: LockServer
  /**
   * Takes no new requests, tells the sockets, ends waits, and lets the other requests finish, all within
   * `stopWithin`. Leases live on in the store, which stays open.
   */
  stop(): Promise<void>
}

/**
 * The service on a port, with its WebSockets and `/metrics`.
 *
 * @example
 * const server = await createServer({ store: sqliteStore('./holdfast.db'), settings: { port: 8080 } })
 */
export async function createServer(options: ServerOptions): Promise<HoldfastServer> {
  const { assets, ...rest } = options
  if (assets !== undefined) expectPages(assets)
  const settings = withKeptSecrets(settingsOf(rest.settings))
  const locks = await createLockServer({ meter: prometheusMeter(), ...rest, settings })
  const fetch = assets === undefined ? locks.fetch : assetHandler(assets, locks.fetch)
  const server = createAdaptorServer({ fetch }) as Server
  const inFlight = new InFlight()
  server.on('request', (_, response) => inFlight.add(response))
  const sockets = attachSockets(
    server,
    locks.channels,
    settings.trustProxy ? { clientOf: forwardedClient } : {},
  )
  try {
    server.listen(settings.port, settings.host)
    await once(server, 'listening')
  } catch (error) {
    await locks.stop()
    throw (error as NodeJS.ErrnoException).code === 'EADDRINUSE' ? portTaken(settings, error) : error
  }
  const { port } = server.address() as AddressInfo
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  let stopping: Promise<void> | undefined

  return {
    url: `http://${host}:${port}`,
    port,
    settings: locks.settings,
    locks,
    stop() {
      stopping ??= stop()
      return stopping
    },
  }

  async function stop(): Promise<void> {
    const closed = once(server, 'close')
    server.close()
    const cancel = systemClock.setTimer(() => server.closeAllConnections(), settings.stopWithin)
    await locks.stop()
    await sockets[Symbol.asyncDispose]()
    await inFlight.none()
    // What is left is kept alive by clients, and serves nobody.
    server.closeAllConnections()
    await closed
    cancel()
  }
}

function portTaken({ host, port }: Settings, cause: unknown): LeaseError {
  const remedy = 'stop the program that listens there, or choose another port (0 is any)'
  return new LeaseError('invalid-argument', `port: ${port} of ${host} is in use; ${remedy}`, { cause })
}

/** Requests that are not answered yet. */
class InFlight {
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

function forwardedClient({ headers, socket }: IncomingMessage): string {
  return lastHop(String(headers['x-forwarded-for'] ?? '')) || (socket.remoteAddress ?? '')
}
