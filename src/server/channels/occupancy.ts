import * as v from 'valibot'
import type { Clock } from '../../base/clock.ts'
import { randomId } from '../../base/random-id.ts'
import type { Bus, BusMessage } from '../bus.ts'

const TOPIC = 'occupancy'
/** A node that has not answered by then is left out. */
const ANSWER_LIMIT_MS = 1000

const message = v.union([
  v.object({ ask: v.string(), prefix: v.string() }),
  v.object({ answer: v.string(), counts: v.array(v.tuple([v.string(), v.number()])) }),
])

type Counts = [channel: string, sockets: number][]

interface Question {
  readonly counts: Map<string, number>
  missing: number
  resolve(): void
}

/** How many sockets have subscribed to which channels, on all nodes. The nodes are asked when somebody wants to know. */
export class Occupancy {
  readonly #bus: Bus
  readonly #clock: Clock
  readonly #countHere: (prefix: string) => Counts
  /** How many other nodes there are. */
  readonly #peers: () => number
  readonly #questions = new Map<string, Question>()

  constructor(bus: Bus, clock: Clock, countHere: (prefix: string) => Counts, peers: () => number) {
    this.#bus = bus
    this.#clock = clock
    this.#countHere = countHere
    this.#peers = peers
  }

  /** The channels with a subscriber whose names begin with the prefix. */
  async count(prefix: string): Promise<Map<string, number>> {
    const counts = new Map<string, number>()
    const id = randomId()
    const { promise, resolve } = Promise.withResolvers<void>()
    // This node answers too, over the bus like the others.
    this.#questions.set(id, { counts, missing: this.#peers() + 1, resolve })
    const cancel = this.#clock.setTimer(resolve, ANSWER_LIMIT_MS, true)
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
      const answer = { answer: data.ask, counts: this.#countHere(data.prefix) }
      this.#bus.publish({ topic: TOPIC, data: answer }).catch(() => {})
      return
    }
    const question = this.#questions.get(data.answer)
    if (!question) return
    for (const [channel, sockets] of data.counts)
      question.counts.set(channel, (question.counts.get(channel) ?? 0) + sockets)
    if (--question.missing === 0) question.resolve()
  }
}
