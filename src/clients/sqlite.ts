import { hasMethods, refuseClient } from '../base/arguments.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { pause } from '../base/pause.ts'
import { BUSY_LIMIT_MS, BUSY_LONGEST_PAUSE_MS } from './options.ts'
import { isBusy, sqliteError } from './sqlite-errors.ts'

/** The part of a `DatabaseSync` of `node:sqlite` that Holdfast uses. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
}

export interface SqliteStatement {
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
  run(...values: SqliteValue[]): unknown
}

/** Of `node:sqlite`. The options of the database decide what its statements return, unless these are called. */
interface ConfigurableStatement {
  setReadBigInts?(enabled: boolean): void
  /** Node 22.13 does not have it, and never returns arrays. */
  setReturnArrays?(enabled: boolean): void
}

export type SqliteValue = string | number | null

export function expectSqlite(
  option: string,
  database: unknown,
  expected = 'a DatabaseSync of node:sqlite',
): asserts database is SqliteDatabase {
  if (!hasMethods(database, 'exec', 'prepare')) refuseClient(option, expected, database)
}

/** Its rows are objects, and their integers are numbers, whatever the options of the application's database are. */
export function prepareSqlite<S extends object>(database: { prepare(sql: string): S }, sql: string): S {
  const statement: S & ConfigurableStatement = database.prepare(sql)
  // The client of another database may return nothing.
  statement?.setReadBigInts?.(false)
  statement?.setReturnArrays?.(false)
  return statement
}

/**
 * Runs the work, and repeats it while another connection writes. SQLite's own busy timeout would block the event
 * loop instead. Rejects with a `LeaseError`.
 */
export async function unlessBusy<T>(work: () => T, clock: Clock = systemClock): Promise<T> {
  const giveUpAt = clock.monotonic() + BUSY_LIMIT_MS
  for (let tries = 0; ; tries++) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || clock.monotonic() >= giveUpAt) throw sqliteError(error)
      await pause(clock, busyPauseMs(clock, tries))
    }
  }
}

/** Milliseconds before try number `tries` + 1: short at first, with jitter. */
export function busyPauseMs(clock: Clock, tries: number): number {
  return Math.min(2 ** tries, BUSY_LONGEST_PAUSE_MS) * (0.5 + clock.random() / 2)
}

/** Takes the write lock at once: a lock that is requested later, after a read, may be refused. */
export function inTransaction<T>(database: SqliteDatabase, work: () => T): T {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    rollBack(database)
    throw error
  }
}

/** Whether the connection has an open transaction: its own, or one of the application. */
export function isInTransaction(database: SqliteDatabase): boolean {
  const { isTransaction, inTransaction: isOpen } = database as {
    /** Of `node:sqlite`, not in Node 22.13. */
    readonly isTransaction?: unknown
    /** Of `better-sqlite3`. */
    readonly inTransaction?: unknown
  }
  const known = isTransaction ?? isOpen
  if (typeof known === 'boolean') return known
  try {
    database.exec('BEGIN')
  } catch {
    // SQLite refuses a transaction within a transaction. `BEGIN` takes no lock, so it has no other reason.
    return true
  }
  database.exec('ROLLBACK')
  return false
}

function rollBack(database: SqliteDatabase): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // After a full disk or an I/O error SQLite has already rolled back. The first error is the one that matters.
  }
}
