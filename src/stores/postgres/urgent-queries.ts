import type { PostgresDatabase } from '../../clients/postgres.ts'
import { Lane, type RunQuery } from './lane.ts'

/** Shows in `pg_stat_activity` which connection it is. */
export const LISTENING_MARK = '/* holdfast listens */ '

/**
 * For renewals and releases: they take the connection on which the store listens, while it is open. The user's
 * transactions may occupy every connection of the ordinary client for longer than a lease lives. Over a slow network,
 * thousands of renewals in time would be too many for one connection, so they are sent together.
 */
export class UrgentQueries {
  readonly #database: PostgresDatabase
  readonly #own: () => RunQuery | undefined
  #lane: Lane | undefined

  /** `own`: runs queries on the connection on which the store listens, while it is open and can. */
  constructor(database: PostgresDatabase, own: () => RunQuery | undefined) {
    this.#database = database
    this.#own = own
  }

  get isBusy(): boolean {
    return this.#lane?.isBusy ?? false
  }

  readonly query: RunQuery = (text, values, name) => {
    const run = this.#own()
    const ordinary = this.#database.query
    if (run !== this.#lane?.run) this.#lane = run && new Lane({ run, ordinary, mark: LISTENING_MARK })
    return this.#lane && !this.#lane.isStuck
      ? this.#lane.query(text, values, name)
      : ordinary(text, values, name)
  }
}
