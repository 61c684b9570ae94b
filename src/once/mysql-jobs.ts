import { expectOptions, expectText } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { MAX_NAME_BYTES } from '../base/options.ts'
import { followConnection } from '../clients/connection.ts'
import {
  bytes,
  isMysqlPool,
  MYSQL_CLOCK,
  type MysqlClient,
  type MysqlDatabase,
  type MysqlRow,
  mysqlDatabase,
  mysqlName,
  mysqlText,
  promisedClient,
} from '../clients/mysql.ts'
import { isDeadlock, isMissing, mysqlError } from '../clients/mysql-errors.ts'
import type { DocumentDecision, DocumentFields, JobDocument } from './document-format.ts'
import { documentJobs, type JobDocuments } from './document-jobs.ts'
import { refuseOutside } from './job-arguments.ts'
import type { JobStore } from './job-store.ts'
import {
  COLUMNS,
  DOCUMENT_FIELDS,
  fieldsOf,
  type JobFields,
  KEPT_FIELDS,
  statusesOf,
  withoutKept,
} from './naming.ts'
import { writeUnlessChanged } from './optimistic.ts'
import { DEFAULT_JOBS, type MysqlJobsOptions } from './options.ts'
import { formatTime, parseJson, parseTime } from './stored-values.ts'

/** The time as it is stored in the columns of times. Milliseconds, rounded down: stored times are rounded up. */
const MYSQL_ISO_CLOCK = `concat(left(date_format(utc_timestamp(6), '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z')`

type Field = keyof JobFields
const ALL_FIELDS = Object.keys(DOCUMENT_FIELDS) as Field[]
const FIELDS = Object.keys(withoutKept(DOCUMENT_FIELDS)) as Field[]

/** Bytes, so that no collation decides which ids are equal. The limit of an id counts its shortest form in Unicode. */
const ID_TYPE = `varbinary(${3 * MAX_NAME_BYTES})`
const TEXT = 'character set utf8mb4'
const TYPES: JobFields = {
  status: `varchar(191) ${TEXT}`,
  result: `longtext ${TEXT}`,
  error: `longtext ${TEXT}`,
  attempts: 'int not null default 0',
  lockOwner: `text ${TEXT}`,
  lockExpiresAt: `varchar(64) ${TEXT}`,
  lockHeartbeatAt: `varchar(64) ${TEXT}`,
  lockToken: 'bigint',
  fingerprint: `varchar(191) ${TEXT}`,
  keptUntil: `varchar(64) ${TEXT}`,
}

/** The statement that reads a job, and everything that a decision depends on, as one text. */
interface Reading {
  readonly version: string
  readonly select: string
}

/**
 * Jobs in a table of MySQL or MariaDB, by the server's clock. A change is one statement that requires the row to be as
 * it was read. Takes a `Pool` or a connection of `mysql2` that is in no transaction, and leaves it open.
 *
 * @example
 * const once = createOnce(mysqlJobs(mysql.createPool('mysql://localhost/app')))
 */
export function mysqlJobs(client: MysqlClient, options: MysqlJobsOptions = {}): JobStore {
  const server = mysqlDatabase(client)
  expectOptions(options, { table: 1, database: 1, columns: 1, statuses: 1 })
  const { table = DEFAULT_JOBS, database, columns, statuses } = options
  expectText('table', table)
  if (database !== undefined) expectText('database', database)
  const tableName = (database === undefined ? '' : `${mysqlName(database)}.`) + mysqlName(table)
  const { explain } = followConnection(client)
  const documents = new MysqlDocuments(server, tableName, fieldsOf('columns', COLUMNS, columns), explain)
  return {
    ...documentJobs(documents, DOCUMENT_FIELDS, statusesOf(statuses)),
    allow: (callTimeout) => server.limit.allow(callTimeout),
  }
}

