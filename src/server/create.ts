import type { Hono } from 'hono'
import { expectFunction, expectMethods, expectOptions, hasMethods, refuseClient } from '../base/arguments.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { notify } from '../base/notify.ts'
import { suggestStore } from '../base/suggest-store.ts'
import { Tracer, type TracingApi } from '../base/tracing.ts'
import { type GivenSettings, type Settings, settingsOf } from '../configuration/settings.ts'
import type { LeaseStore } from '../core/index.ts'
import { roomOfChannel } from '../protocol/index.ts'
import { Announcer } from './announcer.ts'
import { type AuditLog, memoryAudit } from './audit.ts'
import type { Bus } from './bus.ts'
import { memoryBus } from './buses/memory.ts'
import { type ChannelsHub, createChannels } from './channels/index.ts'
import { ClientPlaces } from './client-places.ts'
import { type DocumentStore, inMemory, memoryDocuments } from './documents.ts'
import { Handover } from './handover.ts'
import { HolderNames } from './holder-names.ts'
import { createApp } from './http/app.ts'
import { Authenticator, channelCheck } from './http/authentication.ts'
import { HttpError } from './http/http-error.ts'
import { type ClientOf, RequestHandler } from './http/request-handler.ts'
import { type Authorize, defaultAuthorize, type Identify, roomResource } from './identity.ts'
import { LeaseFeed } from './lease-feed.ts'
import { Locks } from './locks.ts'
import { errorFields, jsonLog, type Log } from './log.ts'
import { measured } from './measured.ts'
import { SWEEP_AT_ONCE } from './options.ts'
import { checkDependencies, sharedCheck } from './readiness.ts'
import { type RoomTerms, termsOf as roomTermsOf } from './room-terms.ts'
import { restoreSecrets, type SecretStore, withSecrets } from './secrets.ts'
import type { OnError, OnTelemetry, Service } from './service.ts'
import { type Meter, StatsWindow } from './stats.ts'
import { WaiterLimits } from './waiter-limits.ts'
import { WaitingList } from './waiting-list.ts'
import { Stopping } from './waiting-requests.ts'
import { Withdrawals } from './withdrawals.ts'

export interface LockServerOptions {
  /** Where leases are stored, the same for all nodes. It stays open when the server is closed. */
  readonly store: LeaseStore
  /**
   * Where contents are stored, on the backend of the store, the same for all nodes. Default: in memory if the leases
   * are in memory too. With any other store there are no contents without it.
   */
  readonly documents?: DocumentStore | undefined
  /** Default: in memory. */
  readonly audit?: AuditLog | undefined
  /** Between the nodes. Default: within this process. It stays open when the server is closed. */
  readonly bus?: Bus | undefined
  /** Where the nodes keep the secrets that are not configured. Default: each node creates its own. */
  readonly secrets?: SecretStore | undefined
  /** By name; see `SETTINGS`. */
  readonly settings?: GivenSettings | undefined
  /** Who sent a request. Default: the signed session cookie. */
  readonly identify?: Identify | undefined
  /**
   * Whom the limits count. Default: the address of the connection, which a plain fetch handler does not know, and what
   * `trustProxy` allows. Without an address, each session is counted, and all who have none together.
   */
  readonly clientOf?: ClientOf | undefined
  /** Who may do what. Default: sessions may use documents; everything else needs a token of the settings. */
  readonly authorize?: Authorize | undefined
  readonly onTelemetry?: OnTelemetry | undefined
  /** Another ttl and heartbeat for some rooms. Default: those of the settings. */
  readonly roomTerms?: RoomTerms | undefined
  /** Where figures go. Default: `prometheusMeter()` in `createServer`. */
  readonly meter?: Meter | undefined
  /**
   * `@opentelemetry/api`, for a span of each request and each call of the store. Default: `@opentelemetry/api` in
   * `createServer`, if it is installed.
   */
  readonly tracing?: TracingApi | undefined
  /** Default: one line of JSON for each request, written with `console.log`. */
  readonly log?: Log | undefined
  readonly clock?: Clock | undefined
  /**
   * The address that the server around it listens on. On a loopback address only names of this machine are answered.
   * Default: `host` of the settings in `createServer`.
   */
  readonly listensOn?: string | undefined
}

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

