import type { Clock, JsonValue } from '../../core/index.ts'
import type { Bus, BusMessage } from '../bus.ts'
import { type News, PRESENCE, type PresenceNews, parseNews } from './presence-news.ts'
import { type Entry, enter, entriesOf, type MemberChange, type Roster, Rosters } from './rosters.ts'

const BEAT_MS = 10_000
const LOST_AFTER_MS = 35_000
/** Some thousand bytes each at most, so that a page fits into a message of every bus. */
const ENTRIES_A_PAGE = 100

/** Another node, as far as it was heard. */
interface Peer {
  heardAt: number
  nextSeq: number
  /** Whether its roster is known, up to the last message. */
  synced: boolean
  /** The pages of a roster that is being told. */
  pages: Roster | null
}

/**
 * Who is in the presence channels, on all nodes. Each node tells its own members as they come and go, and beats.
 *
 *     unknown ──heard──▶ behind ──its whole roster──▶ synced ──a number is missing──▶ behind
 *                                                       └── says bye, or is silent ──▶ unknown
 *
 * A node that is behind asks for the roster, and asks again at every beat; till then it shows what it knew.
 */
export class Presence {
  readonly #bus: Bus
  readonly #clock: Clock
  readonly #changed: (change: MemberChange) => void
  readonly #node = crypto.randomUUID()
  readonly #rosters = new Rosters()
  /** How many sockets of this node each of its members has, by channel and user. */
  readonly #sockets = new Map<string, number>()
  readonly #peers = new Map<string, Peer>()
  #seq = 0
  #stopped = false
  #cancelBeat = () => {}

  constructor(bus: Bus, clock: Clock, changed: (change: MemberChange) => void) {
    this.#bus = bus
    this.#clock = clock
    this.#changed = changed
  }

  members(channel: string): Map<string, JsonValue> {
    return this.#rosters.members(channel)
  }

  join(channel: string, id: string, info: JsonValue): void {
    const key = keyOf(channel, id)
    const sockets = this.#sockets.get(key) ?? 0
    this.#sockets.set(key, sockets + 1)
    if (sockets > 0) return
    this.#tellChanges(this.#rosters.add(this.#node, channel, id, info))
    this.#publish({ kind: 'joined', entry: [channel, id, info] })
  }

  leave(channel: string, id: string): void {
    const key = keyOf(channel, id)
    const sockets = this.#sockets.get(key) ?? 0
    if (sockets > 1) return void this.#sockets.set(key, sockets - 1)
    this.#sockets.delete(key)
    this.#tellChanges(this.#rosters.remove(this.#node, channel, id))
    this.#publish({ kind: 'left', channel, id })
  }

  /** From when the bus is heard. */
  start(): void {
    this.#publish({ kind: 'beat' })
    this.#cancelBeat = this.#clock.setTimer(() => this.#beat(), BEAT_MS, true)
  }

  hear(message: BusMessage): void {
    const news = parseNews(message)
    if (!news || news.node === this.#node) return
    if (news.kind === 'bye') this.#forget(news.node)
    else this.#follow(news)
  }

  /** The others forget its members at once, so what its sockets do from then on is not told. */
  stop(): Promise<void> {
    this.#cancelBeat()
    const bye = this.#publish({ kind: 'bye' })
    this.#stopped = true
    return bye
  }

  #follow(news: PresenceNews): void {
    const { node, seq } = news
    const peer = this.#peers.get(node) ?? { heardAt: 0, nextSeq: -1, synced: false, pages: null }
    this.#peers.set(node, peer)
    const missed = seq !== peer.nextSeq
    if (missed) Object.assign(peer, { synced: false, pages: null })
    Object.assign(peer, { heardAt: this.#clock.monotonic(), nextSeq: seq + 1 })
    this.#apply(news, node, peer)
    const behind = !peer.synced && !peer.pages
    if (behind && (missed || news.kind === 'beat')) this.#publish({ kind: 'ask', of: node })
  }

  #apply(news: News, node: string, peer: Peer): void {
    if (news.kind === 'ask' && news.of === this.#node) this.#tellRoster()
    if (news.kind === 'roster') this.#turnPage(news, node, peer)
    if (!peer.synced) return
    if (news.kind === 'joined') this.#tellChanges(this.#rosters.add(node, ...news.entry))
    if (news.kind === 'left') this.#tellChanges(this.#rosters.remove(node, news.channel, news.id))
  }

  #turnPage({ entries, first, last }: News & { kind: 'roster' }, node: string, peer: Peer): void {
    if (first) peer.pages = new Map()
    if (!peer.pages) return
    for (const entry of entries) enter(peer.pages, ...entry)
    if (!last) return
    this.#tellChanges(this.#rosters.replace(node, peer.pages))
    Object.assign(peer, { synced: true, pages: null })
  }

  #tellRoster(): void {
    const entries = entriesOf(this.#rosters.of(this.#node))
    const pages = Math.max(1, Math.ceil(entries.length / ENTRIES_A_PAGE))
    for (let page = 0; page < pages; page++) {
      const part: Entry[] = entries.slice(page * ENTRIES_A_PAGE, (page + 1) * ENTRIES_A_PAGE)
      this.#publish({ kind: 'roster', entries: part, first: page === 0, last: page === pages - 1 })
    }
  }

  #beat(): void {
    const lostBefore = this.#clock.monotonic() - LOST_AFTER_MS
    for (const [node, { heardAt }] of this.#peers) if (heardAt < lostBefore) this.#forget(node)
    this.start()
  }

  #forget(node: string): void {
    this.#peers.delete(node)
    this.#tellChanges(this.#rosters.drop(node))
  }

  #tellChanges(changes: readonly MemberChange[]): void {
    for (const change of changes) this.#changed(change)
  }

  /** What is lost leaves a gap in the numbers, and is made up for. */
  async #publish(news: News): Promise<void> {
    if (this.#stopped) return
    const data = { node: this.#node, seq: this.#seq++, ...news }
    await this.#bus.publish({ topic: PRESENCE, data }).catch(() => {})
  }
}

function keyOf(channel: string, id: string): string {
  return JSON.stringify([channel, id])
}
