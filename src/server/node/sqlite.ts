import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { expectText } from '../../base/arguments.ts'
import { systemClock } from '../../base/clock.ts'
import { BUSY_LIMIT_MS, busyPauseMs, expectSqlite, unlessBusy } from '../../clients/sqlite.ts'
import { isBusy, sqliteError } from '../../clients/sqlite-errors.ts'
import type { AuditLog } from '../audit.ts'
import type { DocumentStore } from '../documents.ts'
import type { Dialect, SqlRow } from '../sql.ts'
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
  return {
    sql: (text, values) =>
      unlessBusy(() => {
        const statement = statements.get(text) ?? database.prepare(text)
        statements.set(text, statement)
        return statement.all(...values) as SqlRow[]
      }),
    serial: 'integer primary key autoincrement',
    now: `cast(unixepoch('subsec') * 1000 as integer)`,
  }
}
