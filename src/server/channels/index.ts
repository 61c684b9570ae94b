import type { Clock } from '../../core/index.ts'
import type { Bus } from '../bus.ts'

/** What the service needs of the sockets of this node. */
export interface Channels {
  /**
   * Sends an event to the sockets of this node that have subscribed to the channel in its public, private or
   * presence form, but for the socket `except`.
   */
  broadcast(channel: string, event: string, data: object, except?: string): void
  /** The public names of all channels with a socket of this node, whatever form it has subscribed to. */
  subscribed(): Iterable<string>
  /** The answer of the auth endpoint for a private or presence channel: `key:signature`. */
  sign(socketId: string, channel: string, channelData?: string): Promise<string>
}

/** The sockets themselves, for the binding to a server. */
export interface ChannelsHub extends Channels {
  /** How many sockets are open. */
  readonly sockets: number
  accept(connection: Connection, request: ConnectionRequest): Visitor | null
  /** Tells every socket to come back later, perhaps to another node. Leaves the bus open. */
  close(): Promise<void>
}

/** One open WebSocket. */
export interface Connection {
  send(text: string): void
  close(code: number, reason: string): void
}

export interface ConnectionRequest {
  /** From the path, `/app/{key}`. */
  readonly key: string
  /** The query parameter `protocol`. */
  readonly protocol: string | null
  /** Whom the limit of sockets counts, such as an address. */
  readonly client: string
}

/** What the binding reports of a connection that was accepted. */
export interface Visitor {
  received(text: string): void
  closed(): void
}

export interface ChannelsOptions {
  readonly key: string
  readonly secret: string
  readonly bus: Bus
  readonly clock?: Clock
}