const DOCUMENT_CALLS = ['fence', 'read', 'save', 'remove', 'sweep'] as const
const STORE_CALLS = ['acquire', 'renew', 'release', 'read', 'list', 'sweep'] as const

/**
 * The document lock service as a fetch handler, without a port of its own.
 *
 * @example
 * const locks = await createLockServer({ store: sqliteStore('./holdfast.db') })
 * export default { fetch: locks.fetch }
 */
export async function createLockServer(options: LockServerOptions): Promise<LockServer> {
  checkOptions(options)
  const { clock = systemClock, meter, onTelemetry } = options
  const measuring = { meter, clock }
  const tracer = options.tracing && new Tracer(options.tracing)
  const attributes = { 'holdfast.backend': options.store.kind }
  const traced = <T extends object>(part: string, target: T, methods: readonly (keyof T & string)[]) =>
    tracer ? tracer.around(target, methods, attributes, { part, onlyInside: true }) : target
  const store = measured('store', traced('store', options.store, STORE_CALLS), STORE_CALLS, measuring)
  const bus = measured('bus', options.bus ?? memoryBus(), ['publish'], measuring)
  const given = settingsOf(options.settings)
  const log = options.log ?? jsonLog((line) => console.log(line), given.logLevel, clock)
  const settings = await withSecrets(given, log, options.secrets)
  const documents = measured(
    'documents',
    traced('documents', options.documents ?? defaultDocuments(store, clock), DOCUMENT_CALLS),
    DOCUMENT_CALLS,
    measuring,
  )
  const audit = measured(
    'audit',
    options.audit ?? memoryAudit(settings.auditEntries),
    ['append', 'read'],
    measuring,
  )
  warnAboutNodes(options, log)
  const authorize = options.authorize ?? defaultAuthorize(settings)
  const onError: OnError = (operation, error) => log('error', operation, errorFields(error))
  const draining = new AbortController()
  const stopping = new AbortController()
  const authenticator = await Authenticator.create(settings, clock, options.identify)

  const channels = createChannels({
    key: settings.channelKey,
    secret: settings.channelSecret,
    naming: settings.eventNames,
    publicChannels: settings.publicChannels,
    clientEvents: settings.clientEvents,
    activityTimeout: settings.activityTimeout,
    origins: settings.origins,
    hosts: settings.hosts,
    ...(options.listensOn !== undefined && { listensOn: options.listensOn }),
    limits: { socketsPerClient: settings.maxSockets },
    webhook: settings.webhook,
    trustProxy: settings.trustProxy,
    proxyHeaders: settings.proxyHeaders,
    onError: (error) => onError('channels', error),
    // By default every session may hear every room, so nobody needs to be identified.
    ...((options.authorize || options.identify) && { allows: channelCheck(authenticator, authorize) }),
    bus,
    clock,
  })
  const feed = new LeaseFeed({
    store,
    clock,
    relevant: () => [...channels.subscribed()].flatMap(resourcesOf),
    rereadEvery: settings.sweep,
    onError,
  })
  const termsOf = roomTermsOf(settings, options.roomTerms)
  const names = new HolderNames()
  const announcer = new Announcer({ channels, bus, clock, termsOf, names })
  const stats = new StatsWindow(clock)
  const waitingList = new WaitingList({
    bus,
    clock,
    onChange: (event) => announcer.sendToRoom('document.line', event),
    onMoved: (room, id) => locks.supersede(room, id),
    onError,
  })
  const { grace, answerWithin, unanswered } = settings
  const onWaited = (ms: number) => stats.onWaited(ms)
  const locks: Locks = new Locks({
    store,
    documents,
    audit,
    feed,
    names,
    waitingList,
    clock,
    termsOf,
    onWaited,
    onError,
    onChange: (change) => meter && notify(() => meter.lease(change)),
  })
  const handover = new Handover({
    locks,
    feed,
    announcer,
    waitingList,
    bus,
    clock,
    grace,
    answerWithin,
    unanswered,
  })
  const withdrawals = new Withdrawals({ bus, clock, locks, handover, onError })
  const waiterLimits = new WaiterLimits(settings)
  const service: Service = {
    store,
    documents,
    audit,
    channels,
    settings,
    authorize,
    clock,
    log,
    onError,
    meter,
    onTelemetry,
    feed,
    announcer,
    names,
    waitingList,
    termsOf,
    waiterLimits,
    locks,
    clientPlaces: new ClientPlaces({ store, channels, limits: waiterLimits, clock, onError }),
    handover,
    withdrawals,
    stats,
    failures: sharedCheck(() => checkDependencies({ store, documents, audit, bus }, clock), clock),
    draining: draining.signal,
    stop: stopping.signal,
  }
  const { isOwnHost, senderOf } = channels
  const app = createApp(
    service,
    new RequestHandler({
      ...service,
      authenticator,
      isOwnHost,
      senderOf,
      clientOf: options.clientOf,
      tracer,
    }),
  )

  let subscription: AsyncDisposable | undefined
  let stopSweeping = () => {}
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= shutDown()
    return closing
  }
  async function shutDown(): Promise<void> {
    notify(log, 'info', 'stopping', { sockets: channels.sockets, waiters: waitingList.size })
    stopping.abort(new Stopping())
    locks.stop()
    stopSweeping()
    await channels.close()
    await subscription?.[Symbol.asyncDispose]()
    await feed.close()
    notify(log, 'info', 'stopped')
  }
  // Before the start, because the leases that are found then count by the time of their grant.
  feed.subscribe((transition) => stats.onTransition(transition))
  try {
    subscription = await bus.subscribe((message) => {
      announcer.receive(message)
      handover.receive(message)
      waitingList.receive(message)
      withdrawals.receive(message)
    })
    await feed.start()
  } catch (error) {
    await close()
    throw error
  }
  announcer.follow(feed)
  if (meter) {
    meter.observe(() => ({
      locks: feed.live,
      waiters: waitingList.size,
      sockets: channels.sockets,
      store: store.load,
    }))
  }
  stopSweeping = sweepRegularly(service, async () => {
    if (options.secrets) await restoreSecrets(given, settings, options.secrets)
  })
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

