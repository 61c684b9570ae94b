import { isObject } from '../base/arguments.ts'
import type { Clock } from '../base/clock.ts'
import type { JsonObject, LeaseRecord } from '../base/records.ts'
import {
  clientChannel,
  type DocumentEvent,
  type DocumentEventName,
  LEASES_CHANNEL,
  type ObservedLease,
  type Person,
  roomChannel,
  toWire,
} from '../protocol/index.ts'
import type { Bus, BusMessage } from './bus.ts'
import type { Channels } from './channels/index.ts'
import type { HolderNames } from './holder-names.ts'
import { roomOf, roomResource } from './identity.ts'
import type { LeaseFeed, LeaseFeedEvent } from './lease-feed.ts'
import { setLimited } from './limited-map.ts'
import { EARLY_BEAT_FRACTION, MAX_REMEMBERED_RENEWALS } from './options.ts'
import type { Terms } from './room-terms.ts'

const ROOM_TOPIC = 'document'
const CLIENT_TOPIC = 'lease-push'

export interface AnnouncerOptions {
  readonly channels: Channels
  readonly bus: Bus
  readonly clock: Clock
  readonly termsOf: (room: string) => Terms
  readonly names: HolderNames
}

/**
 * Sends events to the sockets of this node. Changes of leases come from the feed, which every node has. All other
 * events reach the other nodes over the bus.
 */
export class Announcer {
  readonly #channels: Channels
  readonly #bus: Bus
  readonly #clock: Clock
  readonly #termsOf: AnnouncerOptions['termsOf']
  readonly #names: HolderNames
  /** When the room was last told of a renewal. */
  readonly #renewedAt = new Map<string, number>()

  constructor({ channels, bus, clock, termsOf, names }: AnnouncerOptions) {
    this.#channels = channels
    this.#bus = bus
    this.#clock = clock
    this.#termsOf = termsOf
    this.#names = names
  }

  /** Announces changes from now on. The leases that the feed found at its start are not announced. */
  follow(feed: LeaseFeed): void {
    feed.subscribe((event) => this.#onFeedEvent(event))
    feed.onGap(() => this.#channels.broadcast(LEASES_CHANNEL, 'lease.gap', {}))
  }

  /** To everybody in the room, on every node. */
  async publishToRoom<Name extends DocumentEventName>(name: Name, event: DocumentEvent<Name>): Promise<void> {
    await this.#bus.publish({ topic: ROOM_TOPIC, data: { name, event } })
  }

  /** The holder of a room has this name from now on. */
  async publishName(room: string, lease: LeaseRecord, name: string | null): Promise<void> {
    this.#names.set(lease.resource, lease.token, name)
    await this.publishToRoom('document.renewed', lockedEvent(room, this.#names.current(lease)))
  }

  /** To everybody in the room who is connected to this node, if every node sends the event itself. */
  sendToRoom<Name extends DocumentEventName>(name: Name, event: DocumentEvent<Name>): void {
    this.#channels.broadcast(roomChannel(event.room_id), name, event)
  }

  /** To one client of the lease API, whichever node it is connected to. */
  async publishToClient(
    client: string,
    name: 'lease.wake' | 'lease.lost',
    event: Record<string, string | number>,
  ) {
    await this.#bus.publish({ topic: CLIENT_TOPIC, data: { client, name, event } })
  }

  receive({ topic, data }: BusMessage): void {
    const { name, event, client } = data
    if (typeof name !== 'string' || typeof event !== 'object' || event === null) return
    if (topic === CLIENT_TOPIC && typeof client === 'string')
      this.#channels.broadcast(clientChannel(client), name, event)
    const { room_id: room } = event as JsonObject
    if (topic !== ROOM_TOPIC || typeof room !== 'string') return
    if (name === 'document.renewed')
      this.#receiveName(room, event as Partial<DocumentEvent<'document.renewed'>>)
    else this.#channels.broadcast(roomChannel(room), name, event)
  }

  /** Of a node that may have another version. */
  #receiveName(room: string, event: Partial<DocumentEvent<'document.renewed'>>): void {
    const { token, holder } = event
    const { name = null } = Object(holder) as { readonly name?: unknown }
    if (typeof token !== 'number' || !isObject(holder) || !(name === null || typeof name === 'string')) return
    this.#names.set(roomResource(room), token, name)
    this.#channels.broadcastToOwn(roomChannel(room), 'document.renewed', event)
  }

  #onFeedEvent({ phase, lease: granted }: LeaseFeedEvent): void {
    const lease = this.#names.current(granted)
    this.#channels.broadcast(LEASES_CHANNEL, 'lease.change', { lease: observed(lease) })
    const room = roomOf(lease.resource)
    if (room === null) return
    if (phase === 'renewed') this.#onRenewed(room, lease)
    if (phase === 'started') this.sendToRoom('document.locked', lockedEvent(room, lease))
    if (phase === 'ended') this.sendToRoom('document.unlocked', unlockedEvent(room, lease))
  }

  /**
   * For those who show when the lock ends: the pages of our own client. A holder that sends heartbeats too often does not
   * make them hear of it more often.
   */
  #onRenewed(room: string, lease: LeaseRecord): void {
    const now = this.#clock.monotonic()
    const last = this.#renewedAt.get(room) ?? -Infinity
    if (now - last < this.#termsOf(room).heartbeat * EARLY_BEAT_FRACTION) return
    this.#renewedAt.delete(room)
    setLimited(this.#renewedAt, room, now, MAX_REMEMBERED_RENEWALS)
    const event: DocumentEvent<'document.renewed'> = lockedEvent(room, lease)
    this.#channels.broadcastToOwn(roomChannel(room), 'document.renewed', event)
  }
}

/** Without the id: everybody who knows it could renew and release the lease. */
export function observed({ id: _, ...lease }: LeaseRecord): ObservedLease {
  return toWire(lease)
}

/** What others see of the holder. */
export function personOf({ owner, metadata }: LeaseRecord): Person {
  const { client, name } = metadata ?? {}
  return {
    session_id: owner,
    ...(typeof client === 'string' && { client_id: client }),
    ...(typeof name === 'string' && { name }),
  }
}

/** The same for two requests of one client. */
export function keyOf({ session_id, client_id = '' }: Person): string {
  return JSON.stringify([session_id, client_id])
}

/** The times of a live lease, as they are in every answer. */
export function timesOf({ acquiredAt, expiresAt, remaining }: LeaseRecord) {
  return {
    locked_at: new Date(acquiredAt).toISOString(),
    expires_at: new Date(expiresAt ?? 0).toISOString(),
    expires_in_ms: Math.max(0, Math.floor(remaining ?? 0)),
  }
}

function lockedEvent(room: string, lease: LeaseRecord): DocumentEvent<'document.locked'> {
  const { owner, token } = lease
  return { room_id: room, session_id: owner, token, holder: personOf(lease), ...timesOf(lease) }
}

function unlockedEvent(room: string, lease: LeaseRecord): DocumentEvent<'document.unlocked'> {
  const { owner, token, state } = lease
  const reason = state === 'held' || state === 'kept' ? 'expired' : state
  const { locked_at } = timesOf(lease)
  return { room_id: room, session_id: owner, token, holder: personOf(lease), locked_at, reason }
}
