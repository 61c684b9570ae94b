import type { Hono } from 'hono'
import { expectFunction, expectMethods, expectOptions, hasMethods, refuseClient } from '../base/arguments.ts'
import { notify } from '../base/notify.ts'
import { suggestStore } from '../base/suggest-store.ts'
import type { Settings } from '../configuration/settings.ts'
import type { ChannelsHub } from './channels/index.ts'
import { createService } from './create-service.ts'
import { dependenciesOf, STORE_CALLS } from './dependencies.ts'
import { createApp } from './http/app.ts'
import { Authenticator } from './http/authentication.ts'
import { RequestHandler } from './http/request-handler.ts'
import { type LockServerOptions, SWEEP_AT_ONCE } from './options.ts'
import type { Service } from './service.ts'
import { Stopping } from './waiting-requests.ts'

export interface LockServer extends AsyncDisposable {
  /** The HTTP API as a fetch handler. It can be mounted anywhere. */
  readonly fetch: (request: Request, env?: object) => Response | Promise<Response>
  /** The same as a Hono app, for `app.route('/', server.app)`. */
  readonly app: Hono
  /** The WebSocket side, for `attachSockets`. */
  readonly channels: ChannelsHub
  readonly settings: Settings
  /** From now on `/readyz` answers 503, so that a balancer sends no more requests here. All else goes on. */
  drain(): void
  /** Ends waiting requests and sockets. The leases stay as they are, and the store and the bus stay open. */
  close(): Promise<void>
}

/**
 * The document lock service as a fetch handler, without a port of its own.
 *
 * @example
 * const locks = await createLockServer({ store: sqliteStore('./holdfast.db') })
 * export default { fetch: locks.fetch }
 */
export async function createLockServer(options: LockServerOptions): Promise<LockServer> {
  checkOptions(options)
  const dependencies = await dependenciesOf(options)
  const { bus, tracer, restore } = dependencies
  const authenticator = await Authenticator.create(
    dependencies.settings,
    dependencies.clock,
    options.identify,
  )
  const draining = new AbortController()
  const stopping = new AbortController()
  const service = createService(dependencies, options, authenticator, {
    draining: draining.signal,
    stop: stopping.signal,
  })
  const { store, channels, settings, log, meter, feed, announcer, roomQueues, locks, stats } = service
  const { isOwnHost, senderOf } = channels
  const { clientOf } = options
  const app = createApp(
    service,
    new RequestHandler({ ...service, authenticator, isOwnHost, senderOf, clientOf, tracer }),
  )

  let subscription: AsyncDisposable | undefined
  let stopSweeping = () => {}
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= shutDown()
    return closing
  }
  async function shutDown(): Promise<void> {
    notify(log, 'info', 'stopping', { sockets: channels.sockets, waiters: roomQueues.size })
    stopping.abort(new Stopping())
    locks.stop()
    stopSweeping()
    await channels.close()
    await subscription?.[Symbol.asyncDispose]()
    await feed.close()
    notify(log, 'info', 'stopped')
  }
  // Before the start, because the leases that are found then count by the time of their grant.
  feed.subscribe((event) => stats.onFeedEvent(event))
  try {
    subscription = await bus.subscribe((message) => {
      announcer.receive(message)
      service.handoff.receive(message)
      roomQueues.receive(message)
      service.withdrawals.receive(message)
    })
    await feed.start()
  } catch (error) {
    await close()
    throw error
  }
  announcer.follow(feed)
  meter?.observe(() => ({
    locks: feed.live,
    waiters: roomQueues.size,
    sockets: channels.sockets,
    store: store.load,
  }))
  stopSweeping = sweepRegularly(service, restore)
  notify(log, 'info', 'started', { store: store.kind })
  return {
    fetch: (request, env) => app.fetch(request, env),
    app,
    channels,
    settings,
    drain: () => draining.abort(new Stopping()),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** The names of all options. */
export const LOCK_SERVER_OPTIONS: Readonly<Record<keyof LockServerOptions, 1>> = {
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
}

function checkOptions(options: LockServerOptions): void {
  expectOptions(options, LOCK_SERVER_OPTIONS)
  const { store, documents, audit, bus, secrets, meter, clock } = options
  if (!hasMethods(store, ...STORE_CALLS, 'watch') || !store.supports?.expiry)
    refuseClient('store', `a LeaseStore whose leases expire, such as ${suggestStore(store)}`, store)
  if (documents !== undefined)
    expectMethods('documents', documents, 'a DocumentStore', 'fence', 'read', 'save', 'remove')
  if (audit !== undefined) expectMethods('audit', audit, 'an AuditLog', 'append', 'read')
  if (bus !== undefined) expectMethods('bus', bus, 'a Bus', 'publish', 'subscribe')
  if (secrets !== undefined) expectMethods('secrets', secrets, 'a SecretStore', 'keep')
  if (meter !== undefined)
    expectMethods('meter', meter, 'a Meter', 'request', 'lease', 'call', 'observe', 'text')
  if (clock !== undefined) expectMethods('clock', clock, 'a Clock', 'now', 'monotonic', 'setTimer', 'random')
  for (const name of ['identify', 'authorize', 'clientOf', 'onTelemetry', 'roomTerms', 'log'] as const)
    if (options[name] !== undefined) expectFunction(name, options[name])
}

/** Sweeps, one sweep after the other, until the returned function is called. Does not keep the process alive. */
function sweepRegularly(
  { locks, documents, clock, settings, onError }: Service,
  restore: () => Promise<void>,
): () => void {
  let cancel = () => {}
  let stopped = false
  const sweepAll = async () => {
    while ((await locks.sweep(SWEEP_AT_ONCE)).length === SWEEP_AT_ONCE);
    await documents.sweep?.()
    await restore()
  }
  const sweepLater = () => {
    if (stopped) return
    cancel = clock.setTimer(
      () =>
        sweepAll()
          .catch((error: unknown) => onError('sweep', error))
          .finally(sweepLater),
      settings.sweep,
      true,
    )
  }
  sweepLater()
  return () => {
    stopped = true
    cancel()
  }
}
