import { type PostgresClient, type PostgresDatabase, postgresDatabase } from '../clients/postgres.ts'
import { postgresError } from '../clients/postgres-errors.ts'
import { checkAccess, runMigration } from '../clients/postgres-migration.ts'
import { literal } from '../clients/sql-text.ts'
import { Calls } from '../stores/local/calls.ts'
import type { AuditLog } from './audit.ts'
import type { DocumentStore } from './documents.ts'
import type { SqlAuditOptions, SqlDocumentsOptions, SqlSecretsOptions } from './options.ts'
import type { SecretStore } from './secrets.ts'
import { bareName, type Dialect, type MigrationSteps, shownName, versionIn, versionsTable } from './sql.ts'
import { sqlAudit } from './sql-audit.ts'
import { sqlDocuments } from './sql-documents.ts'
import { sqlSecrets } from './sql-secrets.ts'

/**
 * Contents in a table of Postgres. Each step is one statement. It uses your client and leaves it open.
 *
 * @example
 * const server = await createLockServer({ store: postgresStore(pool), documents: postgresDocuments(pool) })
 */
export function postgresDocuments(client: PostgresClient, options: SqlDocumentsOptions = {}): DocumentStore {
  return sqlDocuments(postgresDialect(client), options)
}

/**
 * The audit trail in a table of Postgres, one for all nodes. It uses your client and leaves it open.
 *
 * @example
 * const service = await createLockServer({ store, documents: postgresDocuments(pool), audit: postgresAudit(pool) })
 */
export function postgresAudit(client: PostgresClient, options: SqlAuditOptions = {}): AuditLog {
  return sqlAudit(postgresDialect(client), options)
}

/**
 * Secrets that all nodes share. Everybody who may read the table can read them.
 *
 * @example
 * const service = await createLockServer({ store, documents: postgresDocuments(pool), secrets: postgresSecrets(pool) })
 */
export function postgresSecrets(client: PostgresClient, options: SqlSecretsOptions = {}): SecretStore {
  return sqlSecrets(postgresDialect(client), options)
}

function postgresDialect(client: PostgresClient): Dialect {
  const database = postgresDatabase(client)
  const calls = new Calls({ backend: 'Postgres', explain: postgresError })
  return {
    sql: (text, values) => calls.run(() => database.query(text.replace(/\?(\d)/g, '$$$1'), values)),
    serial: 'bigint generated always as identity primary key',
    now: '(extract(epoch from clock_timestamp()) * 1000)::bigint',
    look: (table) => calls.run(() => look(database, table)),
    migrate: (table, steps, oldest) => migrateTable(database, table, migrationScript(table, steps, oldest)),
    checkAccess: (table, trial) => calls.run(() => checkAccess(database, [table], trial)),
  }
}

async function look(database: PostgresDatabase, table: string): ReturnType<Dialect['look']> {
  const versions = versionsTable(table)
  // Looked up first, because a statement that fails would cost a pool its connection.
  const [found] = await database.query(
    'select to_regclass($1) is not null as "table", to_regclass($2) is not null as versions',
    [table, versions],
  )
  const { table: exists = false, versions: isRecorded = false } = { ...found }
  if (isRecorded !== true) return { exists: exists === true, version: null }
  const [row] = await database.query(`select version, oldest from ${versions} where name = $1`, [
    bareName(table),
  ])
  return { exists: exists === true, version: versionIn(row) }
}

/** Creates the table that records the versions, in the schema of this table. Tables of the first version lack it. */
export async function createVersions(database: PostgresDatabase, table: string): Promise<void> {
  await migrateTable(database, table, `begin ${versionsScript(table)} end`)
}

async function migrateTable(database: PostgresDatabase, table: string, body: string): Promise<void> {
  try {
    const problem = `${shownName(table)} does not exist, or is of an older version`
    await runMigration(database, { lock: versionsTable(table), body, problem, migrate: 'migrateServer' })
  } catch (error) {
    throw postgresError(error)
  }
}

function versionsScript(table: string): string {
  const [schema] = table.includes('.') ? table.split('.') : []
  const createSchema = schema
    ? `if to_regnamespace(${literal(schema)}) is null then create schema ${schema}; end if;`
    : ''
  return `${createSchema}
  create table if not exists ${versionsTable(table)} (
    name text primary key not null, version integer not null, oldest integer not null);`
}

/** Looks again: another node may have migrated while this one waited for its turn. */
function migrationScript(table: string, steps: MigrationSteps, oldest: number): string {
  const versions = versionsTable(table)
  const name = literal(bareName(table))
  return `
declare
  installed integer;
begin
  ${versionsScript(table)}
  select version into installed from ${versions} where name = ${name};
  if installed > ${steps.length} then
    return;
  end if;
  installed := case when to_regclass(${literal(table)}) is null then 0 else coalesce(installed, 1) end;
  ${steps.map((step, version) => `if installed <= ${version} then ${step.join(';\n')}; end if;`).join('\n  ')}
  insert into ${versions} values (${name}, ${steps.length}, ${oldest})
    on conflict (name) do update set version = excluded.version, oldest = excluded.oldest;
end`
}
