import { notify } from '../base/notify.ts'
import { roomOfChannel } from '../protocol/index.ts'
import { Announcer } from './announcer.ts'
import { type ChannelsHub, createChannels } from './channels/index.ts'
import { ClientPlaces } from './client-places.ts'
import type { Dependencies } from './dependencies.ts'
import { Handoff } from './handoff.ts'
import { HolderNames } from './holder-names.ts'
import { type Authenticator, channelCheck } from './http/authentication.ts'
import { defaultAuthorize, roomResource } from './identity.ts'
import { LeaseFeed } from './lease-feed.ts'
import { Locks } from './locks.ts'
import { errorFields } from './log.ts'
import type { LockServerOptions } from './options.ts'
import { checkDependencies, sharedCheck } from './readiness.ts'
import { RoomQueues } from './room-queues.ts'
import { termsOf as roomTermsOf } from './room-terms.ts'
import type { OnError, Service } from './service.ts'
import { StatsWindow } from './stats.ts'
import { WaiterLimits } from './waiter-limits.ts'
import { Withdrawals } from './withdrawals.ts'

/** Makes the parts of a service and connects them. Nothing runs yet. */
export function createService(
  dependencies: Dependencies,
  options: LockServerOptions,
  authenticator: Authenticator,
  signals: Pick<Service, 'draining' | 'stop'>,
): Service & { readonly channels: ChannelsHub } {
  const { store, documents, audit, bus, settings, clock, log, meter } = dependencies
  const { authorize = defaultAuthorize(settings), onTelemetry } = options
  const onError: OnError = (operation, error) => log('error', operation, errorFields(error))
  const channels = channelsOf(dependencies, options, onError, channelCheck(authenticator, authorize))
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
  const roomQueues = new RoomQueues({
    bus,
    clock,
    onChange: (event) => announcer.sendToRoom('document.line', event),
    onMoved: (room, id) => locks.supersede(room, id),
    onError,
  })
  const shared = { feed, names, announcer, roomQueues, clock, termsOf, onError }
  const locks: Locks = new Locks({
    ...shared,
    store,
    documents,
    audit,
    onWaited: (ms) => stats.onWaited(ms),
    onChange: (change) => meter && notify(() => meter.lease(change)),
  })
  const { grace, answerWithin, unanswered } = settings
  const handoff = new Handoff({ ...shared, locks, bus, grace, answerWithin, unanswered })
  const waiterLimits = new WaiterLimits(settings)
  return {
    ...shared,
    ...signals,
    store,
    documents,
    audit,
    channels,
    settings,
    authorize,
    log,
    meter,
    onTelemetry,
    waiterLimits,
    locks,
    clientPlaces: new ClientPlaces({ store, channels, limits: waiterLimits, clock, onError }),
    handoff,
    withdrawals: new Withdrawals({ bus, clock, locks, handoff, onError }),
    stats,
    failures: sharedCheck(() => checkDependencies({ store, documents, audit, bus }, clock), clock),
  }
}

function channelsOf(
  { settings, bus, clock }: Dependencies,
  { listensOn, authorize, identify }: LockServerOptions,
  onError: OnError,
  allows: ReturnType<typeof channelCheck>,
): ChannelsHub {
  return createChannels({
    key: settings.channelKey,
    secret: settings.channelSecret,
    naming: settings.eventNames,
    publicChannels: settings.publicChannels,
    clientEvents: settings.clientEvents,
    activityTimeout: settings.activityTimeout,
    origins: settings.origins,
    hosts: settings.hosts,
    ...(listensOn !== undefined && { listensOn }),
    limits: { socketsPerClient: settings.maxSockets },
    webhook: settings.webhook,
    trustProxy: settings.trustProxy,
    proxyHeaders: settings.proxyHeaders,
    onError: (error) => onError('channels', error),
    // By default every session may hear every room, so nobody needs to be identified.
    ...((authorize || identify) && { allows }),
    bus,
    clock,
  })
}

/** The resources of the room that a channel belongs to. */
function resourcesOf(channel: string): string[] {
  const room = roomOfChannel(channel)
  return room === null ? [] : [roomResource(room)]
}
