import { hide } from '../../configuration/setting-kinds.ts'
import { type Clock, systemClock } from '../../core/index.ts'
import { formatFrame, PUSHER_CLOSE, PUSHER_PROTOCOL } from '../../protocol/index.ts'
import type { Bus, BusMessage } from '../bus.ts'
import { originRefusal } from '../http/origins.ts'
import type { ChannelsHub, ChannelsOptions, Connection, ConnectionRequest, Visitor } from './index.ts'
import { type ChannelLimits, limitsOf } from './limits.ts'
import { type EventNaming, eventName } from './naming.ts'
import { Presence } from './presence.ts'
import { PRESENCE } from './presence-news.ts'
import { refuse } from './refuse.ts'
import { Rooms } from './rooms.ts'
import type { MemberChange } from './rosters.ts'
import { isSigned, Signing } from './signing.ts'
import { dismiss, Socket, type Surroundings } from './socket.ts'

const OWN_LIBRARY = 'holdfast'
const CLIENT_EVENT = 'client-event'
const FORMS = ['', 'private-', 'presence-']
const PONG_LIMIT_MS = 30_000
const LISTEN_AGAIN_MS = 1000
const BYE_LIMIT_MS = 1000

export class Hub implements ChannelsHub {
  readonly origins: readonly string[]
  readonly #key: string
  readonly #bus: Bus
  readonly #clock: Clock
  readonly #naming: EventNaming
  readonly #activityTimeoutMs: number
  readonly #limits: ChannelLimits
  readonly #rooms = new Rooms<Socket>()
  readonly #presence: Presence
  readonly #signing: Signing
  readonly #surroundings: Surroundings
  readonly #sockets = new Set<Socket>()
  readonly #socketsOf = new Map<string, number>()
  readonly #listening: Promise<AsyncDisposable | undefined>
  #cancelCheck = () => {}
  #closed = false

