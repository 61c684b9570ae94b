import { systemClock } from '../../base/clock.ts'
import { compareUtf8 } from '../../base/utf8-order.ts'
import type { PostgresDatabase, SqlRow, SqlValue } from '../../clients/postgres.ts'
import { INSUFFICIENT_PRIVILEGE, stateOf } from '../../clients/postgres-errors.ts'
import { statementNameOf } from './names.ts'
import { AVOIDED_FOR_MS, MAX_BATCH, STUCK_AFTER_MS } from './options.ts'

/** Shows in `pg_stat_activity` which connection it is. */
export const LISTENING_MARK = '/* holdfast listens */ '

export type RunQuery = PostgresDatabase['query']

/**
 * For renewals and releases: they take the connection on which the store listens, while it is open. The user's
 * transactions may occupy every connection of the ordinary client for longer than a lease lives. Over a slow network,
 * thousands of renewals in time would be too many for one connection, so they are sent together.
 */
export class UrgentLane {
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

interface LaneOptions {
  /** Runs the queries of the lane. */
  readonly run: RunQuery
  readonly ordinary: RunQuery
  /** A comment before each statement. */
  readonly mark?: string | undefined
  /** Nothing is under way, and nothing waits. */
  readonly onIdle?: (() => void) | undefined
}

interface Statement {
  readonly text: string
  readonly name: string | undefined
}

interface Pending extends Statement {
  readonly values: readonly SqlValue[]
  resolve(rows: readonly SqlRow[]): void
  reject(error: unknown): void
}

/**
 * Runs one statement at a time, and what comes meanwhile is sent in the next one. Each query is one call of a function
 * whose first value is the resource: `select renew($1::text, …) as answer`.
 *
 * Not `clients/together.ts`, which gathers the calls of one moment: this one gathers for as long as a statement takes,
 * and moves to the ordinary client when the server does not answer.
 */
export class Lane {
  readonly run: RunQuery
  readonly #options: LaneOptions
  #waiting: Pending[] = []
  isBusy = false
  #isLate = false
  /** For several calls, by the texts of the calls. */
  readonly #statements = new Map<string, Statement>()
  /** Monotonic time. */
  #avoidUntil = -Infinity

  constructor(options: LaneOptions) {
    this.run = options.run
    this.#options = options
  }

  /** It does not answer, or its role may not call the functions. */
  get isStuck(): boolean {
    return this.#isLate || systemClock.monotonic() < this.#avoidUntil
  }

  query(text: string, values: readonly SqlValue[], name?: string): Promise<readonly SqlRow[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, values, name, resolve, reject })
      if (!this.isBusy) this.#send()
    })
  }

  /** Waits for a query that was sent without the lane, before it sends any. */
  async follow(sent: Promise<unknown>): Promise<void> {
    this.isBusy = true
    const onLate = () => {
      this.#isLate = true
      this.#divert(this.#waiting.splice(0))
    }
    const cancel = systemClock.setTimer(onLate, STUCK_AFTER_MS, true)
    await sent.catch(() => {})
    cancel()
    this.isBusy = false
    this.#isLate = false
    if (this.#waiting.length > 0) this.#send()
    else this.#options.onIdle?.()
  }

  #send(): void {
    const batch = this.#waiting.slice(0, MAX_BATCH)
    this.#waiting = this.#waiting.slice(MAX_BATCH)
    const answered = this.#runTogether(batch).then(
      (answers) => {
        for (const [index, { resolve }] of batch.entries()) resolve(answers[index] ?? [])
      },
      (error) => this.#onFailed(batch, error),
    )
    void this.follow(answered)
  }

  /**
   * Each call is a row of the result. They lock resources in the order of the tables, which every statement that waits
   * for several of them keeps.
   */
  async #runTogether(batch: readonly Pending[]): Promise<(readonly SqlRow[])[]> {
    const { mark = '' } = this.#options
    const [first] = batch
    if (first && batch.length === 1) return [await this.run(mark + first.text, first.values, first.name)]
    const names = new Map(batch.map(({ text, name }) => [text, name]))
    const texts = [...names.keys()].sort()
    const calls = batch.map(({ text, values }, index) => [index, texts.indexOf(text), ...values])
    calls.sort(([, , a], [, , b]) => compareUtf8(String(a), String(b)))
    const { text, name } = this.#togetherOf(mark, texts, names.get(texts[0] ?? ''))
    const answers = batch.map((): SqlRow[] => [])
    const rows = (await this.run(text, [JSON.stringify(calls)], name)) as readonly IndexedRow[]
    for (const row of rows) answers[row.index]?.push(row)
    return answers
  }

  /**
   * The statement that runs calls of these texts, however many there are, so that it is planned once. Each call is a list
   * of its index, the index of its text, and its values. `first`: the name of the first text. A lane calls two functions, so
   * with the number of texts it stands for one text.
   */
  #togetherOf(mark: string, texts: readonly string[], first: string | undefined): Statement {
    const key = texts.join()
    const known = this.#statements.get(key)
    if (known) return known
    const cases = texts.map((text, which) => {
      const call = text.slice('select '.length, -' as answer'.length)
      return `when ${which} then ${call.replace(/\$(\d+)::/g, (_, n) => `(call ->> ${Number(n) + 1})::`)}`
    })
    // As a text: `postgres` would encode a parameter that is JSON once more.
    const text = `${mark}select (call ->> 0)::integer as index, case (call ->> 1)::integer ${cases.join(' ')} end as answer
      from jsonb_array_elements($1::text::jsonb) as together(call)`
    const statement = { text, name: first && statementNameOf(`${first}+${texts.length}`) }
    this.#statements.set(key, statement)
    return statement
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
    for (const { text, values, name, resolve, reject } of queries)
      this.#options.ordinary(text, values, name).then(resolve, reject)
  }
}

interface IndexedRow extends SqlRow {
  readonly index: number
}
