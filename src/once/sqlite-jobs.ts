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
import type { DocumentDecision, DocumentFields, JobDocument } from './document-format.ts'
import { documentJobs, type JobDocuments } from './document-jobs.ts'
import { refuseOutside } from './job-arguments.ts'
import type { JobStore } from './job-store.ts'
import { COLUMNS, fieldsOf, type JobFields, KEPT_FIELDS, quoted, statusesOf, withoutKept } from './naming.ts'
import { DEFAULT_JOBS, type SqliteJobsOptions } from './options.ts'
import { formatTime, parseJson, parseTime } from './stored-values.ts'

/**
 * Jobs in a table of SQLite, for all processes of one machine. Uses your connection and leaves it open.
 *
 * @example
 * const once = createOnce(sqliteJobs(new DatabaseSync('./jobs.db')))
 */
export function sqliteJobs(database: SqliteDatabase, options: SqliteJobsOptions = {}): JobStore {
  expectSqlite('database', database)
  expectOptions(options, { table: 1, columns: 1, statuses: 1, clock: 1 })
  const { table = DEFAULT_JOBS, clock = systemClock } = options
  expectText('table', table)
  const columns = fieldsOf('columns', COLUMNS, options.columns)
  const documents = new SqliteDocuments(database, table, columns, clock)
  return documentJobs(documents, columns, statusesOf(options.statuses))
}

class SqliteDocuments implements JobDocuments {
  readonly kind = 'sqlite'
  readonly #database: SqliteDatabase
  readonly #table: string
  readonly #columns: JobFields
  readonly #clock: Clock
  readonly #statements = new Map<string, SqliteStatement>()
  /** `undefined`: the table may not exist yet. */
  #expectFile: (() => void) | undefined
  #readColumns: readonly string[]

  constructor(database: SqliteDatabase, table: string, columns: JobFields, clock: Clock) {
    this.#database = database
    this.#table = table
    this.#columns = columns
    this.#clock = clock
    this.#readColumns = Object.values(withoutKept(columns))
  }

  async create(id: string, fields: DocumentFields): Promise<void> {
    const names = ['id', ...Object.keys(fields)].map(identifier)
    const sql = `insert into ${this.#tableName} (${names.join(', ')})
      values (${names.map(() => '?').join(', ')}) on conflict do nothing`
    await this.#run(() => this.#statement(sql).run(id, ...this.#storedValues(fields)))
  }

  read(id: string): Promise<JobDocument | null> {
    return this.#run(() => this.#documentOf(id))
  }

  transact<T>(id: string, decide: (document: JobDocument | null) => DocumentDecision<T>): Promise<T> {
    return this.#run(() => inTransaction(this.#database, () => this.#change(id, decide)))
  }

  complete(
    tx: object,
    id: string,
    decide: (document: JobDocument | null) => DocumentDecision<boolean>,
  ): boolean {
    expectSqlite('tx', tx)
    if (!isInTransaction(tx)) refuseOutside(tx)
    return this.#change(id, decide, tx)
  }

  addKeptFields(): Promise<void> {
    const columns = this.#columns
    const keptUntil = identifier(columns.keptUntil)
    return this.#run(() => {
      inTransaction(this.#database, () => {
        const pragma = this.#statement('select name from pragma_table_info(?)')
        const found = pragma.all(this.#table) as { name: string }[]
        for (const field of KEPT_FIELDS)
          if (!found.some(({ name }) => name === columns[field]))
            this.#database.exec(
              `alter table ${this.#tableName} add column ${identifier(columns[field])} text`,
            )
        this.#database.exec(`create index if not exists ${identifier(`${this.#table}_kept_until`)}
          on ${this.#tableName} (${keptUntil}) where ${keptUntil} is not null`)
      })
      this.#readColumns = Object.values(columns)
    })
  }

  sweep(limit: number): Promise<number> {
    return this.#run(() => {
      const { keptUntil, lockExpiresAt } = quoted(this.#columns)
      const sql = `delete from ${this.#tableName} where id in (select id from ${this.#tableName}
        where ${keptUntil} <= ? and coalesce(${lockExpiresAt} <= ?, true) limit ?)`
      const now = formatTime(this.#clock.now())
      const { changes } = this.#statement(sql).run(now, now, limit) as { changes: number | bigint }
      return Number(changes)
    })
  }

  get #tableName(): string {
    return identifier(this.#table)
  }

  #run<T>(work: () => T): Promise<T> {
    return unlessBusy(() => {
      this.#expectFile ??= this.#createTable()
      this.#expectFile()
      return work()
    }, this.#clock)
  }

  #createTable(): () => void {
    const names = quoted(this.#columns)
    const { status, result, error, attempts, lockOwner, lockExpiresAt, lockHeartbeatAt, lockToken } = names
    this.#database.exec(`create table if not exists ${this.#tableName} (id text primary key not null, ${status} text,
      ${result} text, ${error} text, ${attempts} integer not null default 0, ${lockOwner} text,
      ${lockExpiresAt} text, ${lockHeartbeatAt} text, ${lockToken} integer, ${names.fingerprint} text,
      ${names.keptUntil} text) strict, without rowid`)
    return fileCheck(this.#database)
  }

  #change<T>(
    id: string,
    decide: (document: JobDocument | null) => DocumentDecision<T>,
    connection = this.#database,
  ): T {
    const { answer, fields } = decide(this.#documentOf(id, connection))
    if (fields) this.#write(id, fields, connection)
    return answer
  }

  #documentOf(id: string, connection = this.#database): JobDocument | null {
    const columns = this.#columns
    // Only these, because another column may have an integer that a number cannot hold.
    const names = this.#readColumns.map(identifier).join(', ')
    const sql = `select ${names} from ${this.#tableName} where id = ?`
    const row = this.#statement(sql, connection).get(id) as Record<string, unknown> | undefined
    if (!row) return null
    const heartbeatAt = parseTime(row[columns.lockHeartbeatAt])
    return {
      get: (column) => (column === columns.result ? parseJson(row[column]) : row[column]),
      now: this.#clock.now(),
      updatedAt: Number.isNaN(heartbeatAt) ? null : heartbeatAt,
    }
  }

  #write(id: string, fields: DocumentFields, connection: SqliteDatabase): void {
    const changes = Object.keys(fields).map((column) => `${identifier(column)} = ?`)
    const sql = `update ${this.#tableName} set ${changes.join(', ')} where id = ?`
    this.#statement(sql, connection).run(...this.#storedValues(fields), id)
  }

  #storedValues(fields: DocumentFields): SqliteValue[] {
    return Object.entries(fields).map(([column, value]) =>
      column === this.#columns.result ? JSON.stringify(value) : (value as SqliteValue),
    )
  }

  #statement(sql: string, connection = this.#database): SqliteStatement {
    if (connection !== this.#database) return prepareSqlite(connection, sql)
    const prepared = this.#statements.get(sql) ?? prepareSqlite(this.#database, sql)
    this.#statements.set(sql, prepared)
    return prepared
  }
}