  constructor(options: ChannelsOptions) {
    const { key, secret, bus, clock = systemClock, naming = 'plain', activityTimeout = 30_000 } = options
    if (typeof key !== 'string' || !/^[\w-]+$/.test(key)) refuse('key', 'letters, digits, - and _', key)
    if (typeof secret !== 'string' || secret === '') refuse('secret', 'a non-empty string', secret, hide)
    if (naming !== 'plain' && naming !== 'laravel') refuse('naming', 'plain or laravel', naming)
    if (!(activityTimeout >= 1000)) refuse('activityTimeout', 'milliseconds from 1000 on', activityTimeout)
    this.origins = options.origins ?? []
    this.#key = key
    this.#bus = bus
    this.#clock = clock
    this.#naming = naming
    this.#activityTimeoutMs = activityTimeout
    this.#limits = limitsOf(options.limits)
    this.#signing = new Signing(key, secret)
    this.#presence = new Presence(bus, clock, (change) => this.#tellMember(change))
    this.#surroundings = {
      rooms: this.#rooms,
      presence: this.#presence,
      signing: this.#signing,
      clock,
      limits: this.#limits,
      publicChannels: options.publicChannels ?? true,
      clientEvents: options.clientEvents ?? false,
      relay: (channel, text, sender) => this.#relay(channel, text, sender),
    }
    this.#listening = this.#listen()
    this.#checkLater()
  }

  get sockets(): number {
    return this.#sockets.size
  }

  broadcast(channel: string, event: string, data: object, except?: string): void {
    const namings = new Set<EventNaming>(['plain', this.#naming])
    for (const target of isSigned(channel) ? [channel] : FORMS.map((form) => form + channel))
      for (const naming of namings) {
        const makeText = () => formatFrame(eventName(event, naming), data, { channel: target })
        this.#rooms.tell(target, makeText, (socket) => socket.naming === naming && socket.id !== except)
      }
  }

  subscribed(): Iterable<string> {
    return this.#rooms.publicNames()
  }

  sign(socketId: string, channel: string, channelData?: string): Promise<string> {
    return this.#signing.sign(socketId, channel, channelData)
  }

  accept(connection: Connection, request: ConnectionRequest): Visitor | null {
    const refusal = this.#refusalOf(request)
    if (refusal) {
      dismiss(connection, ...refusal)
      return null
    }
    const { client, library } = request
    const naming = library === OWN_LIBRARY ? 'plain' : this.#naming
    const socket = new Socket(freshSocketId(), naming, connection, this.#surroundings)
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

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#cancelCheck()
    const bye = this.#presence.stop()
    for (const socket of this.#sockets) socket.end(PUSHER_CLOSE.comeBackLater, 'the server is going away')
    const late = Promise.withResolvers<void>()
    const cancel = this.#clock.setTimer(late.resolve, BYE_LIMIT_MS, true)
    await Promise.race([bye, late.promise])
    cancel()
    await (await this.#listening)?.[Symbol.asyncDispose]()
  }

  #refusalOf({ key, protocol, refusedOrigin, client }: ConnectionRequest): [number, string] | null {
    if (this.#closed) return [PUSHER_CLOSE.comeBackLater, 'the server is going away']
    if (key !== this.#key) return [PUSHER_CLOSE.unknownKey, 'there is no application with this key']
    if (protocol === null) return [PUSHER_CLOSE.noProtocol, 'the query parameter protocol is missing']
    if (!/^\d+$/.test(protocol)) return [PUSHER_CLOSE.badProtocol, 'the protocol is not a number']
    if (protocol !== PUSHER_PROTOCOL)
      return [PUSHER_CLOSE.otherProtocol, `only protocol ${PUSHER_PROTOCOL} is spoken here`]
    if (refusedOrigin !== undefined) return [PUSHER_CLOSE.forbidden, originRefusal(refusedOrigin, 'connect')]
    const count = this.#socketsOf.get(client) ?? 0
    if (count >= this.#limits.socketsPerClient)
      return [PUSHER_CLOSE.tooManySockets, 'too many sockets of one client']
    return null
  }

  #count(client: string, change: 1 | -1): void {
    const count = (this.#socketsOf.get(client) ?? 0) + change
    if (count > 0) this.#socketsOf.set(client, count)
    else this.#socketsOf.delete(client)
  }

  #checkLater(): void {
    this.#cancelCheck = this.#clock.setTimer(
      () => {
        for (const socket of this.#sockets) socket.check(this.#activityTimeoutMs, PONG_LIMIT_MS)
        this.#checkLater()
      },
      this.#activityTimeoutMs / 3,
      true,
    )
  }

  /** Sockets are served while the bus cannot be heard; they only do not see the other nodes. */
  async #listen(): Promise<AsyncDisposable | undefined> {
    while (!this.#closed) {
      try {
        const subscription = await this.#bus.subscribe((message) => this.#hear(message))
        if (!this.#closed) this.#presence.start()
        return subscription
      } catch {
        await new Promise<void>((resolve) => this.#clock.setTimer(resolve, LISTEN_AGAIN_MS, true))
      }
    }
    return undefined
  }

  #hear(message: BusMessage): void {
    const { channel, text, sender } = message.data
    if (message.topic === PRESENCE) this.#presence.hear(message)
    if (message.topic === CLIENT_EVENT)
      this.#rooms.tell(
        String(channel),
        () => String(text),
        ({ id }) => id !== sender,
      )
  }

  #relay(channel: string, text: string, sender: string): void {
    this.#bus.publish({ topic: CLIENT_EVENT, data: { channel, text, sender } }).catch(() => {})
  }

  #tellMember({ type, channel, id, info }: MemberChange): void {
    const member = type === 'added' ? { user_id: id, user_info: info } : { user_id: id }
    this.#rooms.tell(channel, () => formatFrame(`pusher_internal:member_${type}`, member, { channel }))
  }
}

/** Two numbers by chance, so that no two nodes give the same. */
function freshSocketId(): string {
  return crypto.getRandomValues(new Uint32Array(2)).join('.')
}
