import { expectAttempts, expectId, expectName, expectTtl, notFound } from './checks.ts'
import type { JobAnswer, JobStore } from './job-store.ts'
import { COLUMNS, fieldsOf, type JobFields, type JobStatuses, statusesOf } from './naming.ts'
import { type PostgresClient, postgresRows, type Row } from './postgres-client.ts'
import { jobQueries } from './postgres-queries.ts'
import { identifier, parseJson } from './sql.ts'

export interface PostgresJobsOptions {
  /** Made when it is missing. Default `analyses`. */
  readonly table?: string
  /** Default: where the search path of the connection leads. */
  readonly schema?: string
  /** Other names for the columns. Default: those of `JobFields` with underscores, such as `lock_owner`. */
  readonly columns?: Partial<JobFields>
  readonly statuses?: JobStatuses
  /**
   * Prepares each statement once for each connection of `pg`, which makes it about twice as fast. Not behind a
   * pooler that cannot, such as PgBouncer before 1.21. Default false. The `sql` of `postgres` has its own setting.
   */
  readonly prepare?: boolean
}

/**
 * Jobs in a table of Postgres, each operation in one statement, by the server's clock.
 *
 * @example
 * const once = createOnce(postgresJobs(new Pool()))
 */
export function postgresJobs(client: PostgresClient, options: PostgresJobsOptions = {}): JobStore {
  const { table = 'analyses', schema, statuses, prepare: named = false } = options
  expectName('table', table)
  if (schema !== undefined) expectName('schema', schema)
  const name = (schema === undefined ? '' : `${identifier(schema)}.`) + identifier(table)
  const query = jobQueries(name, fieldsOf(COLUMNS, options.columns), statusesOf(statuses))
  const rows = postgresRows(client, named)
  let prepared: Promise<void> | undefined

  return {
    kind: 'postgres',
    async add(id) {
      expectId(id)
      await ask(query.add, [id])
    },
    async acquire(id, owner, ttlMs, { maxAttempts } = {}) {
      expectId(id)
      expectName('owner', owner)
      expectTtl(ttlMs)
      expectAttempts(maxAttempts)
      return answerOf(await existing(id, query.acquire, [owner, ttlMs, maxAttempts ?? null]))
    },
    async refresh(id, owner, ttlMs) {
      expectId(id)
      expectTtl(ttlMs)
      const { expires_at, remaining } = await existing(id, query.refresh, [owner, ttlMs])
      return expires_at === null ? null : { expiresAt: Number(expires_at), remaining: Number(remaining) }
    },
    async finish(id, { owner, token }, outcome) {
      expectId(id)
      const values =
        'error' in outcome
          ? [query.failed, null, outcome.error]
          : [query.ready, JSON.stringify(outcome.result), null]
      return (await existing(id, query.finish, [owner, token, ...values])).answer === true
    },
    async release(id, owner) {
      expectId(id)
      return (await existing(id, query.release, [owner])).answer === true
    },
    async read(id) {
      expectId(id)
      const row = await ask(query.read, [id])
      if (!row) return null
      return {
        id,
        status: row.status as string | null,
        finished: row.finished === true,
        result: parseJson(row.result),
        error: row.error as string | null,
        attempts: Number(row.attempts),
      }
    },
  }

  async function existing(
    id: string,
    text: string,
    values: readonly (string | number | null)[],
  ): Promise<Row> {
    const row = await ask(text, [id, ...values])
    if (!row) throw notFound(id)
    return row
  }

  async function ask(text: string, values: readonly (string | number | null)[]): Promise<Row | undefined> {
    prepared ??= prepare()
    await prepared.catch((error) => {
      prepared = undefined
      throw error
    })
    return (await rows(text, values))[0]
  }

  /** Looks first: who may use the table need not have the right to make one. */
  async function prepare(): Promise<void> {
    const [found] = await rows('select to_regclass($1) is not null as found', [name])
    if (found?.found !== true) await rows(query.create, [])
  }
}

function answerOf({ answer, token, attempts, expires_at, remaining }: Row): JobAnswer {
  switch (answer) {
    case 'already_finished':
    case 'too_many_attempts':
      return { acquired: false, reason: answer }
    case 'locked':
      return { acquired: false, reason: answer, remaining: Number(remaining) }
    default:
      return {
        acquired: true,
        token: Number(token),
        attempt: Number(attempts),
        expiresAt: Number(expires_at),
        remaining: Number(remaining),
      }
  }
}
