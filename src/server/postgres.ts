import { type PostgresClient, postgresDatabase } from '../clients/postgres.ts'
import { isCreatedByAnother, postgresError } from '../clients/postgres-errors.ts'
import { Calls } from '../stores/local/calls.ts'
import type { AuditLog } from './audit.ts'
import type { DocumentStore } from './documents.ts'
import type { SecretStore } from './secrets.ts'
import type { Dialect } from './sql.ts'
import { type SqlAuditOptions, sqlAudit } from './sql-audit.ts'
import { type SqlDocumentsOptions, sqlDocuments } from './sql-documents.ts'
import { type SqlSecretsOptions, sqlSecrets } from './sql-secrets.ts'

/**
 * Contents in a table of Postgres. Each step is one statement. It uses your client and leaves it open.
 *
 * @example
 * const server = await createLockServer({ store: postgresStore(pool), documents: postgresDocuments(pool) })
 */
export function postgresDocuments(client: PostgresClient, options: SqlDocumentsOptions = {}): DocumentStore {
  return sqlDocuments(postgresDialect(client), options)
}

/** The audit trail in a table of Postgres, one for all nodes. It uses your client and leaves it open. */
export function postgresAudit(client: PostgresClient, options: SqlAuditOptions = {}): AuditLog {
  return sqlAudit(postgresDialect(client), options)
}

/** Secrets that all nodes share. Whoever may read the table may read them. */
export function postgresSecrets(client: PostgresClient, options: SqlSecretsOptions = {}): SecretStore {
  return sqlSecrets(postgresDialect(client), options)
}

function postgresDialect(client: PostgresClient): Dialect {
  const database = postgresDatabase(client)
  const calls = new Calls({ backend: 'Postgres', explain: postgresError })
  return {
    sql: (text, values) =>
      calls.run(async () => {
        try {
          return await database.query(text.replace(/\?(\d)/g, '$$$1'), values)
        } catch (error) {
          if (text.startsWith('create') && isCreatedByAnother(error)) return []
          throw error
        }
      }),
    serial: 'bigint generated always as identity primary key',
    now: '(extract(epoch from clock_timestamp()) * 1000)::bigint',
  }
}
