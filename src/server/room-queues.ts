/**
 * The waiters of each room, on all nodes, to be shown to people. The queue itself is in the store, without names.
 * Each node tells the others over the bus which clients wait at it, and forgets what a silent node has said. A message
 * contains only the first waiters and their number, and if many come and go at once, one message tells of all of them:
 * what a thousand waiters cost does not grow with their square.
 *
 * `waiting-requests.ts` says what the other files about waiters are for.
 */
import * as v from 'valibot'
import type { Clock } from '../base/clock.ts'
import { randomId } from '../base/random-id.ts'
import type { JsonObject } from '../base/records.ts'
import { type DocumentEvent, type Person, person } from '../protocol/index.ts'
import { keyOf } from './announcer.ts'
import type { Bus, BusMessage } from './bus.ts'
import { setLimited } from './limited-map.ts'
import {
  FORGET_NODE_AFTER_MS,
  MAX_REMOTE_ROOMS,
  MAX_WINDOWS,
  PUBLISH_AGAIN_MS,
  SHOWN_WAITERS,
  WAITERS_BATCH_MS,
  WAITERS_BURST,
} from './options.ts'
import type { OnError } from './service.ts'

const TOPIC = 'line'

export interface RoomQueuesOptions {
  readonly bus: Bus
  readonly clock: Clock
  readonly onChange: (event: DocumentEvent<'document.line'>) => void
  /** A client that waits at this node has come to another one. */
  readonly onMoved: (room: string, id: string) => void
  readonly onError: OnError
}

const waiter = v.object({ since: v.number(), person })
const message = v.object({
  room: v.string(),
  node: v.string(),
  /** The first waiters at the node, and how many there are. */
  line: v.pipe(v.array(waiter), v.maxLength(SHOWN_WAITERS)),
  count: v.number(),
  /** Who has come to the node since its last message. */
  joined: v.array(person),
})

/** `since`: wall time. */
type Waiter = v.InferOutput<typeof waiter>

/** What one node, this or another, has said about a room. */
interface Line {
  readonly waiters: readonly Waiter[]
  readonly count: number
  readonly until: number
}

/** The waiters of one room at this node. */
interface LocalRoom {
  readonly waiters: Map<string, Waiter>
  /** Who has joined since the last message. */
  joined: Person[]
  publishedAt: number
  cancelPublish: (() => void) | undefined
}

export class RoomQueues {
  readonly #options: RoomQueuesOptions
  readonly #node = randomId()
  readonly #local = new Map<string, LocalRoom>()
  /** By room and node. */
  readonly #remote = new Map<string, Map<string, Line>>()
  /** How many messages about a room were sent since the start of its window. It outlives the room's last waiter. */
  readonly #windows = new Map<string, { readonly start: number; sent: number }>()

  constructor(options: RoomQueuesOptions) {
    this.#options = options
  }

