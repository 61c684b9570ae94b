import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { expectOptions } from '../../base/arguments.ts'
import { systemClock } from '../../base/clock.ts'
import { LeaseError, messageOf } from '../../base/errors.ts'
import { notify } from '../../base/notify.ts'
import type { TracingApi } from '../../base/tracing.ts'
import { type Settings, settingsOf } from '../../configuration/settings.ts'
import { createLockServer, type LockServer, type LockServerOptions } from '../create.ts'
import { errorFields, jsonLog } from '../log.ts'
import { assetHandler, expectAssets } from './assets.ts'
import { withKeptSecrets } from './kept-secrets.ts'
import { prometheusMeter } from './prometheus.ts'
import { attachSockets, requestOf } from './sockets.ts'
import { followCertificate, readCertificate } from './tls.ts'

export interface ServerOptions extends LockServerOptions {
  /** A directory of pages, served at `/`. The first page is its `index.html`. */
  readonly assets?: string
}

export interface HoldfastServer extends AsyncDisposable {
  /** Such as `http://127.0.0.1:4321`. */
  readonly url: string
  readonly port: number
  readonly settings: Settings
  readonly locks: LockServer
  /**
   * Accepts no new requests, tells the sockets, ends waiting requests and lets the other requests finish, all within
   * `stopWithin`. The leases stay in the store, which stays open.
   */
  close(): Promise<void>
  /** @deprecated Use `close()`. */
  stop(): Promise<void>
}

/**
 * The service on a port, with its WebSockets and `/metrics`.
 *
 * @example
 * const server = await createServer({ store: sqliteStore('./holdfast.db'), settings: { port: 8080 } })
 */
export async function createServer(options: ServerOptions): Promise<HoldfastServer> {
  expectOptions(options, {
    assets: 1,
    store: 1,
    documents: 1,
    audit: 1,
    bus: 1,
    secrets: 1,
    roomTerms: 1,
    listensOn: 1,
    settings: 1,
    identify: 1,
    authorize: 1,
    clientOf: 1,
    onTelemetry: 1,
    meter: 1,
    tracing: 1,
    log: 1,
    clock: 1,
  })
  const { assets, ...rest } = options
  if (assets !== undefined) expectAssets(assets)
  const settings = withKeptSecrets(settingsOf(rest.settings))
  const { host: listensOn, receiveWithin } = settings
  const certificate = settings.tlsCert === '' ? undefined : readCertificate(settings)
  const log = rest.log ?? jsonLog((line) => console.log(line), settings.logLevel, systemClock)
  const tracing = await loadTracing()
  const locks = await createLockServer({
    meter: prometheusMeter(),
    ...(tracing && { tracing }),
    listensOn,
    ...rest,
    log,
    settings,
  })
  const fetch = assets === undefined ? locks.fetch : assetHandler(assets, locks.fetch, locks.channels)
  const serverOptions = {
    requestTimeout: receiveWithin,
    headersTimeout: receiveWithin,
    connectionsCheckingInterval: Math.ceil(receiveWithin / 4),
  }
  const server = createAdaptorServer(
    certificate
      ? { fetch, createServer: createHttpsServer, serverOptions: { ...serverOptions, ...certificate } }
      : { fetch, serverOptions },
  ) as Server
  const unfollow = certificate
    ? followCertificate(server as HttpsServer, settings, (error) =>
        notify(log, 'error', 'certificate', errorFields(error)),
      )
    : () => {}
  const pending = new PendingResponses()
  server.on('request', (_, response) => pending.add(response))
  const { clientOf } = rest
  const sockets = attachSockets(
    server,
    locks.channels,
    clientOf ? { clientOf: (incoming) => clientOf(requestOf(incoming), { incoming }) ?? '' } : {},
  )
  try {
    server.listen(settings.port, settings.host)
    await once(server, 'listening')
  } catch (error) {
    unfollow()
    await locks.close()
    throw cannotListen(settings, error)
  }
  const { port } = server.address() as AddressInfo
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  const url = `${certificate ? 'https' : 'http'}://${host}:${port}`
  notify(log, 'info', 'listening', { url })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= shutDown()
    return closing
  }

  return {
    url,
    port,
    settings: locks.settings,
    locks,
    close,
    stop: close,
    [Symbol.asyncDispose]: close,
  }

  async function shutDown(): Promise<void> {
    unfollow()
    const closed = once(server, 'close')
    server.close()
    const cancel = systemClock.setTimer(() => server.closeAllConnections(), settings.stopWithin)
    await locks.close()
    await sockets.close()
    await pending.none()
    // Clients keep the remaining connections alive, but no request uses them.
    server.closeAllConnections()
    await closed
    cancel()
  }
}

/** Without the package there are no traces. With it there are some if the process has set up an SDK. */
async function loadTracing(): Promise<TracingApi | undefined> {
  try {
    return await import('@opentelemetry/api')
  } catch {
    return undefined
  }
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