class MysqlDocuments implements JobDocuments {
  readonly kind = 'mysql'
  readonly explain: (error: LeaseError) => LeaseError
  readonly #server: MysqlDatabase
  readonly #table: string
  readonly #columns: JobFields
  #reading: Reading

  constructor(
    server: MysqlDatabase,
    table: string,
    columns: JobFields,
    explain: (error: LeaseError) => LeaseError,
  ) {
    this.#server = server
    this.#table = table
    this.#columns = columns
    this.explain = explain
    this.#reading = this.#readingOf(FIELDS)
  }

  async create(id: string, fields: DocumentFields): Promise<void> {
    const columns = Object.keys(fields).map((field) => this.#column(field))
    const literals = Object.entries(fields).map(literalOf)
    await this.#run(id, () =>
      this.#server.change(`insert into ${this.#table} (id, ${columns.join(', ')})
        values (${textOf(id)}, ${literals.join(', ')}) on duplicate key update id = id`),
    )
  }

  read(id: string): Promise<JobDocument | null> {
    return this.#run(id, async () => documentOf(await this.#rowOf(id)))
  }

  transact<T>(id: string, decide: (document: JobDocument | null) => DocumentDecision<T>): Promise<T> {
    const stored = {
      read: () => this.#rowOf(id),
      write: (fields: DocumentFields, row: MysqlRow | undefined) => this.#write(id, fields, row),
      limit: this.#server.limit,
    }
    return this.#run(id, () => writeUnlessChanged(stored, (row) => decide(documentOf(row))))
  }

  async complete(
    tx: object,
    id: string,
    decide: (document: JobDocument | null) => DocumentDecision<boolean>,
  ): Promise<boolean> {
    const connection = promisedClient(tx as MysqlClient, 'tx')
    if (isMysqlPool(connection)) refuseOutside(tx)
    const transaction = mysqlDatabase(connection)
    // No limit: the row may be locked for a moment.
    transaction.limit.ms = 0
    // A locking read sees the newest row. Another would see the row as it was when the transaction began.
    const { select } = this.#reading
    const [[row] = []] = await transaction.query(`${select} where id = ${textOf(id)} for update`)
    if (!(await transaction.change('do 0')).inTransaction) refuseOutside(tx)
    const { answer, fields } = decide(documentOf(row))
    if (!fields) return answer
    const live = `and ${this.#column('lockExpiresAt')} > ${MYSQL_ISO_CLOCK}`
    const { affectedRows } = await transaction.change(`${this.#updateOf(id, fields, row)} ${live}`)
    return affectedRows > 0
  }

  addKeptFields(): Promise<void> {
    return this.#run(undefined, async () => {
      const missing = await this.#missingOf(KEPT_FIELDS)
      const added = missing.map((field) => `add column ${this.#column(field)} ${TYPES[field]}`)
      const index = `add index (${this.#column('keptUntil')})`
      if (missing.length > 0)
        await this.#server
          .query(`alter table ${this.#table} ${added.join(', ')}, ${index}`)
          .catch(async (error) => {
            // Another process may have added them meanwhile.
            if ((await this.#missingOf(KEPT_FIELDS)).length > 0) throw error
          })
      this.#reading = this.#readingOf(ALL_FIELDS)
    })
  }

  sweep(limit: number): Promise<number> {
    return this.#run(undefined, async () => {
      const [[row] = []] = await this.#server.query(`select ${MYSQL_CLOCK} as now`)
      const { now } = row ?? {}
      const time = textOf(formatTime(Number(now) / 1000) ?? '')
      const over = `${this.#column('keptUntil')} <= ${time} and coalesce(${this.#column('lockExpiresAt')} <= ${time}, true)`
      const text = `delete from ${this.#table} where ${over} limit ${limit}`
      return (await this.#server.change(text)).affectedRows
    })
  }

  #column(field: string): string {
    return mysqlName(this.#columns[field as Field])
  }

  #readingOf(fields: readonly Field[]): Reading {
    // Bytes, because collations take different texts for equal.
    const versionParts = fields
      .filter((field) => field !== 'result' && field !== 'error')
      .map((field) => `ifnull(hex(${this.#column(field)}), '-')`)
    const version = `concat_ws(',', ${versionParts.join(', ')})`
    // As bytes of UTF-8, whatever the types of the columns and the options of the client.
    const values = fields.map(
      (field) => `cast(convert(${this.#column(field)} using utf8mb4) as binary) as ${mysqlName(field)}`,
    )
    const select = `select ${MYSQL_CLOCK} as now, @@autocommit as autocommit, ${version} as version,
      ${values.join(', ')} from ${this.#table}`
    return { version, select }
  }

