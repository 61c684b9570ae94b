import { systemClock } from '../../base/clock.ts'
import type { PostgresDatabase, SqlRow, SqlValue } from '../../clients/postgres.ts'
import { INSUFFICIENT_PRIVILEGE, stateOf } from '../../clients/postgres-errors.ts'

type RunQuery = PostgresDatabase['query']

/** After this time without an answer, the other queries take the ordinary client. */
const STUCK_AFTER_MS = 500
/** How long they do so after a query without an answer. */
const AVOIDED_FOR_MS = 10_000
/** So that no statement takes long. */
const MAX_BATCH = 100
/** Shows in `pg_stat_activity` which connection it is. */
const MARK = '/* holdfast listens */ '

/**
 * For renewals and releases: they take the connection on which the store listens, while it is open. The user's
 * transactions may occupy every connection of the ordinary client for longer than a lease lives.
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

  /** One call of a function. Its first value is the resource. */
  readonly query: RunQuery = (text, values) => {
    const own = this.#own()
    if (own !== this.#lane?.own) this.#lane = own && new Lane(own, this.#database.query)
    return this.#lane && !this.#lane.isStuck
      ? this.#lane.query(text, values)
      : this.#database.query(text, values)
  }
}

interface Pending {
  readonly text: string
  readonly values: readonly SqlValue[]
  resolve(rows: readonly SqlRow[]): void
  reject(error: unknown): void
}

/**
 * One connection. It runs one statement at a time, and what comes meanwhile is sent in the next one: over a slow
 * network, thousands of renewals in time would otherwise be too many for one connection.
 */
class Lane {
  readonly own: RunQuery
  readonly #ordinary: RunQuery
  #waiting: Pending[] = []
  isBusy = false
  #isLate = false
  /** Monotonic time. */
  #avoidUntil = -Infinity

  constructor(own: RunQuery, ordinary: RunQuery) {
    this.own = own
    this.#ordinary = ordinary
  }

  /** It does not answer, or its role may not call the functions. */
  get isStuck(): boolean {
    return this.#isLate || systemClock.monotonic() < this.#avoidUntil
  }

  query(text: string, values: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, values, resolve, reject })
      if (!this.isBusy) void this.#send()
    })
  }

  async #send(): Promise<void> {
    const batch = this.#waiting.slice(0, MAX_BATCH)
    this.#waiting = this.#waiting.slice(MAX_BATCH)
    this.isBusy = true
    const onLate = () => {
      this.#isLate = true
      this.#divert(this.#waiting.splice(0))
    }
    const cancel = systemClock.setTimer(onLate, STUCK_AFTER_MS, true)
    try {
      const answers = await runTogether(this.own, batch)
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index] ?? [])
    } catch (error) {
      this.#onFailed(batch, error)
    } finally {
      cancel()
      this.isBusy = false
      this.#isLate = false
      if (this.#waiting.length > 0) void this.#send()
    }
  }

  #onFailed(batch: readonly Pending[], error: unknown): void {
    const code = stateOf(error)
    if (code === undefined) {
      // The server did not answer, so the outcome is unknown.
      this.#avoidUntil = systemClock.monotonic() + AVOIDED_FOR_MS
      for (const { reject } of batch) reject(error)
      this.#divert(this.#waiting.splice(0))
    } else {
      // The server has undone all of them. A role that may not call the functions may still listen.
      if (code === INSUFFICIENT_PRIVILEGE) this.#avoidUntil = Infinity
      this.#divert(batch)
    }
  }

  /** Sends these by the ordinary client. */
  #divert(queries: readonly Pending[]): void {
    for (const { text, values, resolve, reject } of queries)
      this.#ordinary(text, values).then(resolve, reject)
  }
}

/** Each call is a row of the result. They lock resources in one order, so that two batches cannot block each other. */
async function runTogether(run: RunQuery, batch: readonly Pending[]): Promise<SqlRow[][]> {
  const order = batch.map((query, index) => ({ ...query, index, resource: String(query.values[0]) }))
  order.sort((a, b) => (a.resource < b.resource ? -1 : 1))
  const values = order.flatMap((query) => query.values)
  let used = 0
  const selects = order.map(({ text, index, values: { length } }) => {
    const offset = used
    used += length
    const renumbered = text.replace(/\$(\d+)/g, (_, number) => `$${offset + Number(number)}`)
    return renumbered.replace('select ', `select ${index} as index, `)
  })
  const answers = batch.map((): SqlRow[] => [])
  const rows = (await run(MARK + selects.join(' union all '), values)) as readonly IndexedRow[]
  for (const row of rows) answers[row.index]?.push(row)
  return answers
}

interface IndexedRow extends SqlRow {
  readonly index: number
}
