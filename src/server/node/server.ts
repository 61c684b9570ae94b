import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { systemClock } from '../../core/index.ts'
import { createLockServer, type LockServer, type LockServerOptions } from '../create.ts'
import type { Settings } from '../settings.ts'
import { assetHandler } from './assets.ts'
import { prometheusMeter } from './prometheus.ts'
import { attachSockets } from './sockets.ts'

const CLOSE_IDLE_EVERY_MS = 20

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
  const locks = await createLockServer({ meter: prometheusMeter(), ...rest })
  const { settings } = locks
  const fetch = assets === undefined ? locks.fetch : assetHandler(assets, locks.fetch)
  const server = createAdaptorServer({ fetch }) as Server
  const sockets = attachSockets(server, locks.channels, {
    origins: settings.origins,
    ...(settings.trustProxy && { clientOf: lastForwarded }),
  })
  try {
    server.listen(settings.port, settings.host)
    await once(server, 'listening')
  } catch (error) {
    await locks.stop()
    throw error
  }
  const { port } = server.address() as AddressInfo
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  let stopping: Promise<void> | undefined

  return {
    url: `http://${host}:${port}`,
    port,
    settings,
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
    // Those that were answered just now are kept alive by their clients.
    const closing = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS)
    await locks.stop()
    await sockets[Symbol.asyncDispose]()
    await closed
    cancel()
    clearInterval(closing)
  }
}

function lastForwarded(request: IncomingMessage): string {
  const forwarded = String(request.headers['x-forwarded-for'] ?? '')
  return forwarded.split(',').at(-1)?.trim() || (request.socket.remoteAddress ?? '')
}
