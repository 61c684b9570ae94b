import { refuse } from '../base/arguments.ts'
import { isNewer, type SchemaVersion } from '../clients/schema-version.ts'
import { identifier } from '../clients/sql-text.ts'

/** Runs one statement. Its parameters are `?1`, `?2`, … in all dialects. Rejects with a `LeaseError`. */
export type Sql = (text: string, values: readonly string[]) => Promise<readonly SqlRow[]>
/** The columns of all results together. */
export type SqlRow = {
  readonly [column in
    | 'fence'
    | 'holder'
    | 'content'
    | 'token'
    | 'saved_at'
    | 'revision'
    | 'sequence'
    | 'number'
    | 'entry'
    | 'secret']?: unknown
}

/** Where the dialects differ. */
export interface Dialect {
  readonly sql: Sql
  /** The type of a primary key that counts up by itself. */
  readonly serial: string
  /** Milliseconds since 1970, by the database's clock. */
  readonly now: string
  /** Looks, and changes nothing. `version` is `null` if none is recorded. */
  look(table: string): Promise<{ readonly exists: boolean; readonly version: SchemaVersion | null }>
  /** Runs the steps that the table lacks and records its version, in one transaction. Several nodes may do it at once. */
  migrate(table: string, steps: MigrationSteps, oldest: number): Promise<void>
  /** Rejects if this user may not read and write the table, or if these statements, in one transaction, fail. */
  checkAccess(table: string, trial: readonly string[]): Promise<void>
}

/** The first step creates the table. Step `n` brings it from version `n` to `n + 1`. Append only. */
export type MigrationSteps = readonly (readonly string[])[]

/** Every step so far only adds columns that older code ignores, so nodes of every version may use the tables. */
const OLDEST_VERSION = 1

/** Tables that were created before versions were recorded. */
export const FIRST_VERSION: SchemaVersion = { version: 1, oldest: 1 }

/** A table's name cannot be a parameter of a statement. */
const TABLE = /^([a-z_]\w{0,59}\.)?[a-z_]\w{0,53}$/i

/** The name for statements. Its schema is quoted, because `postgresStore` uses a schema exactly as it is written. */
export function checkTable(table: string): string {
  if (typeof table === 'string' && TABLE.test(table)) return table.replace(/^.*(?=\.)/, identifier)
  refuse('table', '1 to 54 letters, digits and underscores that do not start with a digit', table)
}

/** For messages. */
export function shownName(table: string): string {
  return table.replaceAll('"', '')
}

/** The table's name without its schema, as Postgres and SQLite store it. */
export function bareName(table: string): string {
  return table.replace(/^.*\./, '').toLowerCase()
}

/** The name of an index of the table. It is in the table's schema. */
export function indexOf(table: string, name: string): string {
  return `${table.replace(/^.*\./, '')}_${name}`
}

/** A row of the table of versions. */
export function versionIn(row: Readonly<Record<string, unknown>> | undefined): SchemaVersion | null {
  if (!row) return null
  const { version, oldest } = row
  return { version: Number(version), oldest: Number(oldest) }
}

/** The table that records the versions of the tables in the same schema. */
export function versionsTable(table: string): string {
  return table.replace(/[^.]+$/, 'holdfast_versions')
}

export interface SqlTable {
  /** Creates or upgrades the table first, if it lacks something. No DDL is sent otherwise. */
  readonly sql: Sql
  /** Rejects if the table cannot be read and written, or is of a version that this code may not use. */
  check(): Promise<void>
}

/** `trial`: statements that write something and leave nothing behind, so that a check notices a full disk. */
export function sqlTable(
  dialect: Dialect,
  table: string,
  steps: MigrationSteps,
  trial: readonly string[] = [],
): SqlTable {
  let ready: Promise<void> | undefined

  async function prepare(): Promise<void> {
    const { exists, version } = await dialect.look(table)
    const stored = version ?? FIRST_VERSION
    // Also if the table is missing: a newer version may have another name for it.
    if (isNewer(shownName(table), exists ? stored : { ...stored, oldest: null }, steps.length)) return
    if (!exists || stored.version < steps.length) await dialect.migrate(table, steps, OLDEST_VERSION)
  }

  function prepareOnce(): Promise<void> {
    ready ??= prepare()
    return ready.catch((error) => {
      ready = undefined
      throw error
    })
  }

  return {
    async sql(text, values) {
      await prepareOnce()
      try {
        return await dialect.sql(text, values)
      } catch (error) {
        // Somebody may have dropped or upgraded the table. The next call looks again.
        ready = undefined
        throw error
      }
    },
    async check() {
      await prepare().catch((error) => {
        // From now on every statement looks first, and fails as this check.
        ready = undefined
        throw error
      })
      await dialect.checkAccess(table, trial)
    },
  }
}
