import {
  expectBoolean,
  expectFunction,
  expectMethods,
  expectOneOf,
  expectOptions,
  refuse,
  refuseClient,
} from '../../base/arguments.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { expectDuration } from '../../base/duration.ts'
import { pause } from '../../base/pause.ts'
import type { JsonValue } from '../../base/records.ts'
import { settingsOf } from '../../configuration/settings.ts'
import { formatFrame, PUSHER_CLOSE, PUSHER_PROTOCOL } from '../../protocol/index.ts'
import type { Bus, BusMessage } from '../bus.ts'
import { type HostCheck, hostCheck } from '../http/hosts.ts'
import { originRefusal } from '../http/origins.ts'
import { type SenderOf, trustedProxies } from '../http/proxies.ts'
import {
  ACTIVITY_TIMEOUT_MS,
  GOODBYE_LIMIT_MS,
  MIN_ACTIVITY_TIMEOUT_MS,
  PONG_LIMIT_MS,
  SUBSCRIBE_AGAIN_MS,
} from '../options.ts'
import type { ChannelsHub, Connection, ConnectionHandler, ConnectionRequest, EventNaming } from './index.ts'
import { Occupancy } from './occupancy.ts'
import { type ChannelLimits, type ChannelsOptions, limitsOf } from './options.ts'
import { Presence } from './presence.ts'
import { PRESENCE } from './presence-messages.ts'
import type { MemberChange } from './rosters.ts'
import { isSigned, Signing } from './signing.ts'
import { closeWithError, Socket, type SocketContext } from './socket.ts'
import { Subscribers } from './subscribers.ts'
import { Webhooks } from './webhooks.ts'

/** The query parameter `client` of Holdfast's own client. */
const OWN_LIBRARY = 'holdfast'
const CLIENT_EVENT = 'client-event'
const TERMINATE = 'terminate'
/** A control character, which the name of a channel cannot contain. */
const OCCUPIED = '\0'
const FORMS = ['', 'private-', 'presence-']

