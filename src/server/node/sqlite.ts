import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { expectText } from '../../base/arguments.ts'
import { systemClock } from '../../base/clock.ts'
import {
  BUSY_LIMIT_MS,
  busyPauseMs,
  expectSqlite,
  inTransaction,
  prepareSqlite,
  unlessBusy,
} from '../../clients/sqlite.ts'
import { isBusy, sqliteError } from '../../clients/sqlite-errors.ts'
import { fileCheck } from '../../clients/sqlite-file.ts'
import type { AuditLog } from '../audit.ts'
import type { DocumentStore } from '../documents.ts'
import {
  bareName,
  type Dialect,
  FIRST_VERSION,
  type MigrationSteps,
  type SqlRow,
  versionIn,
  versionsTable,
} from '../sql.ts'
import { type SqlAuditOptions, sqlAudit } from '../sql-audit.ts'
import { type SqlDocumentsOptions, sqlDocuments } from '../sql-documents.ts'

/**
 * Contents in a SQLite file, which may be that of the leases. It uses your connection and leaves it open.
 *
 * @example
 * const server = await createServer({ store: sqliteStore(path), documents: sqliteDocuments(openSqlite(path)) })
 */
export function sqliteDocuments(database: DatabaseSync, options: SqlDocumentsOptions = {}): DocumentStore {
  return sqlDocuments(sqliteDialect(database), options)
}

/** The audit trail in a SQLite file. It uses your connection and leaves it open. */
export function sqliteAudit(database: DatabaseSync, options: SqlAuditOptions = {}): AuditLog {
  return sqlAudit(sqliteDialect(database), options)
}

/** Opens a connection for both, with the settings of a server: what was answered is on the disk. */
export function openSqlite(path: string): DatabaseSync {
  expectText('path', path)
  let database: DatabaseSync | undefined
  try {
    createPrivateFile(path)
    database = new DatabaseSync(path)
    changeToWal(database)
    database.exec('pragma synchronous = full; pragma busy_timeout = 0')
    return database
  } catch (error) {
    database?.close()
    throw sqliteError(error, `the database ${path}`)
  }
}

/** Creates the file if it is missing. Only its owner may read it, because it contains documents. */
export function createPrivateFile(path: string): void {
  if (path === ':memory:') return
  try {
    closeSync(openSync(path, 'a', 0o600))
  } catch {
    // SQLite cannot open it either, and says so.
  }
}

/** If several connections change to WAL at once, SQLite refuses all but one at once, whatever the busy timeout is. */
function changeToWal(database: DatabaseSync): void {
  const giveUpAt = systemClock.monotonic() + BUSY_LIMIT_MS
  for (let tries = 0; ; tries++) {
    try {
      database.exec('pragma journal_mode = wal')
      return
    } catch (error) {
      if (!isBusy(error) || systemClock.monotonic() >= giveUpAt) throw error
      // `openSqlite` is synchronous.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyPauseMs(systemClock, tries))
    }
  }
}

function sqliteDialect(database: DatabaseSync): Dialect {
  expectSqlite('database', database)
  const statements = new Map<string, StatementSync>()
  const expectFile = fileCheck(database)
  const run = <T>(work: () => T) =>
    unlessBusy(() => {
      expectFile()
      return work()
    })
  return {
    sql: (text, values) =>
      run(() => {
        const statement = statements.get(text) ?? prepareSqlite(database, text)
        statements.set(text, statement)
        return statement.all(...values) as SqlRow[]
      }),
    serial: 'integer primary key autoincrement',
    now: `cast(unixepoch('subsec') * 1000 as integer)`,
    look: (table) => run(() => look(database, table)),
    migrate: (table, steps) => run(() => inTransaction(database, () => migrate(database, table, steps))),
    // A transaction that may write can begin.
    checkAccess: () => run(() => inTransaction(database, () => {})),
  }
}

function look(database: DatabaseSync, table: string): Awaited<ReturnType<Dialect['look']>> {
  const find = prepareSqlite(database, `select 1 from sqlite_schema where type = 'table' and lower(name) = ?`)
  const versions = versionsTable(table)
  const row = find.get(bareName(versions))
    ? prepareSqlite(database, `select version, oldest from ${versions} where name = ?`).get(bareName(table))
    : undefined
  return { exists: find.get(bareName(table)) !== undefined, version: versionIn(row) }
}

/** Looks again: another process may have migrated before this transaction began. */
function migrate(database: DatabaseSync, table: string, steps: MigrationSteps): void {
  const { exists, version } = look(database, table)
  const recorded = (version ?? FIRST_VERSION).version
  if (recorded > steps.length) return
  for (const statement of steps.slice(exists ? recorded : 0).flat()) database.exec(statement)
  const versions = versionsTable(table)
  database.exec(`create table if not exists ${versions} (
    name text primary key not null, version integer not null, oldest integer not null)`)
  database
    .prepare(`insert or replace into ${versions} values (?, ?, ?)`)
    .run(bareName(table), steps.length, steps.length)
}
