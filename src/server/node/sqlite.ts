import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { LeaseError, systemClock } from '../../core/index.ts'
import type { AuditLog } from '../audit.ts'
import type { DocumentStore } from '../documents.ts'
import type { Dialect, SqlRow } from '../sql.ts'
import { type SqlAuditOptions, sqlAudit } from '../sql-audit.ts'
import { type SqlDocumentsOptions, sqlDocuments } from '../sql-documents.ts'

const PATIENCE_MS = 4000
const PAUSE_MS = 10
/** Primary result codes: busy, locked. */
const BUSY = [5, 6]

/**
 * Contents in a SQLite file, beside the leases if it is the same. A connection of yours stays open.
 *
 * @example
 * const server = await createServer({ store: sqliteStore(path), documents: sqliteDocuments(openSqlite(path)) })
 */
export function sqliteDocuments(database: DatabaseSync, options: SqlDocumentsOptions = {}): DocumentStore {
  return sqlDocuments(dialectOf(database), options)
}

/** The audit trail in a SQLite file. */
export function sqliteAudit(database: DatabaseSync, options: SqlAuditOptions = {}): AuditLog {
  return sqlAudit(dialectOf(database), options)
}

/** A connection for both of them, set as for a server: what was answered is on the disk. */
export function openSqlite(path: string): DatabaseSync {
  const database = new DatabaseSync(path)
  changeToWal(database)
  database.exec('pragma synchronous = full; pragma busy_timeout = 0')
  return database
}

/** Of several that change to it at once, all but one are refused without waiting, whatever the timeout is. */
function changeToWal(database: DatabaseSync): void {
  const giveUpAt = systemClock.monotonic() + PATIENCE_MS
  for (;;) {
    try {
      database.exec('pragma journal_mode = wal')
      return
    } catch (error) {
      if (!isBusy(error) || systemClock.monotonic() >= giveUpAt) throw explain(error, isBusy(error))
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS)
    }
  }
}

function dialectOf(database: DatabaseSync): Dialect {
  const statements = new Map<string, StatementSync>()
  const run = (text: string, values: readonly (string | number | null)[]) => {
    const statement = statements.get(text) ?? database.prepare(text)
    statements.set(text, statement)
    return statement.all(...values) as SqlRow[]
  }
  return {
    async sql(text, values) {
      const giveUpAt = systemClock.monotonic() + PATIENCE_MS
      for (;;) {
        try {
          return run(text, values)
        } catch (error) {
          const busy = isBusy(error)
          if (!busy || systemClock.monotonic() >= giveUpAt) throw explain(error, busy)
          // SQLite itself would wait by stopping the event loop.
          await new Promise<void>((resolve) => systemClock.setTimer(resolve, PAUSE_MS))
        }
      }
    },
    serial: 'integer primary key autoincrement',
    now: `cast(unixepoch('subsec') * 1000 as integer)`,
  }
}

function isBusy(error: unknown): boolean {
  return BUSY.includes(((Object(error) as { readonly errcode?: number }).errcode ?? 0) & 0xff)
}

function explain(error: unknown, passing: boolean): LeaseError {
  const message = error instanceof Error ? error.message : String(error)
  return new LeaseError(passing ? 'store-unavailable' : 'store-failed', `SQLite: ${message}`, {
    cause: error,
  })
}
