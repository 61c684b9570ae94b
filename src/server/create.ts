import type { Hono } from 'hono'
import { type GivenSettings, type Settings, settingsOf } from '../configuration/settings.ts'
import { type Clock, LeaseError, type LeaseStore, systemClock } from '../core/index.ts'
import { Announcer } from './announcer.ts'
import { type AuditLog, memoryAudit } from './audit.ts'
import type { Bus } from './bus.ts'
import { memoryBus } from './buses/memory.ts'
import type { ChannelsHub } from './channels/index.ts'
import { createChannels } from './channels/index.ts'
import { type DocumentStore, memoryDocuments } from './documents.ts'
import { Handover } from './handover.ts'
import { createApp } from './http/app.ts'
import { Callers } from './http/callers.ts'
import { Gate } from './http/gate.ts'
import { Stopping } from './http/http-error.ts'
import { type Authorize, defaultAuthorize, type Identify, roomResource } from './identity.ts'
import { LeaseFeed } from './lease-feed.ts'
import { Line } from './line.ts'
import { Locks } from './locks.ts'
import { jsonLog, type Log } from './log.ts'
import type { Meter } from './meter.ts'
import { repeat } from './repeat.ts'
import { withSecrets } from './secrets.ts'
import type { OnTelemetry, Service } from './service.ts'
import { StatsWindow } from './stats.ts'

export interface LockServerOptions {
  /** Where leases live: one for all nodes. Left open when the server stops. */
  readonly store: LeaseStore
  /** Where contents live. Default: in memory. */
  readonly documents?: DocumentStore
  /** Default: in memory. */
  readonly audit?: AuditLog
  /** Between the nodes. Default: within this process. */
  readonly bus?: Bus
  /** All that can be configured, by name; see `SETTINGS`. */
  readonly settings?: GivenSettings
  /** Who calls. Default: a signed session cookie. */
  readonly identify?: Identify
  /** Who may do what. Default: sessions may use documents; the rest needs a token of the settings. */
  readonly authorize?: Authorize
  readonly onTelemetry?: OnTelemetry
  readonly meter?: Meter
  /** Default: one JSON line a request to `console.log`. */
  readonly log?: Log
  readonly clock?: Clock
}

export interface LockServer {
  /** The HTTP API as a fetch handler; mount it wherever you like. */
  readonly fetch: (request: Request, env?: object) => Response | Promise<Response>
  /** The same as a Hono app, for `app.route('/', server.app)`. */
  readonly app: Hono
  /** The WebSocket side, for `attachSockets`. */
  readonly channels: ChannelsHub
  readonly settings: Settings
  /** Ends waits and sockets. Leases stay as they are; so do the store and the bus. */
  stop(): Promise<void>
}

/**
 * The document lock service as a fetch handler, without a port of its own.
 *
 * @example
 * const locks = await createLockServer({ store: sqliteStore('./holdfast.db') })
 * export default { fetch: locks.fetch }
 */
export async function createLockServer(options: LockServerOptions): Promise<LockServer> {
  const { store, bus = memoryBus(), clock = systemClock, meter, onTelemetry } = options
  if (!store?.supports?.expiry)
    throw new LeaseError('invalid-argument', 'store: expected a LeaseStore whose leases run out')
  const given = settingsOf(options.settings)
  const log = options.log ?? jsonLog((line) => console.log(line), given.logLevel, clock)
  const settings = withSecrets(given, log)
  const { documents = memoryDocuments({ clock }), audit = memoryAudit(settings.auditEntries) } = options
  const authorize = options.authorize ?? defaultAuthorize(settings)
  const onError = (operation: string, error: unknown) => log('error', operation, { error: String(error) })
  const stopping = new AbortController()

  const channels = createChannels({ ...channelOptions(settings), bus, clock })
  const cared = () => [...channels.subscribed()].flatMap((channel) => roomsOf(channel))
  const feed = new LeaseFeed({ store, clock, cared, rereadEvery: settings.sweep, onError })
  const announcer = new Announcer(channels, bus)
  const stats = new StatsWindow(clock)
  const { ttl, grace, answerWithin, unanswered, maxWait } = settings
  const line = new Line({
    ...{ bus, clock, keepFor: maxWait + LINE_SLACK_MS, onError },
    onChange: (event) => announcer.tellHere('document.line', event),
  })
  const onWaited = (ms: number) => stats.onWaited(ms)
  const locks = new Locks({ store, documents, audit, feed, line, clock, ttl, onWaited, onError })
  const handover = new Handover({ locks, feed, announcer, bus, clock, grace, answerWithin, unanswered })
  const service: Service = {
    ...{ store, documents, audit, channels, settings, authorize, clock, log, onError, meter, onTelemetry },
    ...{ feed, announcer, line, locks, handover, stats, stop: stopping.signal },
  }
  const callers = await Callers.create(settings, clock, options.identify)
  const app = createApp(service, new Gate({ ...service, callers }))

  const sweepOften = () =>
    repeat(
      clock,
      settings.sweep,
      () => sweepAll(locks),
      (error) => onError('sweep', error),
    )
  let hearing: AsyncDisposable | undefined
  let stopSweeping = () => {}
  const stop = async () => {
    stopping.abort(new Stopping())
    stopSweeping()
    await channels.close()
    await hearing?.[Symbol.asyncDispose]()
    await feed.stop()
  }
  try {
    hearing = await bus.subscribe((message) => {
      announcer.hear(message)
      handover.hear(message)
      line.hear(message)
    })
    await feed.start()
  } catch (error) {
    await stop()
    throw error
  }
  announcer.follow(feed)
  feed.subscribe((transition) => {
    stats.onTransition(transition)
    meter?.transition(transition)
  })
  meter?.observe(() => ({ locks: feed.live, waiters: line.size, sockets: channels.sockets }))
  stopSweeping = sweepOften()
  return { fetch: (request, env) => app.fetch(request, env), app, channels, settings, stop }
}

const SWEEP_AT_ONCE = 500
const LINE_SLACK_MS = 30_000

async function sweepAll(locks: Locks): Promise<void> {
  while ((await locks.sweep(SWEEP_AT_ONCE)).length === SWEEP_AT_ONCE);
}

function channelOptions(settings: Settings) {
  const { channelKey, channelSecret, eventNames, publicChannels, clientEvents, activityTimeout, origins } =
    settings
  return {
    ...{ key: channelKey, secret: channelSecret, naming: eventNames, publicChannels, clientEvents },
    ...{ activityTimeout, origins, limits: { socketsPerClient: settings.maxSockets } },
  }
}

function roomsOf(channel: string): string[] {
  const prefix = 'document.'
  return channel.startsWith(prefix) ? [roomResource(channel.slice(prefix.length))] : []
}
