/**
 * The waiters of each room on all nodes, with their names, for people to see. The queue itself is in the store,
 * without names. Each node sends its own waiters to the others over the bus. The list of a silent node is dropped.
 */
import type { Clock } from '../base/clock.ts'
import { randomId } from '../base/random-id.ts'
import type { JsonObject } from '../base/records.ts'
import type { DocumentEvent, Person } from '../protocol/index.ts'
import type { Bus, BusMessage } from './bus.ts'
import type { OnError } from './service.ts'

const TOPIC = 'line'

export interface WaitingListOptions {
  readonly bus: Bus
  readonly clock: Clock
  /** Milliseconds until a message of another node is forgotten. Longer than any wait, because each wait repeats it. */
  readonly keepFor: number
  readonly onChange: (event: DocumentEvent<'document.line'>) => void
  readonly onError: OnError
}

/** How often a waiter that asks again and again is published again. */
const PUBLISH_AGAIN_MS = 10_000

interface Waiter {
  /** Wall time. */
  readonly since: number
  readonly person: Person
}

/** The waiters of one room at another node. */
interface RemoteWaiters {
  readonly waiters: readonly Waiter[]
  readonly until: number
}

export class WaitingList {
  readonly #options: WaitingListOptions
  readonly #node = randomId()
  /** The waiters at this node, by room and id. */
  readonly #local = new Map<string, Map<string, Waiter>>()
  /** By room and node. */
  readonly #remote = new Map<string, Map<string, RemoteWaiters>>()
  readonly #publishedAt = new Map<string, number>()

  constructor(options: WaitingListOptions) {
    this.#options = options
  }

  /** How many clients wait at this node. */
  get size(): number {
    return [...this.#local.values()].reduce((sum, waiters) => sum + waiters.size, 0)
  }

  /** An id that joins again keeps its place, and so does a client that comes from another node. */
  join(room: string, id: string, person: Person): void {
    const { clock } = this.#options
    const waiters = this.#local.get(room) ?? new Map<string, Waiter>()
    this.#local.set(room, waiters)
    const publishedAt = this.#publishedAt.get(room) ?? -Infinity
    if (waiters.has(id) && clock.monotonic() < publishedAt + PUBLISH_AGAIN_MS) return
    if (!waiters.has(id)) {
      const since = this.#remoteWaiter(room, person)?.since ?? clock.now()
      waiters.set(id, { since, person })
    }
    this.#publish(room)
  }

  leave(room: string, id: string): void {
    const waiters = this.#local.get(room)
    if (!waiters?.delete(id)) return
    this.#publish(room)
    if (waiters.size > 0) return
    this.#local.delete(room)
    this.#publishedAt.delete(room)
  }

  /** The wall time since when the id waits at this node; `undefined` if it does not. */
  since(room: string, id: string): number | undefined {
    return this.#local.get(room)?.get(id)?.since
  }

  /** Whether the same client now waits at another node. */
  hasMoved(room: string, person: Person): boolean {
    return this.#remoteWaiter(room, person) !== undefined
  }

  /** All waiters of the room, the first one first. */
  of(room: string): Person[] {
    return [...(this.#local.get(room)?.values() ?? []), ...this.#remoteWaiters(room)]
      .sort((a, b) => a.since - b.since)
      .map(({ person }) => person)
  }

  receive({ topic, data }: BusMessage): void {
    const { room, node, line } = data
    if (topic !== TOPIC || typeof room !== 'string' || typeof node !== 'string' || !Array.isArray(line))
      return
    if (node !== this.#node) this.#remember(room, node, line as unknown as readonly Waiter[])
    this.#options.onChange({ room_id: room, line: this.of(room) })
  }

  #remoteWaiter(room: string, { session_id, client_id }: Person): Waiter | undefined {
    return this.#remoteWaiters(room).find(
      ({ person }) => person.session_id === session_id && person.client_id === client_id,
    )
  }

  #remoteWaiters(room: string): Waiter[] {
    const now = this.#options.clock.monotonic()
    const nodes = this.#remote.get(room)
    for (const [node, { until }] of nodes ?? []) if (until <= now) nodes?.delete(node)
    return [...(nodes?.values() ?? [])].flatMap(({ waiters }) => waiters)
  }

  #remember(room: string, node: string, waiters: readonly Waiter[]): void {
    const { clock, keepFor } = this.#options
    const nodes = this.#remote.get(room) ?? new Map<string, RemoteWaiters>()
    if (waiters.length > 0) nodes.set(node, { waiters, until: clock.monotonic() + keepFor })
    else nodes.delete(node)
    if (nodes.size > 0) this.#remote.set(room, nodes)
    else this.#remote.delete(room)
  }

  #publish(room: string): void {
    const { bus, clock, onError } = this.#options
    this.#publishedAt.set(room, clock.monotonic())
    const line = [...(this.#local.get(room)?.values() ?? [])] as unknown as readonly JsonObject[]
    bus
      .publish({ topic: TOPIC, data: { room, node: this.#node, line } })
      .catch((error: unknown) => onError('line', error))
  }
}
