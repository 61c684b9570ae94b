import { expectOptions, expectText } from '../base/arguments.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { identifier } from '../clients/sql-text.ts'
import {
  expectSqlite,
  inTransaction,
  isInTransaction,
  prepareSqlite,
  type SqliteDatabase,
  type SqliteStatement,
  type SqliteValue,
  unlessBusy,
} from '../clients/sqlite.ts'
import { fileCheck } from '../clients/sqlite-file.ts'
import { type DocumentFields, documentJobs, type JobDocument, type JobDocuments } from './document-jobs.ts'
import { refuseOutside } from './job-arguments.ts'
import type { JobStore } from './job-store.ts'
import {
  COLUMNS,
  fieldsOf,
  type JobFieldNames,
  type JobStatuses,
  KEPT_FIELDS,
  quoted,
  statusesOf,
  withoutKept,
} from './naming.ts'
import { formatTime, parseJson, parseTime } from './stored-values.ts'

export interface SqliteJobsOptions {
  /** Created if it does not exist. Default `jobs`. */
  readonly table?: string | undefined
  /** Other names for the columns. Default: the names of `JobFields` with underscores, such as `lock_owner`. */
  readonly columns?: JobFieldNames | undefined
  readonly statuses?: JobStatuses | undefined
  /** The store's own clock. Default: the system's, which all processes of the machine share. */
  readonly clock?: Clock | undefined
}

/**
 * Jobs in a table of SQLite, for all processes of one machine. Uses your connection and leaves it open.
 *
 * @example
 * const once = createOnce(sqliteJobs(new DatabaseSync('./jobs.db')))
 */
export function sqliteJobs(database: SqliteDatabase, options: SqliteJobsOptions = {}): JobStore {
  expectSqlite('database', database)
  expectOptions(options, { table: 1, columns: 1, statuses: 1, clock: 1 })
  const { table = 'jobs', clock = systemClock } = options
  expectText('table', table)
  const columns = fieldsOf('columns', COLUMNS, options.columns)
  const tableName = identifier(table)
  const keptIndex = `create index if not exists ${identifier(`${table}_kept_until`)}
    on ${tableName} (${identifier(columns.keptUntil)}) where ${identifier(columns.keptUntil)} is not null`
  const statements = new Map<string, SqliteStatement>()
  /** `undefined`: the table may not exist yet. */
  let expectFile: (() => void) | undefined
  let readColumns = Object.values(withoutKept(columns))

  const documents: JobDocuments = {
    kind: 'sqlite',
    async create(id, fields) {
      const names = ['id', ...Object.keys(fields)].map(identifier)
      const sql = `insert into ${tableName} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})
        on conflict do nothing`
      await run(() => statement(sql).run(id, ...storedValues(fields)))
    },
    read: (id) => run(() => documentOf(id)),
    transact: (id, decide) =>
      run(() =>
        inTransaction(database, () => {
          const { answer, fields } = decide(documentOf(id))
          if (fields) write(id, fields)
          return answer
        }),
      ),
    complete(tx, id, decide) {
      expectSqlite('tx', tx)
      if (!isInTransaction(tx)) refuseOutside(tx)
      const { answer, fields } = decide(documentOf(id, tx))
      if (fields) write(id, fields, tx)
      return answer
    },
    addKeptFields: () =>
      run(() => {
        inTransaction(database, () => {
          const found = statement('select name from pragma_table_info(?)').all(table) as { name: string }[]
          for (const field of KEPT_FIELDS)
            if (!found.some(({ name }) => name === columns[field]))
              database.exec(`alter table ${tableName} add column ${identifier(columns[field])} text`)
          database.exec(keptIndex)
        })
        readColumns = Object.values(columns)
      }),
    sweep: (limit) =>
      run(() => {
        const { keptUntil, lockExpiresAt } = quoted(columns)
        const sql = `delete from ${tableName} where id in (select id from ${tableName}
          where ${keptUntil} <= ?1 and coalesce(${lockExpiresAt} <= ?1, true) limit ?2)`
        const { changes } = statement(sql).run(formatTime(clock.now()), limit) as { changes: number | bigint }
        return Number(changes)
      }),
  }
  return documentJobs(documents, columns, statusesOf(options.statuses))

  function run<T>(work: () => T): Promise<T> {
    return unlessBusy(() => {
      expectFile ??= createTable()
      expectFile()
      return work()
    }, clock)
  }

  function createTable(): () => void {
    const names = quoted(columns)
    const { status, result, error, attempts, lockOwner, lockExpiresAt, lockHeartbeatAt, lockToken } = names
    database.exec(`create table if not exists ${tableName} (id text primary key not null, ${status} text,
      ${result} text, ${error} text, ${attempts} integer not null default 0, ${lockOwner} text,
      ${lockExpiresAt} text, ${lockHeartbeatAt} text, ${lockToken} integer, ${names.fingerprint} text,
      ${names.keptUntil} text) strict, without rowid`)
    return fileCheck(database)
  }

  function documentOf(id: string, connection = database): JobDocument | null {
    // Only these, because another column may have an integer that a number cannot hold.
    const names = readColumns.map(identifier).join(', ')
    const row = statement(`select ${names} from ${tableName} where id = ?`, connection).get(id) as
      | Record<string, unknown>
      | undefined
    if (!row) return null
    const heartbeatAt = parseTime(row[columns.lockHeartbeatAt])
    return {
      get: (column) => (column === columns.result ? parseJson(row[column]) : row[column]),
      now: clock.now(),
      updatedAt: Number.isNaN(heartbeatAt) ? null : heartbeatAt,
    }
  }

  function write(id: string, fields: DocumentFields, connection = database): void {
    const changes = Object.keys(fields).map((column) => `${identifier(column)} = ?`)
    const sql = `update ${tableName} set ${changes.join(', ')} where id = ?`
    statement(sql, connection).run(...storedValues(fields), id)
  }

  function storedValues(fields: DocumentFields): SqliteValue[] {
    return Object.entries(fields).map(([column, value]) =>
      column === columns.result ? JSON.stringify(value) : (value as SqliteValue),
    )
  }

  function statement(sql: string, connection = database): SqliteStatement {
    if (connection !== database) return prepareSqlite(connection, sql)
    const prepared = statements.get(sql) ?? prepareSqlite(database, sql)
    statements.set(sql, prepared)
    return prepared
  }
}