  async #missingOf(fields: readonly Field[]): Promise<readonly Field[]> {
    const [found = []] = await this.#server.query(`show columns from ${this.#table}`)
    const names = found.map(({ Field: name }) => mysqlText(name).toLowerCase())
    return fields.filter((field) => !names.includes(this.#columns[field].toLowerCase()))
  }

  async #run<T>(id: string | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work().catch(async (error) => {
        if (!isMissing(error)) throw error
        await this.#createTable()
        return work()
      })
    } catch (error) {
      throw this.explain(mysqlError(error, id))
    }
  }

  async #createTable(): Promise<void> {
    const definitions = ALL_FIELDS.map((field) => `${this.#column(field)} ${TYPES[field]}`)
    await this.#server.query(`create table if not exists ${this.#table} (id ${ID_TYPE} primary key,
      ${definitions.join(', ')}, index (${this.#column('keptUntil')})) engine = InnoDB`)
  }

  async #rowOf(id: string): Promise<MysqlRow | undefined> {
    const [[row] = []] = await this.#server.query(`${this.#reading.select} where id = ${textOf(id)}`)
    const { autocommit = 1 } = row ?? {}
    if (Number(autocommit) !== 1)
      throw new LeaseError(
        'store-failed',
        'MySQL: autocommit is off, so no lock would be stored: pass a client with autocommit',
      )
    return row
  }

  /** Resolves with whether the row was as it was read, and so is written. */
  async #write(id: string, fields: DocumentFields, row: MysqlRow | undefined): Promise<boolean> {
    try {
      return (await this.#server.change(this.#updateOf(id, fields, row))).affectedRows > 0
    } catch (error) {
      // The server has undone it in favour of another transaction.
      if (!isDeadlock(error)) throw error
      return false
    }
  }

  #updateOf(id: string, fields: DocumentFields, row: MysqlRow | undefined): string {
    const changes = Object.entries(fields).map((entry) => `${this.#column(entry[0])} = ${literalOf(entry)}`)
    const { version: seen } = row ?? {}
    const unchanged = `id = ${textOf(id)} and ${this.#reading.version} = ${bytes(mysqlText(seen))}`
    return `update ${this.#table} set ${changes.join(', ')} where ${unchanged}`
  }
}

function documentOf(row: MysqlRow | undefined): JobDocument | null {
  if (!row) return null
  const get = (field: string) => {
    const value = row[field]
    if (value === null || value === undefined) return null
    const text = mysqlText(value)
    if (field === 'result') return parseJson(text)
    return field === 'attempts' || field === 'lockToken' ? Number(text) : text
  }
  const heartbeatAt = parseTime(get('lockHeartbeatAt'))
  const { now } = row
  return {
    get,
    now: Number(now) / 1000,
    updatedAt: Number.isNaN(heartbeatAt) ? null : heartbeatAt,
  }
}

function literalOf([field, value]: readonly [field: string, value: DocumentFields[string]]): string {
  if (value === null) return 'null'
  if (field === 'result') return textOf(JSON.stringify(value))
  return typeof value === 'number' ? String(value) : textOf(String(value))
}

/** A text in a known character set, so that columns with another one, or of type JSON, accept it. */
function textOf(text: string): string {
  return `_utf8mb4 ${bytes(text)}`
}