/** Contents in the memory of one node would be lost, or overwritten, while other nodes share its locks. */
function defaultDocuments({ kind }: LeaseStore, clock: Clock): DocumentStore {
  const documents = memoryDocuments({ clock })
  if (kind === 'memory') return documents
  const refuseContents = async () => {
    throw new HttpError(
      404,
      'contents_off',
      'this server keeps no contents, because it was given no documents',
    )
  }
  return { ...documents, read: refuseContents, save: refuseContents, remove: refuseContents }
}

/** Stores that only processes of one machine share. */
const OF_ONE_MACHINE = ['memory', 'sqlite', 'file']
const WITH_PARTS = ['etcd', 'mysql', 'nats', 'postgres', 'redis']

/** Says what the nodes of a service with a shared store would not share. */
function warnAboutNodes({ store, bus, documents }: LockServerOptions, log: Log): void {
  if (OF_ONE_MACHINE.includes(store.kind)) return
  const remedy = WITH_PARTS.includes(store.kind) ? `; ${store.kind}Parts(client) has all of them` : ''
  if (!bus)
    notify(log, 'warn', `without a bus, several nodes do not hear of each other's changes: pass one${remedy}`)
  if (documents && inMemory.has(documents))
    notify(
      log,
      'warn',
      `contents are in the memory of each node, and the leases are shared: pass other documents${remedy}`,
    )
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

/** The resources of the room that a channel belongs to. */
function resourcesOf(channel: string): string[] {
  const room = roomOfChannel(channel)
  return room === null ? [] : [roomResource(room)]
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
