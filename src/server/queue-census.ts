import type { Clock } from '../base/clock.ts'
import { CENSUS_FRESH_MS, COUNT_AT_ONCE, MAX_NAMED_QUEUES } from './options.ts'

export interface QueueCount {
  readonly resource: string
  readonly waiting: number
}

export interface Census {
  /** All that wait. */
  readonly total: number
  /** The longest queue first. */
  readonly queues: readonly QueueCount[]
}

export interface QueueCensusOptions {
  readonly clock: Clock
  /** The resources that have a live lease, or are kept. Nobody waits for the others. */
  readonly resources: () => Iterable<string>
  /** How many wait for each of them; `null`: not known. */
  readonly count: (resources: readonly string[]) => Promise<readonly (number | null)[]>
}

/**
 * How many wait for which resource, on all nodes and in all processes.
 *
 * `waiting-requests.ts` says what the other files about waiters are for.
 */
export class QueueCensus {
  readonly #options: QueueCensusOptions
  #latest: Promise<Census> | undefined
  #takenAt = 0

  constructor(options: QueueCensusOptions) {
    this.#options = options
  }

  /** At most two seconds old. */
  read(): Promise<Census> {
    const now = this.#options.clock.monotonic()
    if (!this.#latest || now - this.#takenAt >= CENSUS_FRESH_MS) {
      this.#takenAt = now
      this.#latest = this.#take()
      this.#latest.catch(() => {
        this.#latest = undefined
      })
    }
    return this.#latest
  }

  async #take(): Promise<Census> {
    const { resources, count } = this.#options
    const names = [...resources()]
    const queues: QueueCount[] = []
    for (let from = 0; from < names.length; from += COUNT_AT_ONCE) {
      const some = names.slice(from, from + COUNT_AT_ONCE)
      const counts = await count(some)
      for (const [n, resource] of some.entries()) {
        const waiting = counts[n] ?? 0
        if (waiting > 0) queues.push({ resource, waiting })
      }
    }
    queues.sort((a, b) => b.waiting - a.waiting)
    const total = queues.reduce((sum, { waiting }) => sum + waiting, 0)
    return { total, queues: queues.slice(0, MAX_NAMED_QUEUES) }
  }
}
