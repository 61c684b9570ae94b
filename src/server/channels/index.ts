/*
 * Channels for sockets. This folder knows frames but no network: a binding gives it connections that send text and
 * close.
 *
 *     service ─ broadcast ─▶ hub ─▶ subscribers ─▶ socket ─▶ connection        (../node/sockets.ts: ws)
 *     socket ─ frame ─▶ hub ─ presence, client events ─▶ bus ─▶ the hub of every node
 *
 * A broadcast reaches the sockets of its own node. What other nodes must hear goes over the bus, and each node
 * broadcasts it. Each node numbers its presence messages, and a node that misses a number asks for the whole list.
 * Members are stored per node and combined when they are read, so no counter can go wrong. A broadcast creates its
 * text once, and the binding its frame. The binding writes to the stream below `ws`, which is safe only because `ws`
 * compresses nothing here and so keeps nothing back.
 */
import type { JsonValue } from '../../base/records.ts'
import type { HostCheck } from '../http/hosts.ts'
import type { SenderOf } from '../http/proxies.ts'
import { Hub } from './hub.ts'
import type { ChannelLimits, ChannelsOptions } from './options.ts'

export { channelInUse, NFC_EXPECTED } from './signing.ts'
export type { ChannelLimits }

/** What the service needs of the sockets of this node. */
export interface Channels {
  /**
   * Sends an event to the sockets of this node that have subscribed to the channel in its public, private or
   * presence form, except the socket `except`. A name with the prefix of a form means only that form.
   */
  broadcast(channel: string, event: string, data: object, except?: string): void
  /** The same, but only to the sockets of Holdfast's own client. */
  broadcastToOwn(channel: string, event: string, data: object): void
  /** The public names of all channels that a socket of this node has subscribed to in any form. */
  subscribed(): Iterable<string>
  /**
   * Sends an event to the subscribers of exactly this channel on all nodes, except the socket `except`. `data` is sent
   * as it is.
   */
  publish(channel: string, event: string, data: string, except?: string): Promise<void>
  /** Ends the sockets that have signed in as this user, on all nodes. They may not come back by themselves. */
  terminate(userId: string): Promise<void>
  /** How many sockets on all nodes have subscribed to each channel that begins with the prefix. */
  occupied(prefix: string): Promise<ReadonlyMap<string, number>>
  /** The members of a presence channel, on all nodes. */
  members(channel: string): ReadonlyMap<string, JsonValue>
  /** The signature for a private or presence channel, as the auth endpoint returns it: `key:signature`. */
  sign(socketId: string, channel: string, channelData?: string): Promise<string>
  /** The signature with which a socket signs in as a user. `userData` is JSON with an `id`. */
  signUser(socketId: string, userData: string): Promise<string>
}

/** The sockets themselves, for the binding to a server. */
export interface ChannelsHub extends Channels, AsyncDisposable {
  /** Origins whose pages may connect besides the server's own. */
  readonly origins: readonly string[]
  /** Whether sockets may connect to this `Host`. */
  readonly isOwnHost: HostCheck
  /** Who connects, and to which name, by the address of the connection and the headers of trusted proxies. */
  readonly senderOf: SenderOf
  /** How many sockets are open. */
  readonly sockets: number
  /** `null`: the connection was refused, and was told why. */
  accept(connection: Connection, request: ConnectionRequest): ConnectionHandler | null
  /** Tells every socket to come back later, perhaps to another node. The bus stays open. */
  close(): Promise<void>
}

/** One open WebSocket. Neither method may throw. */
export interface Connection {
  send(text: string): void
  close(code: number, reason: string): void
}

export interface ConnectionRequest {
  /** From the path, `/app/{key}`. */
  readonly key: string
  /** The query parameter `protocol`. */
  readonly protocol: string | null
  /** The query parameter `client`. Holdfast's own client always gets plain event names. */
  readonly library?: string | null | undefined
  /** The origin of a page that may not connect. */
  readonly refusedOrigin?: string | undefined
  /** What the limit of sockets counts, such as an address. */
  readonly client: string
  /** The request that opened the connection, for `allows`. */
  readonly request?: Request | undefined
}

/** What the binding calls for a connection that was accepted. */
export interface ConnectionHandler {
  received(text: string): void
  /** A ping or pong of the WebSocket itself has arrived. */
  alive(): void
  /** To be called once, no matter who has closed the connection. */
  closed(): void
}

/** How the events of documents are named: as they are, or like the classes that Laravel would broadcast. */
export type EventNaming = 'plain' | 'laravel'

/**
 * The channels of one node, with the Pusher protocol.
 *
 * @example
 * const channels = createChannels({ key: 'app', secret, bus: memoryBus() })
 * channels.broadcast('document.42', 'document.locked', { room_id: '42' })
 */
export function createChannels(options: ChannelsOptions): ChannelsHub {
  return new Hub(options)
}
