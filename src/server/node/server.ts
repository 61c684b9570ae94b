import { definedIn, expectOptions } from '../../base/arguments.ts'
import { systemClock } from '../../base/clock.ts'
import { notify } from '../../base/notify.ts'
import { pause } from '../../base/pause.ts'
import type { TracingApi } from '../../base/tracing.ts'
import { type Settings, settingsOf } from '../../configuration/settings.ts'
import { createLockServer, LOCK_SERVER_OPTIONS, type LockServer } from '../create.ts'
import { jsonLog } from '../log.ts'
import { assetHandler, expectAssets } from './assets.ts'
import { withKeptSecrets } from './kept-secrets.ts'
import { Listener } from './listener.ts'
import type { ServerOptions } from './options.ts'
import { prometheusMeter } from './prometheus.ts'
import { attachSockets, requestOf } from './sockets.ts'

export interface HoldfastServer extends AsyncDisposable {
  /** Such as `http://127.0.0.1:4321`, without a slash at its end. */
  readonly url: string
  readonly port: number
  readonly settings: Settings
  readonly locks: LockServer
  /**
   * Answers 503 to `/readyz` for the time of `drain`. Then it accepts no new requests, tells the sockets, ends waiting
   * requests and lets the other requests finish, all within `stopWithin`. The leases stay in the store, which stays
   * open.
   */
  close(): Promise<void>
}

/**
 * The service on a port, with its WebSockets and `/metrics`.
 *
 * @example
 * const server = await createServer({ store: sqliteStore('./holdfast.db'), settings: { port: 8080 } })
 */
export function createServer(options: ServerOptions): Promise<HoldfastServer>
/** @internal On a port that already listens and answers 503. */
export function createServer(options: ServerOptions, listening: Listener): Promise<HoldfastServer>
export async function createServer(options: ServerOptions, listening?: Listener): Promise<HoldfastServer> {
  expectOptions(options, { assets: 1, ...LOCK_SERVER_OPTIONS })
  // An option that is `undefined` must not replace a default below.
  const { assets, ...rest } = definedIn(options) as ServerOptions
  if (assets !== undefined) expectAssets(assets)
  const settings = withKeptSecrets(settingsOf(rest.settings))
  const { clock = systemClock, clientOf } = rest
  const log = rest.log ?? jsonLog((line) => console.log(line), settings.logLevel, clock)
  const listener = listening ?? new Listener(settings, log)
  const { server } = listener
  const tracing = await loadTracing()
  const locks = await createLockServer({
    meter: prometheusMeter(),
    ...(tracing && { tracing }),
    listensOn: settings.host,
    ...rest,
    log,
    settings,
  })
  listener.serve(assets === undefined ? locks.fetch : assetHandler(assets, locks.fetch, locks.channels))
  const sockets = attachSockets(
    server,
    locks.channels,
    clientOf ? { clientOf: (incoming) => clientOf(requestOf(incoming), { incoming }) ?? '' } : {},
  )
  if (!listening)
    await listener.listen().catch(async (error) => {
      await locks.close()
      throw error
    })
  const { url, port } = listener
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
    [Symbol.asyncDispose]: close,
  }

  async function shutDown(): Promise<void> {
    locks.drain()
    listener.drain()
    if (settings.drain > 0) await pause(clock, settings.drain)
    const { closed } = listener.stopListening()
    await locks.close()
    await sockets.close()
    await closed()
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
