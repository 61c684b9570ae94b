import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { expectOptions, expectText, refuseClient } from '../../base/arguments.ts'
import { systemClock } from '../../base/clock.ts'
import { BUSY_LIMIT_MS } from '../../clients/options.ts'
import { busyPauseMs, expectSqlite, inTransaction, prepareSqlite, unlessBusy } from '../../clients/sqlite.ts'
import { isBusy, sqliteError } from '../../clients/sqlite-errors.ts'
import { fileCheck } from '../../clients/sqlite-file.ts'
import { sqliteStore } from '../../stores/sqlite/index.ts'
import type { AuditLog } from '../audit.ts'
import type { DocumentStore } from '../documents.ts'
import type { SqlAuditOptions, SqlDocumentsOptions, SqlSecretsOptions } from '../options.ts'
import { type ServerParts, withClose } from '../parts.ts'
import type { SecretStore } from '../secrets.ts'
import {
  bareName,
  type Dialect,
  FIRST_VERSION,
  type MigrationSteps,
  type SqlRow,
  versionIn,
  versionsTable,
} from '../sql.ts'
import { sqlAudit } from '../sql-audit.ts'
import { sqlDocuments } from '../sql-documents.ts'
import { sqlSecrets } from '../sql-secrets.ts'
import type { SqliteServerOptions } from './options.ts'

/** What a part on a SQLite file has, too. */
export interface SqliteFilePart {
  /** Closes the file that was opened by its path. A connection of yours stays open. */
  close(): void
}

/**
 * Contents in a SQLite file, which may be that of the leases. It opens a path, and leaves a connection of yours open.
 *
 * @example
 * const server = await createServer({ store: sqliteStore('./holdfast.db'), documents: sqliteDocuments('./holdfast.db') })
 */
export function sqliteDocuments(
  database: DatabaseSync | string,
  options: SqlDocumentsOptions = {},
): DocumentStore & SqliteFilePart {
  return onFile(database, (opened) => sqlDocuments(sqliteDialect(opened), options))
}

/**
 * The audit trail in a SQLite file. It opens a path, and leaves a connection of yours open.
 *
 * @example
 * const service = await createLockServer({ store, documents, audit: sqliteAudit('./holdfast.db') })
 */
export function sqliteAudit(
  database: DatabaseSync | string,
  options: SqlAuditOptions = {},
): AuditLog & SqliteFilePart {
  return onFile(database, (opened) => sqlAudit(sqliteDialect(opened), options))
}

/**
 * Secrets in a SQLite file. Everybody who may read the file can read them. It opens a path, and leaves a connection of yours open.
 *
 * @example
 * const service = await createLockServer({ store, documents, secrets: sqliteSecrets('./holdfast.db') })
 */
export function sqliteSecrets(
  database: DatabaseSync | string,
  options: SqlSecretsOptions = {},
): SecretStore & SqliteFilePart {
  return onFile(database, (opened) => sqlSecrets(sqliteDialect(opened), options))
}

/** Without a bus: SQLite is for one machine. */
export interface SqliteParts extends Omit<ServerParts, 'bus'> {}

/**
 * All that a server keeps, in one SQLite file.
 *
 * @example
 * const server = await createServer({ ...sqliteParts('./holdfast.db') })
 */
export function sqliteParts(path: string, options: SqliteServerOptions = {}): SqliteParts {
  expectOptions(options, { table: 1 })
  const { table } = options
  const database = openSqlite(path)
  const store = sqliteStore(path, { synchronous: 'full', ...(table !== undefined && { table }) })
  const tableOf = (part: string) => ({ table: `${table ?? 'holdfast'}_${part}` })
  const parts = {
    store,
    documents: sqliteDocuments(database, tableOf('documents')),
    audit: sqliteAudit(database, tableOf('audit')),
    secrets: sqliteSecrets(database, tableOf('secrets')),
  }
  return withClose(parts, () => database.close())
}

function onFile<Part extends object>(
  database: DatabaseSync | string,
  create: (opened: DatabaseSync) => Part,
): Part & SqliteFilePart {
  if (typeof database !== 'string') return { ...create(database), close() {} }
  if (database === '' || database.includes('://'))
    refuseClient('database', 'a path, or a DatabaseSync of node:sqlite', database)
  const opened = openSqlite(database)
  return { ...create(opened), close: () => opened.close() }
}

/**
 * Opens a connection for all of them, with the settings of a server: what was answered is on the disk.
 *
 * @example
 * const database = openSqlite('./holdfast.db')
 * const parts = { documents: sqliteDocuments(database), audit: sqliteAudit(database) }
 */
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

/**
 * Creates the file if it is missing. Only its owner may read it, because it contains documents.
 *
 * @example
 * createPrivateFile('./holdfast.db')
 * const database = new DatabaseSync('./holdfast.db')
 */
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
  expectSqlite('database', database, 'a path, or a DatabaseSync of node:sqlite')
  const statements = new Map<string, Prepared>()
  const expectFile = fileCheck(database)
  const run = <T>(work: () => T) =>
    unlessBusy(() => {
      expectFile()
      return work()
    })
  return {
    sql: (text, values) =>
      run(() => {
        const prepared = statements.get(text) ?? prepare(database, text)
        statements.set(text, prepared)
        return prepared.statement.all(...prepared.places.map((place) => values[place] ?? null)) as SqlRow[]
      }),
    serial: 'integer primary key autoincrement',
    now: `cast(unixepoch('subsec') * 1000 as integer)`,
    look: (table) => run(() => look(database, table)),
    migrate: (table, steps, oldest) =>
      run(() => inTransaction(database, () => migrate(database, table, steps, oldest))),
    checkAccess: (_, trial) =>
      run(() => {
        inTransaction(database, () => {
          for (const statement of trial) database.exec(statement)
        })
      }),
  }
}

interface Prepared {
  readonly statement: StatementSync
  /** Of each `?`: which of the values it stands for. */
  readonly places: readonly number[]
}

/** Node before 22.20 and 24.7 binds nothing to `?1`, so the values are given in the order of the text. */
function prepare(database: DatabaseSync, text: string): Prepared {
  const places = Array.from(text.matchAll(/\?(\d)/g), ([, number]) => Number(number) - 1)
  return { statement: prepareSqlite(database, text.replaceAll(/\?\d/g, '?')), places }
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
function migrate(database: DatabaseSync, table: string, steps: MigrationSteps, oldest: number): void {
  const { exists, version } = look(database, table)
  const recorded = (version ?? FIRST_VERSION).version
  if (recorded > steps.length) return
  for (const statement of steps.slice(exists ? recorded : 0).flat()) database.exec(statement)
  const versions = versionsTable(table)
  database.exec(`create table if not exists ${versions} (
    name text primary key not null, version integer not null, oldest integer not null)`)
  database
    .prepare(`insert or replace into ${versions} values (?, ?, ?)`)
    .run(bareName(table), steps.length, oldest)
}
