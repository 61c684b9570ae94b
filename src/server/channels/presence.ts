import type { Clock } from '../../base/clock.ts'
import { randomId } from '../../base/random-id.ts'
import type { JsonValue } from '../../base/records.ts'
import type { Bus, BusMessage } from '../bus.ts'
import {
  NODE_LOST_AFTER_MS,
  PRESENCE_BEAT_MS,
  PRESENCE_ENTRIES_PER_PAGE,
  STOOD_STILL_MS,
} from '../options.ts'
import {
  PRESENCE,
  type PresenceContent,
  type PresenceMessage,
  parsePresence,
  type RosterPage,
} from './presence-messages.ts'
import { addEntry, entriesOf, type MemberChange, type Roster, Rosters } from './rosters.ts'

/** `isOurs`: this node has caused the change, or is the first of the nodes. It alone reports the change to others. */
export type OnMemberChange = (change: MemberChange, isOurs: boolean) => void

/** Another node. */
interface Peer {
  lastMessageAt: number
  nextSeq: number
  /** Whether its roster is known, up to the last message. */
  synced: boolean
  /** The pages of a roster that is still arriving. */
  pages: Roster | null
}

/**
 * Who is in the presence channels, on all nodes. Each node publishes its own members as they come and go, and a
 * regular beat.
 *
 *     unknown ──message──▶ behind ──its whole roster──▶ synced ──a message is missing──▶ behind
 *                                                         └── says goodbye, or is silent ──▶ unknown
 *
 * A node that is behind asks for the roster, and asks again at every beat. Until then it shows what it knew.
 */
export class Presence {
  /** The id of this node. */
  readonly node = randomId()
  readonly #bus: Bus
  readonly #clock: Clock
  readonly #onChange: OnMemberChange
  readonly #rosters = new Rosters()
  /** How many sockets of this node each of its members has, by channel and user. */
  readonly #sockets = new Map<string, number>()
  readonly #peers = new Map<string, Peer>()
  #seq = 0
  #stopped = false
  #beatAt = 0
  #cancelBeat = () => {}

  constructor(bus: Bus, clock: Clock, onChange: OnMemberChange) {
    this.#bus = bus
    this.#clock = clock
    this.#onChange = onChange
  }

  /** The ids of the other nodes. */
  get peers(): Iterable<string> {
    return this.#peers.keys()
  }

  members(channel: string): Map<string, JsonValue> {
    return this.#rosters.members(channel)
  }

  join(channel: string, id: string, info: JsonValue): void {
    const key = keyOf(channel, id)
    const sockets = this.#sockets.get(key) ?? 0
    this.#sockets.set(key, sockets + 1)
    if (sockets > 0) return
    this.#report(this.#rosters.add(this.node, channel, id, info), !this.#stopped)
    this.#publish({ kind: 'joined', entry: [channel, id, info] })
  }

  leave(channel: string, id: string): void {
    const key = keyOf(channel, id)
    const sockets = this.#sockets.get(key) ?? 0
    if (sockets > 1) {
      this.#sockets.set(key, sockets - 1)
      return
    }
    this.#sockets.delete(key)
    this.#report(this.#rosters.remove(this.node, channel, id), !this.#stopped)
    this.#publish({ kind: 'left', channel, id })
  }

  /** To be called when this node receives the messages of the bus. */
  start(): void {
    this.#publish({ kind: 'beat' })
    this.#beatAt = this.#clock.monotonic()
    this.#cancelBeat = this.#clock.setTimer(() => this.#beat(), PRESENCE_BEAT_MS, true)
  }

  receive(message: BusMessage): void {
    const presence = parsePresence(message)
    if (!presence || presence.node === this.node) return
    if (presence.kind === 'bye') this.#forget(presence.node, this.#isFirst(presence.node))
    else this.#follow(presence)
  }

  /** The other nodes forget its members at once, so nothing is published after that. */
  stop(): Promise<void> {
    this.#cancelBeat()
    const goodbye = this.#publish({ kind: 'bye' })
    this.#stopped = true
    return goodbye
  }

  #follow(message: PresenceMessage): void {
    const { node, seq } = message
    const peer = this.#peers.get(node) ?? { lastMessageAt: 0, nextSeq: -1, synced: false, pages: null }
    this.#peers.set(node, peer)
    const missed = seq !== peer.nextSeq
    if (missed) Object.assign(peer, { synced: false, pages: null })
    Object.assign(peer, { lastMessageAt: this.#clock.monotonic(), nextSeq: seq + 1 })
    this.#apply(message, node, peer)
    const isBehind = !peer.synced && !peer.pages
    if (isBehind && (missed || message.kind === 'beat')) this.#publish({ kind: 'ask', of: node })
  }

  #apply(content: PresenceContent, node: string, peer: Peer): void {
    if (content.kind === 'ask' && content.of === this.node) this.#publishRoster()
    if (content.kind === 'roster') this.#addPage(content, node, peer)
    if (!peer.synced) return
    if (content.kind === 'joined') this.#report(this.#rosters.add(node, ...content.entry))
    if (content.kind === 'left') this.#report(this.#rosters.remove(node, content.channel, content.id))
  }

  #addPage({ entries, first, last }: RosterPage, node: string, peer: Peer): void {
    if (first) peer.pages = new Map()
    if (!peer.pages) return
    for (const entry of entries) addEntry(peer.pages, ...entry)
    if (!last) return
    this.#report(this.#rosters.replace(node, peer.pages))
    Object.assign(peer, { synced: true, pages: null })
  }

  #publishRoster(): void {
    const entries = entriesOf(this.#rosters.of(this.node))
    const pages = Math.max(1, Math.ceil(entries.length / PRESENCE_ENTRIES_PER_PAGE))
    for (let page = 0; page < pages; page++) {
      const part = entries.slice(page * PRESENCE_ENTRIES_PER_PAGE, (page + 1) * PRESENCE_ENTRIES_PER_PAGE)
      this.#publish({ kind: 'roster', entries: part, first: page === 0, last: page === pages - 1 })
    }
  }

  #beat(): void {
    const now = this.#clock.monotonic()
    const stoodStill = now - this.#beatAt >= STOOD_STILL_MS
    for (const [node, peer] of this.#peers) {
      if (stoodStill) peer.lastMessageAt = now
      else if (peer.lastMessageAt < now - NODE_LOST_AFTER_MS) this.#forget(node, this.#isFirst(node))
    }
    this.start()
  }

  #forget(node: string, isOurs: boolean): void {
    this.#peers.delete(node)
    this.#report(this.#rosters.drop(node), isOurs)
  }

  /** Whether this node speaks for the others about one that was lost. */
  #isFirst(lost: string): boolean {
    return [...this.#peers.keys()].every((node) => node === lost || this.node < node)
  }

  #report(changes: readonly MemberChange[], isOurs = false): void {
    for (const change of changes) this.#onChange(change, isOurs)
  }

  /** If a message is lost, the others notice the gap in the numbers and ask for the roster. */
  async #publish(content: PresenceContent): Promise<void> {
    if (this.#stopped) return
    const data = { node: this.node, seq: this.#seq++, ...content }
    await this.#bus.publish({ topic: PRESENCE, data }).catch(() => {})
  }
}

function keyOf(channel: string, id: string): string {
  return JSON.stringify([channel, id])
}
