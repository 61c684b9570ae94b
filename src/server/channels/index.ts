import type { Clock } from '../../core/index.ts'
import type { Bus } from '../bus.ts'
import { Hub } from './hub.ts'
import type { ChannelLimits } from './limits.ts'
import type { EventNaming } from './naming.ts'

export type { ChannelLimits, EventNaming }

/** What the service needs of the sockets of this node. */
export interface Channels {
  /**
   * Sends an event to the sockets of this node that have subscribed to the channel in its public, private or
   * presence form, but for the socket `except`. A name with the prefix of a form means that form alone.
   */
  broadcast(channel: string, event: string, data: object, except?: string): void
  /** The public names of all channels with a socket of this node, whatever form it has subscribed to. */
  subscribed(): Iterable<string>
  /** The answer of the auth endpoint for a private or presence channel: `key:signature`. */
  sign(socketId: string, channel: string, channelData?: string): Promise<string>
}

/** The sockets themselves, for the binding to a server. */
export interface ChannelsHub extends Channels {
  /** Origins whose pages may connect, beside the server's own. */
  readonly origins: readonly string[]
  /** How many sockets are open. */
  readonly sockets: number
  /** `null` when the connection was refused, and told why. */
  accept(connection: Connection, request: ConnectionRequest): Visitor | null
  /** Tells every socket to come back later, perhaps to another node. Leaves the bus open. */
  close(): Promise<void>
}

/** One open WebSocket. Neither call may throw. */
export interface Connection {
  send(text: string): void
  close(code: number, reason: string): void
}

export interface ConnectionRequest {
  /** From the path, `/app/{key}`. */
  readonly key: string
  /** The query parameter `protocol`. */
  readonly protocol: string | null
  /** The query parameter `client`. Our own is always told plain event names. */
  readonly library?: string | null
  /** The origin of a page that may not connect. */
  readonly refusedOrigin?: string | undefined
  /** Whom the limit of sockets counts, such as an address. */
  readonly client: string
}

/** What the binding reports of a connection that was accepted. */
export interface Visitor {
  received(text: string): void
  /** A ping or pong below the protocol. */
  alive(): void
  /** Once, whoever has closed it. */
  closed(): void
}

export interface ChannelsOptions {
  /** Names the application in the address of the socket, `/app/{key}`. Letters, digits, `-` and `_`. */
  readonly key: string
  /** Signs who may subscribe to private and presence channels; the same on all nodes. */
  readonly secret: string
  readonly bus: Bus
  readonly clock?: Clock
  /** How events are named: `document.locked`, or `App\Events\DocumentLocked`. Default `plain`. */
  readonly naming?: EventNaming
  /** Whether one may subscribe without a signature. Default true. */
  readonly publicChannels?: boolean
  /** Whether sockets may send events to each other. Default false. */
  readonly clientEvents?: boolean
  /** Milliseconds of silence after which a socket is pinged. Default 30 000. */
  readonly activityTimeout?: number
  /** Other origins whose pages may connect, beside the server's own. Default none. */
  readonly origins?: readonly string[]
  readonly limits?: Partial<ChannelLimits>
}

/**
 * The channels of one node, by the Pusher protocol.
 *
 * @example
 * const channels = createChannels({ key: 'app', secret, bus: memoryBus() })
 * channels.broadcast('document.42', 'document.locked', { room_id: '42' })
 */
export function createChannels(options: ChannelsOptions): ChannelsHub {
  return new Hub(options)
}
