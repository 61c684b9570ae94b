import { expectBoolean, expectOptions, expectText } from '../base/arguments.ts'
import { messageOf } from '../base/errors.ts'
import { followConnection } from '../clients/connection.ts'
import {
  type PostgresClient,
  type PostgresDatabase,
  postgresDatabase,
  postgresStatements,
} from '../clients/postgres.ts'
import { isCreatedByAnother, postgresError } from '../clients/postgres-errors.ts'
import { isOutsideTransaction, isPostgresPool, knowsTransaction } from '../clients/postgres-transaction.ts'
import { identifier } from '../clients/sql-text.ts'
import { refuseOutside } from './job-arguments.ts'
import type { JobStore } from './job-store.ts'
import { COLUMNS, fieldsOf, type JobFields, KEPT_FIELDS, statusesOf } from './naming.ts'
import { DEFAULT_JOBS, type PostgresJobsOptions } from './options.ts'
import { type JobQueries, jobQueries, LOCK_LOST } from './postgres-queries.ts'
import { type Operation, requestJobs } from './request-jobs.ts'

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
  const { table = DEFAULT_JOBS, schema, columns, statuses, prepare = false } = options
  expectText('table', table)
  if (schema !== undefined) expectText('schema', schema)
  expectBoolean('prepare', prepare)
  const tableName = (schema === undefined ? '' : `${identifier(schema)}.`) + identifier(table)
  const names = fieldsOf('columns', COLUMNS, columns)
  const queries = jobQueries(tableName, names, statusesOf(statuses))
  const { explain } = followConnection(client)
  const jobTable = new JobTable(database, tableName, names, queries)

  return requestJobs({
    kind: 'postgres',
    explain,
    allow: (callTimeout) => database.limit.allow(callTimeout),
    async ask(operation, id, values) {
      try {
        await jobTable.prepare(operation)
        const text = queries[operation]
        const [row] = await database.query(text, [id, ...values], prepare ? statementNameOf(text) : undefined)
        return row ?? null
      } catch (error) {
        throw explain(postgresError(error, id))
      }
    },
    async askIn(tx, operation, id, values) {
      await expectTransaction(tx, tableName)
      try {
        const [row] = await postgresStatements(tx, 'tx')(queries[operation], [id, ...values])
        return Object(row)
      } catch (error) {
        if (messageOf(error).includes(LOCK_LOST)) return null
        throw error
      }
    },
  })
}

/** Only a statement such as LOCK TABLE tells whether the server has an open transaction. */
async function expectTransaction(tx: object, tableName: string): Promise<void> {
  if (isPostgresPool(tx)) refuseOutside(tx)
  if (knowsTransaction(tx)) return
  await postgresStatements(tx, 'tx')(`lock table ${tableName} in row exclusive mode`, []).catch((error) => {
    throw isOutsideTransaction(error) ? refuseOutside(tx) : error
  })
}

/** Creates the table and its later columns before the first operation that needs them. */
class JobTable {
  readonly #database: PostgresDatabase
  readonly #name: string
  readonly #columns: JobFields
  readonly #queries: JobQueries
  #created: Promise<void> | undefined
  #columnsAdded: Promise<void> | undefined

  constructor(database: PostgresDatabase, name: string, columns: JobFields, queries: JobQueries) {
    this.#database = database
    this.#name = name
    this.#columns = columns
    this.#queries = queries
  }

  async prepare(operation: Operation): Promise<void> {
    this.#created ??= this.#create().catch((error) => {
      this.#created = undefined
      throw error
    })
    await this.#created
    if (!NEEDS_COLUMNS.includes(operation)) return
    this.#columnsAdded ??= this.#addColumns().catch((error) => {
      this.#columnsAdded = undefined
      throw error
    })
    await this.#columnsAdded
  }

  /** Looks first, because a role that may use the table need not have the right to create one. */
  async #create(): Promise<void> {
    const [row] = await this.#database.query('select to_regclass($1) is not null as exists', [this.#name])
    const { exists } = Object(row) as { readonly exists?: unknown }
    if (exists === true) return
    await this.#database.query(this.#queries.create, []).catch(unlessCreatedByAnother)
    await this.#database.query(this.#queries['add index'], []).catch(unlessCreatedByAnother)
  }

  /** Looks first, because only the owner of a table may add columns. */
  async #addColumns(): Promise<void> {
    const wanted = KEPT_FIELDS.map((field) => this.#columns[field])
    const [row] = await this.#database.query(
      `select count(*)::integer as found from pg_attribute
        where attrelid = to_regclass($1) and not attisdropped and attname in ($2, $3)`,
      [this.#name, ...wanted],
    )
    const { found } = Object(row) as { readonly found?: unknown }
    if (Number(found) < wanted.length) {
      await this.#database.query(this.#queries['add columns'], []).catch(unlessCreatedByAnother)
      await this.#database.query(this.#queries['add index'], []).catch(unlessCreatedByAnother)
    }
  }
}

function unlessCreatedByAnother(error: unknown): void {
  if (!isCreatedByAnother(error)) throw error
}

const NEEDS_COLUMNS: readonly Operation[] = ['acquire-kept', 'add-kept', 'finish-kept', 'sweep']

function statementNameOf(text: string): string {
  const name = statementNames.get(text) ?? `holdfast_once_${statementNames.size + 1}`
  statementNames.set(text, name)
  return name
}
