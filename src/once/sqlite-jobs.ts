import { type Clock, LeaseError, systemClock } from '../core/index.ts'
import { expectName, refuse } from './checks.ts'
import { type Documents, documentJobs, type Fields, type JobDocument } from './document-jobs.ts'
import type { JobStore } from './job-store.ts'
import { COLUMNS, fieldsOf, type JobFields, type JobStatuses, statusesOf } from './naming.ts'
import { sleep } from './patience.ts'
import { identifier, parseJson } from './sql.ts'
import { parseTime } from './time.ts'

/** Less than the five seconds for which a run waits for its lock. */
const PATIENCE_MS = 4000
const LONGEST_PAUSE_MS = 20
/** Primary result codes: busy, locked; and out of memory, interrupted, I/O error, disk full, protocol. */
const BUSY = [5, 6]
const PASSING = [...BUSY, 7, 9, 10, 13, 15]

/** What jobs use of a `DatabaseSync` of `node:sqlite`. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
}

interface SqliteStatement {
  get(...values: SqlValue[]): unknown
  run(...values: SqlValue[]): unknown
}

type SqlValue = string | number | null

export interface SqliteJobsOptions {
  /** Made when it is missing. Default `analyses`. */
  readonly table?: string
  /** Other names for the columns. Default: those of `JobFields` with underscores, such as `lock_owner`. */
  readonly columns?: Partial<JobFields>
  readonly statuses?: JobStatuses
  /** The store's own clock. Default: the system's, which all processes of the machine share. */
  readonly clock?: Clock
}

/**
 * Jobs in a table of SQLite, for all processes of one machine. Takes a connection of yours and leaves it open.
 *
 * @example
 * const once = createOnce(sqliteJobs(new DatabaseSync('./jobs.db')))
 */
export function sqliteJobs(database: SqliteDatabase, options: SqliteJobsOptions = {}): JobStore {
  const { table = 'analyses', clock = systemClock } = options
  if (typeof database?.prepare !== 'function') refuse('database', 'a DatabaseSync', database)
  expectName('table', table)
  const columns = fieldsOf(COLUMNS, options.columns)
  const name = identifier(table)
  const never = new AbortController().signal
  const statements = new Map<string, SqliteStatement>()
  let prepared = false

  const documents: Documents = {
    kind: 'sqlite',
    async create(id, fields) {
      const names = ['id', ...Object.keys(fields)]
      const places = names.map(() => '?').join(', ')
      const sql = `insert into ${name} (${names.map(identifier).join(', ')}) values (${places})
        on conflict do nothing`
      await unlessBusy(() => statement(sql).run(id, ...Object.values(fields).map(stored)))
    },
    read: (id) => unlessBusy(() => look(id)),
    transact: (id, decide) =>
      unlessBusy(() =>
        inTransaction(() => {
          const { answer, fields } = decide(look(id))
          if (fields) write(id, fields)
          return answer
        }),
      ),
  }
  return documentJobs(documents, columns, statusesOf(options.statuses))

  function look(id: string): JobDocument | null {
    const row = statement(`select * from ${name} where id = ?`).get(id) as Record<string, unknown> | undefined
    if (!row) return null
    const touchedAt = parseTime(row[columns.lockHeartbeatAt])
    return {
      get: (column) => (column === columns.result ? parseJson(row[column]) : row[column]),
      now: clock.now(),
      updatedAt: Number.isNaN(touchedAt) ? null : touchedAt,
    }
  }

  function write(id: string, fields: Fields): void {
    const changes = Object.keys(fields).map((column) => `${identifier(column)} = ?`)
    const sql = `update ${name} set ${changes.join(', ')} where id = ?`
    statement(sql).run(...Object.entries(fields).map(([column, value]) => stored(value, column)), id)
  }

  function stored(value: Fields[string], column?: string | number): SqlValue {
    return column === columns.result ? JSON.stringify(value) : (value as SqlValue)
  }

  function inTransaction<T>(work: () => T): T {
    // Deferred, it would fail when another wrote between our read and our write.
    database.exec('begin immediate')
    try {
      const answer = work()
      database.exec('commit')
      return answer
    } catch (error) {
      rollBack()
      throw error
    }
  }

  function rollBack(): void {
    try {
      database.exec('rollback')
    } catch {
      // After a full disk, for one, SQLite has done so by itself; the first error is the one to tell.
    }
  }

  function statement(sql: string): SqliteStatement {
    const known = statements.get(sql) ?? database.prepare(sql)
    statements.set(sql, known)
    return known
  }

  function prepare(): void {
    if (prepared) return
    const [status, result, error, attempts, owner, expiresAt, heartbeatAt, token] = [
      ...[columns.status, columns.result, columns.error, columns.attempts],
      ...[columns.lockOwner, columns.lockExpiresAt, columns.lockHeartbeatAt, columns.lockToken],
    ].map(identifier)
    database.exec(`create table if not exists ${name} (id text primary key not null, ${status} text,
      ${result} text, ${error} text, ${attempts} integer not null default 0, ${owner} text, ${expiresAt} text,
      ${heartbeatAt} text, ${token} integer) strict, without rowid`)
    prepared = true
  }

  /** While another connection writes, SQLite itself would wait by stopping the event loop. */
  async function unlessBusy<T>(work: () => T): Promise<T> {
    const giveUpAt = clock.monotonic() + PATIENCE_MS
    for (let tries = 0; ; tries++) {
      try {
        prepare()
        return work()
      } catch (error) {
        if (!isBusy(error) || clock.monotonic() >= giveUpAt) throw explain(error)
        await sleep(clock, Math.min(2 ** tries, LONGEST_PAUSE_MS) * (0.5 + clock.random() / 2), never)
      }
    }
  }
}

function isBusy(error: unknown): boolean {
  // The application may be within a transaction of its own on the connection that it gave us.
  return (
    BUSY.includes(codeOf(error)) || (error instanceof Error && /within a transaction/.test(error.message))
  )
}

function explain(error: unknown): LeaseError {
  if (error instanceof LeaseError) return error
  const passing = PASSING.includes(codeOf(error)) || isBusy(error)
  const message = error instanceof Error ? error.message : String(error)
  return new LeaseError(passing ? 'store-unavailable' : 'store-failed', `SQLite: ${message}`, {
    cause: error,
  })
}

function codeOf(error: unknown): number {
  return ((Object(error) as { readonly errcode?: number }).errcode ?? 0) & 0xff
}
