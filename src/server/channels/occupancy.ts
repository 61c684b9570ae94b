import * as v from 'valibot'
import type { Clock } from '../../base/clock.ts'
import { randomId } from '../../base/random-id.ts'
import type { Bus, BusMessage } from '../bus.ts'
import { OCCUPANCY_LIMIT_MS } from '../options.ts'

const TOPIC = 'occupancy'

const message = v.union([
  v.object({ ask: v.string(), prefix: v.string() }),
  v.object({
    answer: v.string(),
    node: v.exactOptional(v.string()),
    counts: v.array(v.tuple([v.string(), v.number()])),
  }),
])

type Counts = [channel: string, sockets: number][]

interface Question {
  readonly counts: Map<string, number>
  readonly answered: Set<string>
  /** The nodes that have not answered yet. */
  readonly missing: Set<string>
  resolve(): void
}

/** How many sockets have subscribed to which channels, on all nodes. The nodes are asked when somebody wants to know. */
export class Occupancy {
  readonly #bus: Bus
  readonly #clock: Clock
  readonly #countHere: (prefix: string) => Counts
  /** This node and the others. */
  readonly #nodes: { readonly node: string; readonly peers: Iterable<string> }
  readonly #questions = new Map<string, Question>()

  constructor(
    bus: Bus,
    clock: Clock,
    countHere: (prefix: string) => Counts,
    nodes: { readonly node: string; readonly peers: Iterable<string> },
  ) {
    this.#bus = bus
    this.#clock = clock
    this.#countHere = countHere
    this.#nodes = nodes
  }

  /** The channels with a subscriber whose names begin with the prefix. */
  async count(prefix: string): Promise<Map<string, number>> {
    const { node, peers } = this.#nodes
    const counts = new Map(this.#countHere(prefix))
    const missing = new Set(peers)
    if (missing.size === 0) return counts
    const id = randomId()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#questions.set(id, { counts, answered: new Set([node]), missing, resolve })
    const cancel = this.#clock.setTimer(resolve, OCCUPANCY_LIMIT_MS, true)
    try {
      await this.#bus.publish({ topic: TOPIC, data: { ask: id, prefix } })
      await promise
    } finally {
      cancel()
      this.#questions.delete(id)
    }
    return counts
  }

  receive({ topic, data }: BusMessage): void {
    if (topic !== TOPIC || !v.is(message, data)) return
    if ('ask' in data) {
      if (this.#questions.has(data.ask)) return
      const answer = { answer: data.ask, node: this.#nodes.node, counts: this.#countHere(data.prefix) }
      this.#bus.publish({ topic: TOPIC, data: answer }).catch(() => {})
      return
    }
    const question = this.#questions.get(data.answer)
    // Nodes of an earlier version do not say who they are.
    const { node = randomId() } = data
    if (!question || question.answered.has(node)) return
    const { counts, answered, missing, resolve } = question
    answered.add(node)
    missing.delete(node)
    for (const [channel, sockets] of data.counts) counts.set(channel, (counts.get(channel) ?? 0) + sockets)
    if (missing.size === 0) resolve()
  }
}
