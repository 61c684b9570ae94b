import { expectOptions, expectText } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { MAX_NAME_BYTES } from '../base/options.ts'
import { followConnection } from '../clients/connection.ts'
import {
  bytes,
  isMysqlPool,
  MYSQL_CLOCK,
  type MysqlClient,
  type MysqlRow,
  mysqlDatabase,
  mysqlName,
  mysqlText,
  promisedClient,
} from '../clients/mysql.ts'
import { isDeadlock, isMissing, mysqlError } from '../clients/mysql-errors.ts'
import { type DocumentFields, documentJobs, type JobDocument, type JobDocuments } from './document-jobs.ts'
import { refuseOutside } from './job-arguments.ts'
import type { JobStore } from './job-store.ts'
import {
  COLUMNS,
  DOCUMENT_FIELDS,
  fieldsOf,
  type JobFieldNames,
  type JobFields,
  type JobStatuses,
  KEPT_FIELDS,
  statusesOf,
  withoutKept,
} from './naming.ts'
import { writeUnlessChanged } from './optimistic.ts'
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

export interface MysqlJobsOptions {
  /** Created if it does not exist. Default `jobs`. */
  readonly table?: string | undefined
  /** Default: the database of the connection. */
  readonly database?: string | undefined
  /** Other names for the columns. Default: the names of `JobFields` with underscores, such as `lock_owner`. */
  readonly columns?: JobFieldNames | undefined
  readonly statuses?: JobStatuses | undefined
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
  const { table = 'jobs', database, columns, statuses } = options
  expectText('table', table)
  if (database !== undefined) expectText('database', database)
  const tableName = (database === undefined ? '' : `${mysqlName(database)}.`) + mysqlName(table)
  const fieldNames = fieldsOf('columns', COLUMNS, columns)
  const column = (field: string) => mysqlName(fieldNames[field as Field])
  const { explain } = followConnection(client)

  let { version, select } = readingOf(FIELDS)

  const documents: JobDocuments = {
    kind: 'mysql',
    explain,
    async create(id, fields) {
      const [given, literals] = [Object.keys(fields), Object.entries(fields).map(literalOf)]
      await run(id, () =>
        server.change(`insert into ${tableName} (id, ${given.map(column).join(', ')})
          values (${textOf(id)}, ${literals.join(', ')}) on duplicate key update id = id`),
      )
    },
    read: (id) => run(id, async () => documentOf(await rowOf(id))),
    transact: (id, decide) =>
      run(id, () =>
        writeUnlessChanged(
          () => rowOf(id),
          (row) => decide(documentOf(row)),
          (fields, row) => write(id, fields, row),
          server.limit,
        ),
      ),
    async complete(tx, id, decide) {
      const connection = promisedClient(tx as MysqlClient, 'tx')
      if (isMysqlPool(connection)) refuseOutside(tx)
      const transaction = mysqlDatabase(connection)
      // No limit: the row may be locked for a moment.
      transaction.limit.ms = 0
      // A locking read sees the newest row. Another would see the row as it was when the transaction began.
      const [[row] = []] = await transaction.query(`${select} where id = ${textOf(id)} for update`)
      if (!(await transaction.change('do 0')).inTransaction) refuseOutside(tx)
      const { answer, fields } = decide(documentOf(row))
      if (!fields) return answer
      return write(id, fields, row, transaction, `and ${column('lockExpiresAt')} > ${MYSQL_ISO_CLOCK}`)
    },
    addKeptFields: () =>
      run(undefined, async () => {
        const missing = await missingOf(KEPT_FIELDS)
        const added = missing.map((field) => `add column ${column(field)} ${TYPES[field]}`)
        const alter = `alter table ${tableName} ${added.join(', ')}, add index (${column('keptUntil')})`
        if (missing.length > 0)
          await server.query(alter).catch(async (error) => {
            // Another process may have added them meanwhile.
            if ((await missingOf(KEPT_FIELDS)).length > 0) throw error
          })
        ;({ version, select } = readingOf(ALL_FIELDS))
      }),
    sweep: (limit) =>
      run(undefined, async () => {
        const [[row] = []] = await server.query(`select ${MYSQL_CLOCK} as now`)
        const { now } = row ?? {}
        const time = textOf(formatTime(Number(now) / 1000) ?? '')
        const over = `${column('keptUntil')} <= ${time} and coalesce(${column('lockExpiresAt')} <= ${time}, true)`
        return (await server.change(`delete from ${tableName} where ${over} limit ${limit}`)).affectedRows
      }),
  }
  return {
    ...documentJobs(documents, DOCUMENT_FIELDS, statusesOf(statuses)),
    allow: (callTimeout) => server.limit.allow(callTimeout),
  }

  /** The statement that reads these fields, and everything that a decision depends on, as one text. */
  function readingOf(fields: readonly Field[]): { readonly version: string; readonly select: string } {
    // Bytes, because collations take different texts for equal.
    const versionParts = fields
      .filter((field) => field !== 'result' && field !== 'error')
      .map((field) => `ifnull(hex(${column(field)}), '-')`)
    const version = `concat_ws(',', ${versionParts.join(', ')})`
    // As bytes of UTF-8, whatever the types of the columns and the options of the client.
    const values = fields.map(
      (field) => `cast(convert(${column(field)} using utf8mb4) as binary) as ${mysqlName(field)}`,
    )
    const select = `select ${MYSQL_CLOCK} as now, @@autocommit as autocommit, ${version} as version,
      ${values.join(', ')} from ${tableName}`
    return { version, select }
  }

  async function missingOf(fields: readonly Field[]): Promise<readonly Field[]> {
    const [found = []] = await server.query(`show columns from ${tableName}`)
    const names = found.map(({ Field: name }) => mysqlText(name).toLowerCase())
    return fields.filter((field) => !names.includes(fieldNames[field].toLowerCase()))
  }

  async function run<T>(id: string | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work().catch(async (error) => {
        if (!isMissing(error)) throw error
        await createTable()
        return work()
      })
    } catch (error) {
      throw explain(mysqlError(error, id))
    }
  }

  async function createTable(): Promise<void> {
    const definitions = ALL_FIELDS.map((field) => `${column(field)} ${TYPES[field]}`)
    await server.query(`create table if not exists ${tableName} (id ${ID_TYPE} primary key,
      ${definitions.join(', ')}, index (${column('keptUntil')})) engine = InnoDB`)
  }

  async function rowOf(id: string): Promise<MysqlRow | undefined> {
    const [[row] = []] = await server.query(`${select} where id = ${textOf(id)}`)
    const { autocommit = 1 } = row ?? {}
    if (Number(autocommit) !== 1)
      throw new LeaseError(
        'store-failed',
        'MySQL: autocommit is off, so no lock would be stored: pass a client with autocommit',
      )
    return row
  }

  async function write(
    id: string,
    fields: DocumentFields,
    row: MysqlRow | undefined,
    connection = server,
    condition = '',
  ): Promise<boolean> {
    const changes = Object.entries(fields).map((entry) => `${column(entry[0])} = ${literalOf(entry)}`)
    const { version: seen } = row ?? {}
    const unchanged = `id = ${textOf(id)} and ${version} = ${bytes(mysqlText(seen))} ${condition}`
    try {
      const text = `update ${tableName} set ${changes.join(', ')} where ${unchanged}`
      return (await connection.change(text)).affectedRows > 0
    } catch (error) {
      // The server has undone it in favour of another transaction.
      if (connection !== server || !isDeadlock(error)) throw error
      return false
    }
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