export class Hub implements ChannelsHub {
  readonly origins: readonly string[]
  readonly isOwnHost: HostCheck
  readonly senderOf: SenderOf
  readonly #key: string
  readonly #bus: Bus
  readonly #clock: Clock
  readonly #naming: EventNaming
  /** That of our own client, and that of all others. */
  readonly #namings: ReadonlySet<EventNaming>
  readonly #activityTimeoutMs: number
  readonly #limits: ChannelLimits
  readonly #subscribers = new Subscribers<Socket>((channel, isOccupied) =>
    this.#onOccupied(channel, isOccupied),
  )
  readonly #webhooks: Webhooks | undefined
  readonly #presence: Presence
  readonly #occupancy: Occupancy
  readonly #signing: Signing
  readonly #context: SocketContext
  readonly #sockets = new Set<Socket>()
  readonly #socketsOfClient = new Map<string, number>()
  readonly #busSubscription: Promise<AsyncDisposable | undefined>
  #cancelCheck = () => {}
  #closing: Promise<void> | undefined

  constructor(options: ChannelsOptions) {
    checkOptions(options)
    const {
      key,
      secret,
      bus,
      clock = systemClock,
      naming = 'plain',
      activityTimeout = ACTIVITY_TIMEOUT_MS,
    } = options
    this.isOwnHost = hostCheck(options.hosts ?? [], options.listensOn)
    const { origins, trustProxy, proxyHeaders } = options
    const settings = settingsOf({ origins, trustProxy, proxyHeaders })
    this.origins = settings.origins
    this.senderOf = trustedProxies(settings)
    this.#key = key
    this.#bus = bus
    this.#clock = clock
    this.#naming = naming
    this.#namings = new Set(['plain', naming])
    this.#activityTimeoutMs = expectDuration('activityTimeout', activityTimeout, MIN_ACTIVITY_TIMEOUT_MS)
    this.#limits = limitsOf(options.limits)
    this.#signing = new Signing(key, secret)
    this.#webhooks = options.webhook
      ? new Webhooks({ key, secret, clock, url: options.webhook, onError: options.onError ?? (() => {}) })
      : undefined
    this.#presence = new Presence(bus, clock, (change, isOurs) => this.#onMemberChange(change, isOurs))
    const countHere = (prefix: string) => this.#subscribers.count(prefix)
    this.#occupancy = new Occupancy(bus, clock, countHere, this.#presence)
    this.#context = {
      subscribers: this.#subscribers,
      presence: this.#presence,
      signing: this.#signing,
      clock,
      limits: this.#limits,
      publicChannels: options.publicChannels ?? true,
      allows: options.allows,
      onError: options.onError ?? (() => {}),
      clientEvents: options.clientEvents ?? false,
      relay: (channel, text, sender) => this.#relay(channel, text, sender),
    }
    this.#busSubscription = this.#subscribeToBus()
    this.#checkLater()
  }

  get sockets(): number {
    return this.#sockets.size
  }

  broadcast(channel: string, event: string, data: object, except?: string): void {
    const targets = isSigned(channel) ? [channel] : FORMS.map((form) => form + channel)
    for (const target of targets.filter((each) => this.#subscribers.has(each)))
      for (const naming of this.#namings) {
        const createText = () => formatFrame(eventName(event, naming), data, { channel: target })
        const isMeant = (socket: Socket) => socket.naming === naming && socket.id !== except
        this.#subscribers.send(target, createText, isMeant)
      }
  }

  broadcastToOwn(channel: string, event: string, data: object): void {
    for (const target of FORMS.map((form) => form + channel))
      this.#subscribers.send(
        target,
        () => formatFrame(event, data, { channel: target }),
        ({ isOwn }) => isOwn,
      )
  }

  subscribed(): Iterable<string> {
    return this.#subscribers.publicNames()
  }

  async publish(channel: string, event: string, data: string, except?: string): Promise<void> {
    const text = JSON.stringify({ event, channel, data })
    await this.#bus.publish({ topic: CLIENT_EVENT, data: { channel, text, sender: except ?? '' } })
  }

  async terminate(user: string): Promise<void> {
    await this.#bus.publish({ topic: TERMINATE, data: { user } })
  }

  occupied(prefix: string): Promise<ReadonlyMap<string, number>> {
    return this.#occupancy.count(prefix)
  }

  members(channel: string): ReadonlyMap<string, JsonValue> {
    return this.#presence.members(channel)
  }

  sign(socketId: string, channel: string, channelData?: string): Promise<string> {
    return this.#signing.sign(socketId, channel, channelData)
  }

  signUser(socketId: string, userData: string): Promise<string> {
    return this.#signing.signUser(socketId, userData)
  }

  accept(connection: Connection, request: ConnectionRequest): ConnectionHandler | null {
    const refusal = this.#refusalOf(request)
    if (refusal) {
      closeWithError(connection, ...refusal)
      return null
    }
    const { client, library, request: opened } = request
    const isOwn = library === OWN_LIBRARY
    const naming = isOwn ? 'plain' : this.#naming
    const socket = new Socket(randomSocketId(), { naming, isOwn, request: opened }, connection, this.#context)
    this.#sockets.add(socket)
    this.#count(client, 1)
    const activity_timeout = Math.ceil(this.#activityTimeoutMs / 1000)
    socket.send(formatFrame('pusher:connection_established', { socket_id: socket.id, activity_timeout }))
    return {
      received: (text) => socket.received(text),
      alive: () => socket.alive(),
      closed: () => {
        this.#sockets.delete(socket)
        this.#count(client, -1)
        socket.closed()
      },
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    this.#cancelCheck()
    const goodbye = this.#presence.stop()
    for (const socket of this.#sockets) socket.end(PUSHER_CLOSE.comeBackLater, 'the server is going away')
    const late = Promise.withResolvers<void>()
    const cancel = this.#clock.setTimer(late.resolve, GOODBYE_LIMIT_MS, true)
    await Promise.race([goodbye, late.promise])
    await this.#webhooks?.close()
    cancel()
    await (await this.#busSubscription)?.[Symbol.asyncDispose]()
  }

  #refusalOf({ key, protocol, refusedOrigin, client }: ConnectionRequest): [number, string] | null {
    if (this.#closing) return [PUSHER_CLOSE.comeBackLater, 'the server is going away']
    if (key !== this.#key) return [PUSHER_CLOSE.unknownKey, 'there is no application with this key']
    if (protocol === null) return [PUSHER_CLOSE.noProtocol, 'the query parameter protocol is missing']
    if (!/^\d+$/.test(protocol)) return [PUSHER_CLOSE.badProtocol, 'the protocol is not a number']
    if (protocol !== PUSHER_PROTOCOL)
      return [PUSHER_CLOSE.otherProtocol, `only protocol ${PUSHER_PROTOCOL} is supported`]
    if (refusedOrigin !== undefined) return [PUSHER_CLOSE.forbidden, originRefusal(refusedOrigin, 'connect')]
    const count = this.#socketsOfClient.get(client) ?? 0
    if (count >= this.#limits.socketsPerClient)
      return [PUSHER_CLOSE.tooManySockets, 'too many sockets of one client']
    return null
  }

  #count(client: string, change: 1 | -1): void {
    const count = (this.#socketsOfClient.get(client) ?? 0) + change
    if (count > 0) this.#socketsOfClient.set(client, count)
    else this.#socketsOfClient.delete(client)
  }

  #checkLater(): void {
    const everyMs = this.#activityTimeoutMs / 3
    const dueAt = this.#clock.monotonic() + everyMs
    this.#cancelCheck = this.#clock.setTimer(
      () => {
        // After this node stood still, pongs wait to be read. They are, before the next check.
        const stoodStill = this.#clock.monotonic() - dueAt >= PONG_LIMIT_MS / 2
        if (!stoodStill)
          for (const socket of this.#sockets) socket.check(this.#activityTimeoutMs, PONG_LIMIT_MS)
        this.#checkLater()
      },
      everyMs,
      true,
    )
  }

  /** Sockets work without the bus, but they do not see what happens on the other nodes. So it is tried again. */
  async #subscribeToBus(): Promise<AsyncDisposable | undefined> {
    while (!this.#closing) {
      try {
        const subscription = await this.#bus.subscribe((message) => this.#receive(message))
        if (!this.#closing) this.#presence.start()
        return subscription
      } catch {
        await pause(this.#clock, SUBSCRIBE_AGAIN_MS, { background: true })
      }
    }
    return undefined
  }

  #receive(message: BusMessage): void {
    if (message.topic === PRESENCE) this.#presence.receive(message)
    this.#occupancy.receive(message)
    if (message.topic === TERMINATE) this.#terminate(message.data)
    if (message.topic !== CLIENT_EVENT) return
    const { channel, text, sender } = message.data
    if (typeof channel !== 'string' || typeof text !== 'string') return
    const isMeant = ({ id }: Socket) => id !== sender
    this.#subscribers.send(channel, () => text, isMeant)
  }

  #terminate({ user }: BusMessage['data']): void {
    for (const socket of this.#sockets)
      if (socket.user !== null && socket.user === user)
        socket.end(PUSHER_CLOSE.forbidden, 'the connections of this user were ended')
  }

  #relay(channel: string, text: string, sender: string): void {
    this.#bus.publish({ topic: CLIENT_EVENT, data: { channel, text, sender } }).catch(() => {})
  }

  /** For webhooks: each node that occupies a channel is a member of an internal channel, which no client can name. */
  #onOccupied(channel: string, isOccupied: boolean): void {
    if (!this.#webhooks) return
    if (isOccupied) this.#presence.join(OCCUPIED + channel, '', null)
    else this.#presence.leave(OCCUPIED + channel, '')
  }

  #onMemberChange(change: MemberChange, isOurs: boolean): void {
    const { type, channel, id } = change
    const isOccupancy = channel.startsWith(OCCUPIED)
    if (!isOccupancy) this.#sendMemberChange(change)
    if (!isOurs) return
    if (isOccupancy)
      this.#webhooks?.add({
        name: type === 'added' ? 'channel_occupied' : 'channel_vacated',
        channel: channel.slice(OCCUPIED.length),
      })
    else this.#webhooks?.add({ name: `member_${type}`, channel, user_id: id })
  }

  #sendMemberChange({ type, channel, id, info }: MemberChange): void {
    const member = type === 'added' ? { user_id: id, user_info: info } : { user_id: id }
    this.#subscribers.send(channel, () => formatFrame(`pusher_internal:member_${type}`, member, { channel }))
  }
}

function checkOptions(options: ChannelsOptions): void {
  expectOptions(options, {
    key: 1,
    secret: 1,
    bus: 1,
    clock: 1,
    naming: 1,
    publicChannels: 1,
    clientEvents: 1,
    activityTimeout: 1,
    origins: 1,
    limits: 1,
    hosts: 1,
    listensOn: 1,
    webhook: 1,
    onError: 1,
    allows: 1,
    trustProxy: 1,
    proxyHeaders: 1,
  })
  const { key, secret, bus, clock, naming, publicChannels, clientEvents, origins, hosts, allows } = options
  if (typeof key !== 'string' || !/^[\w-]+$/.test(key)) refuse('key', 'letters, digits, - and _', key)
  // Never shown: it is a secret.
  if (typeof secret !== 'string' || secret === '') refuseClient('secret', 'a non-empty string', secret)
  expectMethods('bus', bus, 'a Bus', 'publish', 'subscribe')
  if (clock !== undefined) expectMethods('clock', clock, 'a Clock', 'now', 'monotonic', 'setTimer')
  if (naming !== undefined) expectOneOf('naming', naming, ['plain', 'laravel'])
  if (publicChannels !== undefined) expectBoolean('publicChannels', publicChannels)
  if (clientEvents !== undefined) expectBoolean('clientEvents', clientEvents)
  if (allows !== undefined) expectFunction('allows', allows)
  if (origins !== undefined && !Array.isArray(origins)) refuse('origins', 'an array', origins)
  if (hosts !== undefined && !Array.isArray(hosts)) refuse('hosts', 'an array', hosts)
}

/**
 * @example
 * eventName('document.locked', 'laravel') // 'App\\Events\\DocumentLocked'
 */
function eventName(event: string, naming: EventNaming): string {
  if (naming === 'plain' || !event.startsWith('document.')) return event
  const words = event.split(/[.-]/)
  return `App\\Events\\${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}`
}

/** Two random numbers, so that no two nodes create the same id. */
function randomSocketId(): string {
  return crypto.getRandomValues(new Uint32Array(2)).join('.')
}
