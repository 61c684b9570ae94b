import type { PostgresDatabase } from '../../clients/postgres.ts'
import { Lane, type RunQuery } from './lane.ts'

/**
 * For acquire requests. Those of one resource wait for each other in the database anyway, and each of them for the
 * disk. So one of them is under way at a time, and those that come meanwhile are sent together: a hundred readers that
 * are woken at once wait for the disk twice, and not a hundred times.
 */
export class AcquireQueries {
  readonly #database: PostgresDatabase
  /** The requests that are under way, by their resources. Most have no other behind them, and need no lane. */
  readonly #sent = new Map<string, Promise<unknown> | Lane>()

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  readonly query: RunQuery = (text, values, name) => {
    const resource = String(values[0])
    const sent = this.#sent.get(resource)
    if (sent) {
      const lane = sent instanceof Lane ? sent : this.#laneBehind(resource, sent)
      return lane.isStuck ? this.#database.query(text, values, name) : lane.query(text, values, name)
    }
    const answer = this.#database.query(text, values, name)
    this.#sent.set(resource, answer)
    const onAnswered = () => {
      if (this.#sent.get(resource) === answer) this.#sent.delete(resource)
    }
    answer.then(onAnswered, onAnswered)
    return answer
  }

  #laneBehind(resource: string, sent: Promise<unknown>): Lane {
    const run = this.#database.query
    const lane = new Lane({ run, ordinary: run, onIdle: () => this.#sent.delete(resource) })
    this.#sent.set(resource, lane)
    void lane.follow(sent)
    return lane
  }
}
