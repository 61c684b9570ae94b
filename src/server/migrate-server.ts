import { expectOptions, expectText } from '../base/arguments.ts'
import { type PostgresClient, postgresDatabase } from '../clients/postgres.ts'
import { postgresError } from '../clients/postgres-errors.ts'
import { grantAccess } from '../clients/postgres-migration.ts'
import { identifier } from '../clients/sql-text.ts'
import { migratePostgres } from '../stores/postgres/index.ts'
import type { MigrateServerOptions } from './options.ts'
import { createVersions, postgresAudit, postgresDocuments, postgresSecrets } from './postgres.ts'
import { checkTable, shownName, versionsTable } from './sql.ts'

/**
 * Creates or upgrades every table of a service in Postgres, from a deploy script with the role that owns them. It may
 * run again, and several times at once. Nodes then send no DDL, and their role needs no right to create.
 *
 * @example
 * await migrateServer(new Pool({ user: 'admin' }), { grantTo: 'app' })
 */
export async function migrateServer(
  client: PostgresClient,
  options: MigrateServerOptions = {},
): Promise<{ readonly tables: readonly string[] }> {
  expectOptions(options, { schema: 1, leases: 1, documents: 1, audit: 1, secrets: 1, grantTo: 1 })
  const { schema, grantTo, leases = 'holdfast_leases' } = options
  const { documents = 'holdfast_documents', audit = 'holdfast_audit', secrets = 'holdfast_secrets' } = options
  if (grantTo !== undefined) expectText('grantTo', grantTo)
  const database = postgresDatabase(client)
  await migratePostgres(client, { ...(schema !== undefined && { schema }), table: leases })
  const within = (table: string) => (schema === undefined ? table : `${schema}.${table}`)
  await createVersions(database, checkTable(within(documents)))
  // A check creates and upgrades first.
  await postgresDocuments(client, { table: within(documents) }).check?.()
  await postgresAudit(client, { table: within(audit) }).check?.()
  await postgresSecrets(client, { table: within(secrets) }).check?.()

  const quoted = (table: string) => (schema === undefined ? '' : `${identifier(schema)}.`) + identifier(table)
  const tables = [
    ...['', '_waiters', '_shared', '_meta'].map((suffix) => quoted(`${leases}${suffix}`)),
    ...[documents, audit, secrets, versionsTable(documents)].map((table) => checkTable(within(table))),
  ]
  if (grantTo !== undefined) {
    try {
      const [row] = await database.query('select coalesce($1, current_schema()::text) as schema', [
        schema ?? null,
      ])
      const { schema: found } = { ...row }
      await grantAccess(database, { schema: String(found), tables, leases }, grantTo)
    } catch (error) {
      throw postgresError(error)
    }
  }
  return { tables: tables.map(shownName) }
}
