/**
 * Who waits for which room, on all nodes, to be shown. The store keeps the line that counts; it has no names. Each
 * node tells the others who waits at it, by the bus, and forgets what a node said that has fallen silent.
 */
import type { Clock, JsonObject } from '../core/index.ts'
import type { DocumentEvent, Person } from '../protocol/index.ts'
import type { Bus, BusMessage } from './bus.ts'
import type { OnError } from './service.ts'

const TOPIC = 'line'

export interface LineOptions {
  readonly bus: Bus
  readonly clock: Clock
  /** How long what another node said counts. Longer than any wait, after which it says so again. */
  readonly keepFor: number
  readonly onChange: (event: DocumentEvent<'document.line'>) => void
  readonly onError: OnError
}

/** A waiter that asks again and again is told of again so often. */
const TELL_AGAIN_MS = 10_000

interface Standing {
  readonly since: number
  readonly person: Person
}

export class Line {
  readonly #options: LineOptions
  readonly #node = crypto.randomUUID()
  readonly #own = new Map<string, Map<string, Standing>>()
  readonly #others = new Map<
    string,
    Map<string, { readonly line: readonly Standing[]; readonly until: number }>
  >()

  readonly #toldAt = new Map<string, number>()

  constructor(options: LineOptions) {
    this.#options = options
  }

  /** How many wait at this node. */
  get size(): number {
    return [...this.#own.values()].reduce((sum, line) => sum + line.size, 0)
  }

  /** `id` names the place: joining again keeps it, and so does a tab that comes from another node. */
  join(room: string, id: string, person: Person): void {
    const line = this.#own.get(room) ?? new Map<string, Standing>()
    this.#own.set(room, line)
    const toldAt = this.#toldAt.get(room) ?? -Infinity
    if (line.has(id) && this.#options.clock.monotonic() < toldAt + TELL_AGAIN_MS) return
    if (!line.has(id)) {
      const { since = this.#options.clock.now() } = this.#elsewhereOf(room, person) ?? {}
      line.set(id, { since, person })
    }
    this.#tellOthers(room)
  }

  leave(room: string, id: string): void {
    const line = this.#own.get(room)
    if (!line?.delete(id)) return
    this.#tellOthers(room)
    if (line.size > 0) return
    this.#own.delete(room)
    this.#toldAt.delete(room)
  }

  /** Since when somebody stands here, by the clock on the wall; `undefined`: they do not. */
  since(room: string, id: string): number | undefined {
    return this.#own.get(room)?.get(id)?.since
  }

  /** Whether the same tab waits at another node by now. */
  hasMoved(room: string, person: Person): boolean {
    return this.#elsewhereOf(room, person) !== undefined
  }

  of(room: string): Person[] {
    return [...(this.#own.get(room)?.values() ?? []), ...this.#elsewhere(room)]
      .sort((a, b) => a.since - b.since)
      .map(({ person }) => person)
  }

  hear({ topic, data }: BusMessage): void {
    const { room, node, line } = data
    if (topic !== TOPIC || typeof room !== 'string' || typeof node !== 'string' || !Array.isArray(line))
      return
    if (node !== this.#node) this.#remember(room, node, line as unknown as readonly Standing[])
    this.#options.onChange({ room_id: room, line: this.of(room) })
  }

  #elsewhereOf(room: string, { session_id, client_id }: Person): Standing | undefined {
    return this.#elsewhere(room).find(
      ({ person }) => person.session_id === session_id && person.client_id === client_id,
    )
  }

  #elsewhere(room: string): Standing[] {
    const now = this.#options.clock.monotonic()
    const nodes = this.#others.get(room)
    for (const [node, { until }] of nodes ?? []) if (until <= now) nodes?.delete(node)
    return [...(nodes?.values() ?? [])].flatMap(({ line }) => line)
  }

  #remember(room: string, node: string, line: readonly Standing[]): void {
    const { clock, keepFor } = this.#options
    const nodes = this.#others.get(room) ?? new Map()
    if (line.length > 0) nodes.set(node, { line, until: clock.monotonic() + keepFor })
    else nodes.delete(node)
    if (nodes.size > 0) this.#others.set(room, nodes)
    else this.#others.delete(room)
  }

  #tellOthers(room: string): void {
    const { bus, clock, onError } = this.#options
    this.#toldAt.set(room, clock.monotonic())
    const line = [...(this.#own.get(room)?.values() ?? [])] as unknown as readonly JsonObject[]
    bus
      .publish({ topic: TOPIC, data: { room, node: this.#node, line } })
      .catch((error: unknown) => onError('line', error))
  }
}