  /** How many clients wait at this node. */
  get size(): number {
    return [...this.#local.values()].reduce((sum, { waiters }) => sum + waiters.size, 0)
  }

  /** An id that joins again keeps its place, and so does a client that comes from another node. */
  join(room: string, id: string, person: Person): void {
    const { clock } = this.#options
    const local = this.#local.get(room) ?? {
      waiters: new Map<string, Waiter>(),
      joined: [],
      publishedAt: -Infinity,
      cancelPublish: undefined,
    }
    this.#local.set(room, local)
    const isNew = !local.waiters.has(id)
    if (!isNew && clock.monotonic() < local.publishedAt + PUBLISH_AGAIN_MS) return
    if (isNew) {
      const elsewhere = this.#remoteLines(room).flatMap(({ waiters }) => waiters)
      const known = elsewhere.find((waiter) => keyOf(waiter.person) === keyOf(person))
      takeFromOthers(this.#remote.get(room), this.#node, [person])
      local.waiters.set(id, { since: known?.since ?? clock.now(), person })
      local.joined.push(person)
    }
    this.#publishSoon(room, local)
  }

  leave(room: string, id: string): void {
    const local = this.#local.get(room)
    if (local?.waiters.delete(id)) this.#publishSoon(room, local)
  }

  /** The wall time since when the id waits at this node; `undefined` if it does not. */
  since(room: string, id: string): number | undefined {
    return this.#local.get(room)?.waiters.get(id)?.since
  }

  /** The waiters of the room, the first one first, and their number. */
  of(room: string): { readonly first: Person[]; readonly count: number } {
    const local = firstOf(this.#local.get(room))
    const lines = [local, ...this.#remoteLines(room)]
    const first = lines
      .flatMap(({ waiters }) => waiters)
      .sort((a, b) => a.since - b.since)
      .slice(0, SHOWN_WAITERS)
      .map(({ person }) => person)
    return { first, count: lines.reduce((sum, { count }) => sum + count, 0) }
  }

  receive({ topic, data }: BusMessage): void {
    if (topic !== TOPIC || !v.is(message, data)) return
    const { room, node } = data
    if (node !== this.#node) this.#remember(data)
    const { first, count } = this.of(room)
    this.#options.onChange({ room_id: room, line: first, waiting_count: count })
  }

  #remoteLines(room: string): Line[] {
    const now = this.#options.clock.monotonic()
    return [...(this.#remote.get(room)?.values() ?? [])].filter(({ until }) => until > now)
  }

  #remember({ room, node, line, count, joined }: v.InferOutput<typeof message>): void {
    const { clock, onMoved } = this.#options
    const until = clock.monotonic() + FORGET_NODE_AFTER_MS
    const nodes = this.#remote.get(room) ?? new Map<string, Line>()
    if (count > 0) nodes.set(node, { waiters: line, count, until })
    else nodes.delete(node)
    takeFromOthers(nodes, node, joined)
    // Deleted first, so that it becomes the newest entry.
    this.#remote.delete(room)
    if (nodes.size > 0) setLimited(this.#remote, room, nodes, MAX_REMOTE_ROOMS)
    const moved = new Set(joined.map(keyOf))
    const waiters = [...(this.#local.get(room)?.waiters ?? [])]
    for (const [id, { person }] of waiters) if (moved.has(keyOf(person))) onMoved(room, id)
  }

  /** At once, unless many messages were just sent. */
  #publishSoon(room: string, local: LocalRoom): void {
    if (local.cancelPublish) return
    const { clock } = this.#options
    const now = clock.monotonic()
    const known = this.#windows.get(room)
    const window = known && now < known.start + WAITERS_BATCH_MS ? known : { start: now, sent: 0 }
    if (window !== known) {
      this.#windows.delete(room)
      setLimited(this.#windows, room, window, MAX_WINDOWS)
    }
    if (++window.sent <= WAITERS_BURST) this.#publish(room, local)
    else {
      const waitMs = window.start + WAITERS_BATCH_MS - now
      local.cancelPublish = clock.setTimer(() => this.#publish(room, local), waitMs, true)
    }
  }

  #publish(room: string, local: LocalRoom): void {
    const { bus, clock, onError } = this.#options
    const { joined } = local
    Object.assign(local, { cancelPublish: undefined, joined: [], publishedAt: clock.monotonic() })
    const { waiters: line, count } = firstOf(local)
    if (count === 0) this.#local.delete(room)
    const data = { room, node: this.#node, line, count, joined } as unknown as JsonObject
    bus.publish({ topic: TOPIC, data }).catch((error: unknown) => onError('line', error))
  }
}

/** A client waits at one node. The one where it waited before may have ended without a word. */
function takeFromOthers(nodes: Map<string, Line> | undefined, node: string, joined: readonly Person[]): void {
  const taken = new Set(joined.map(keyOf))
  for (const [other, { waiters, count, until }] of nodes ?? []) {
    const left = waiters.filter(({ person }) => !taken.has(keyOf(person)))
    if (other !== node && left.length < waiters.length)
      nodes?.set(other, { waiters: left, count: count - (waiters.length - left.length), until })
  }
}

function firstOf(local: LocalRoom | undefined): Pick<Line, 'waiters' | 'count'> {
  const waiters = [...(local?.waiters.values() ?? [])].sort((a, b) => a.since - b.since)
  return { waiters: waiters.slice(0, SHOWN_WAITERS), count: waiters.length }
}
