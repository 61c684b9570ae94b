import { expectBoolean, expectOptions, expectText } from '../base/arguments.ts'
import { followConnection } from '../clients/connection.ts'
import { type PostgresClient, postgresDatabase, type SqlValue } from '../clients/postgres.ts'
import { isCreatedByAnother, postgresError } from '../clients/postgres-errors.ts'
import { identifier } from '../clients/sql-text.ts'
import { expectFinish, expectId, expectRefresh, expectRequest, notFound } from './job-arguments.ts'
import type { JobAnswer, JobStore } from './job-store.ts'
import { COLUMNS, fieldsOf, type JobFields, type JobStatuses, statusesOf } from './naming.ts'
import { jobQueries } from './postgres-queries.ts'
import { parseJson } from './stored-values.ts'

export interface PostgresJobsOptions {
  /** Created if it does not exist. Default `analyses`. */
  readonly table?: string
  /** Default: the search path of the connection decides. */
  readonly schema?: string
  /** Other names for the columns. Default: the names of `JobFields` with underscores, such as `lock_owner`. */
  readonly columns?: Partial<JobFields>
  readonly statuses?: JobStatuses
  /**
   * Prepares each statement once per connection of `pg`, which is faster. Some poolers cannot do this, such as
   * PgBouncer before 1.21. Default false. The `sql` of `postgres` has its own setting.
   */
  readonly prepare?: boolean
}

/** The columns of all answers. */
interface JobRow {
  readonly answer?: unknown
  readonly token?: unknown
  readonly attempts?: unknown
  readonly expires_at?: unknown
  readonly remaining?: unknown
  readonly status?: unknown
  readonly finished?: unknown
  readonly result?: unknown
  readonly error?: unknown
}

/** The name of each prepared statement by its text. Everybody that uses the same connection shares these names. */
const statementNames = new Map<string, string>()

/**
 * Jobs in a table of Postgres. Each operation is one statement, by the server's clock.
 *
 * @example
 * const once = createOnce(postgresJobs(new Pool()))
 */
export function postgresJobs(client: PostgresClient, options: PostgresJobsOptions = {}): JobStore {
  const database = postgresDatabase(client)
  expectOptions(options, { table: 1, schema: 1, columns: 1, statuses: 1, prepare: 1 })
  const { table = 'analyses', schema, columns, statuses, prepare = false } = options
  expectText('table', table)
  if (schema !== undefined) expectText('schema', schema)
  expectBoolean('prepare', prepare)
  const tableName = (schema === undefined ? '' : `${identifier(schema)}.`) + identifier(table)
  const queries = jobQueries(tableName, fieldsOf('columns', COLUMNS, columns), statusesOf(statuses))
  let tableReady: Promise<void> | undefined
  const { explain } = followConnection(client)

  return {
    kind: 'postgres',
    explain,
    allow: (callTimeout) => database.limit.allow(callTimeout),
    async add(id) {
      expectId(id)
      await query(queries.add, [id])
    },
    async acquire(id, owner, ttlMs, acquireOptions) {
      const { maxAttempts } = expectRequest(id, owner, ttlMs, acquireOptions)
      return answerOf(await existing(id, queries.acquire, [owner, ttlMs, maxAttempts ?? null]))
    },
    async refresh(id, owner, ttlMs) {
      expectRefresh(id, owner, ttlMs)
      const { expires_at, remaining } = await existing(id, queries.refresh, [owner, ttlMs])
      return expires_at === null ? null : { expiresAt: Number(expires_at), remaining: Number(remaining) }
    },
    async finish(id, holder, outcome) {
      expectFinish(id, holder, outcome)
      const values =
        'error' in outcome
          ? [queries.failed, null, outcome.error]
          : [queries.ready, JSON.stringify(outcome.result), null]
      const { answer } = await existing(id, queries.finish, [holder.owner, holder.token, ...values])
      return answer === true
    },
    async release(id, owner) {
      expectId(id)
      expectText('owner', owner)
      return (await existing(id, queries.release, [owner])).answer === true
    },
    async read(id) {
      expectId(id)
      const row = await query(queries.read, [id])
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

  async function existing(id: string, text: string, values: readonly SqlValue[]): Promise<JobRow> {
    const row = await query(text, [id, ...values])
    if (!row) throw notFound(id)
    return row
  }

  /** The first row of the answer. `values` begin with the id of the job. */
  async function query(
    text: string,
    values: readonly [id: string, ...SqlValue[]],
  ): Promise<JobRow | undefined> {
    try {
      tableReady ??= createTable()
      await tableReady
    } catch (error) {
      tableReady = undefined
      throw explain(postgresError(error, values[0]))
    }
    try {
      const [row] = await database.query(text, values, prepare ? statementNameOf(text) : undefined)
      return row
    } catch (error) {
      throw explain(postgresError(error, values[0]))
    }
  }

  /** Looks first, because a role that may use the table need not have the right to create one. */
  async function createTable(): Promise<void> {
    const [row] = await database.query('select to_regclass($1) is not null as exists', [tableName])
    const { exists } = Object(row) as { readonly exists?: unknown }
    if (exists === true) return
    await database.query(queries.create, []).catch((error) => {
      if (!isCreatedByAnother(error)) throw error
    })
  }
}

function statementNameOf(text: string): string {
  const name = statementNames.get(text) ?? `holdfast_once_${statementNames.size + 1}`
  statementNames.set(text, name)
  return name
}

function answerOf({ answer, token, attempts, expires_at, remaining }: JobRow): JobAnswer {
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
