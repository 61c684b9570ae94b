import type { LeaseError } from '../../base/errors.ts'
import { followConnection } from '../../clients/connection.ts'
import { type PostgresClient, postgresDatabase } from '../../clients/postgres.ts'
import { codeOf } from '../../clients/store-error.ts'
import { inspectPostgres, postgresStore } from '../../stores/postgres/index.ts'
import { CONNECT_LIMIT_MS, POOL_CONNECTIONS, POSTGRES_RECONNECT_EVERY_S } from '../options.ts'
import { firstAnswer, loadClient, type OpenedStore, optional, takeParameter } from './opened-store.ts'

/** SQLSTATEs of a wrong user or password. */
const INVALID_AUTHORIZATION = /^28/

interface Connected {
  readonly client: PostgresClient
  readonly driver: string
  close(): Promise<void>
}

export async function openPostgres(url: URL): Promise<OpenedStore> {
  const schema = takeParameter(url, 'schema')
  const table = takeParameter(url, 'table')
  const listen = takeParameter(url, 'listen')
  const connect = await loadClient<(url: string) => Connected>('Postgres', {
    pg: async () => withPg((await import('pg')).default),
    postgres: async () => withPostgresJs((await import('postgres')).default),
  })
  const { client, driver, close: closeClient } = connect(url.href)
  // A pooler cannot pass notifications on, so another connection goes around it.
  const direct = listen === undefined ? undefined : connect(listen)
  const listening = direct && { listen: direct.client }
  const place = { ...optional('schema', schema), ...optional('table', table) }
  const store = postgresStore(client, { ...place, ...listening })
  const close = async () => {
    await store.close()
    await Promise.all([closeClient(), direct?.close()])
  }
  // The first call of the store repairs what is missing, unless the server cannot be reached.
  const found = await inspectPostgres(client, place).catch(async (error: LeaseError) => {
    if (!error.retryable) return null
    await close().catch(() => {})
    throw error
  })
  await firstAnswer({ store, close }, 'postgres', (cause) => INVALID_AUTHORIZATION.test(codeOf(cause)))
  const nameOf = (part: string) => `${table ?? 'holdfast'}_${part}`
  return {
    store,
    close,
    async migrate(options) {
      const { migrateServer } = await import('../../server/index.ts')
      return migrateServer(client, {
        ...optional('schema', schema),
        ...optional('leases', table),
        documents: nameOf('documents'),
        audit: nameOf('audit'),
        secrets: nameOf('secrets'),
        ...options,
      })
    },
    async jobs() {
      const { postgresJobs } = await import('../../once/index.ts')
      return postgresJobs(client, { schema, table: nameOf('jobs') })
    },
    async serverParts() {
      const { postgresShared } = await import('../../server/parts.ts')
      return postgresShared(client, { schema, table, listen: direct?.client })
    },
    async backendInfo() {
      const [row = {}] = await postgresDatabase(client).query(
        `select current_setting('server_version') as version`,
        [],
      )
      const { version } = row
      const warnings = found?.state === 'damaged' ? [repaired(found.problem)] : []
      return { version: `Postgres ${version} through ${driver}`, warnings }
    },
  }
}

function repaired(problem: string | null) {
  return {
    text: `${problem}; this command has created it again`,
    remedy: 'find out what dropped it: the leases and waiters in it are gone',
  }
}

function withPg({ Pool }: typeof import('pg')['default']) {
  return (url: string): Connected => {
    const pool = new Pool({
      connectionString: url,
      max: POOL_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_LIMIT_MS,
    })
    followConnection(pool)
    return { client: pool, driver: 'pg', close: () => pool.end() }
  }
}

function withPostgresJs(postgres: typeof import('postgres')) {
  return (url: string): Connected => {
    const sql = postgres(url, {
      max: POOL_CONNECTIONS,
      connect_timeout: CONNECT_LIMIT_MS / 1000,
      onnotice: () => {},
      // A connection that is reset during that query would end the process.
      fetch_types: false,
      // While its listening connection waits to reconnect, the process cannot end.
      backoff: () => POSTGRES_RECONNECT_EVERY_S,
    })
    return { client: sql, driver: 'postgres', close: () => sql.end({ timeout: 1 }) }
  }
}
