import { LeaseError } from '../core/index.ts'
import type { AuditLog } from './audit.ts'
import type { DocumentStore } from './documents.ts'
import type { Dialect, SqlRow, SqlValue } from './sql.ts'
import { type SqlAuditOptions, sqlAudit } from './sql-audit.ts'
import { type SqlDocumentsOptions, sqlDocuments } from './sql-documents.ts'

/** A `Pool` of `pg`, or the `sql` of `postgres`. */
export type PostgresClient = PgPool | PostgresJs

interface PgPool {
  query(query: {
    readonly text: string
    readonly values: SqlValue[]
    readonly query_timeout: number
  }): Promise<{ readonly rows: readonly SqlRow[] }>
}

interface PostgresJs {
  unsafe(text: string, values: SqlValue[]): PromiseLike<readonly SqlRow[]>
}

const ANSWER_LIMIT_MS = 5000
/** Connection, rollback, resources, intervention, system; a primary that is away; sockets. */
const PASSING = /^((08|40|53|57|58)...|25006|E[A-Z_]+|CONNECT\w+)?$/
/** Two nodes that make the same table at once: its key, its name, or the type of its rows. */
const MADE_BY_ANOTHER = ['23505', '42P07', '42710']

/**
 * Contents in a table of Postgres, each step in one statement. Takes a client of yours and leaves it open.
 *
 * @example
 * const server = await createLockServer({ store: postgresStore(pool), documents: postgresDocuments(pool) })
 */
export function postgresDocuments(client: PostgresClient, options: SqlDocumentsOptions = {}): DocumentStore {
  return sqlDocuments(dialectOf(client), options)
}

/** The audit trail in a table of Postgres, one for all nodes. */
export function postgresAudit(client: PostgresClient, options: SqlAuditOptions = {}): AuditLog {
  return sqlAudit(dialectOf(client), options)
}

function dialectOf(client: PostgresClient): Dialect {
  const run = runnerOf(client)
  return {
    async sql(text, values) {
      try {
        return await run(text.replace(/\?(\d)/g, '$$$1'), [...values])
      } catch (error) {
        if (text.startsWith('create') && MADE_BY_ANOTHER.includes(codeOf(error))) return []
        throw explain(error)
      }
    },
    serial: 'bigint generated always as identity primary key',
    now: '(extract(epoch from clock_timestamp()) * 1000)::bigint',
  }
}

function runnerOf(
  client: PostgresClient,
): (text: string, values: SqlValue[]) => PromiseLike<readonly SqlRow[]> {
  if ('unsafe' in client) return (text, values) => client.unsafe(text, values)
  return async (text, values) => (await client.query({ text, values, query_timeout: ANSWER_LIMIT_MS })).rows
}

function explain(error: unknown): LeaseError {
  const passing = PASSING.test(codeOf(error))
  const message = error instanceof Error ? error.message : String(error)
  return new LeaseError(passing ? 'store-unavailable' : 'store-failed', `Postgres: ${message}`, {
    cause: error,
  })
}

function codeOf(error: unknown): string {
  return String((Object(error) as { readonly code?: unknown }).code ?? '')
}
