import type { PostgresClient } from '../../server/index.ts'
import { postgresStore } from '../../stores/postgres/index.ts'
import { loadClient, type OpenedStore, optional, takeParameter } from './opened-store.ts'

const CONNECT_LIMIT_MS = 5000
const CONNECTIONS = 4

interface Connected {
  readonly client: Parameters<typeof postgresStore>[0] & PostgresClient
  readonly driver: string
  ask(query: string): Promise<{ readonly answer?: unknown } | undefined>
  close(): Promise<void>
}

export async function openPostgres(url: URL): Promise<OpenedStore> {
  const schema = takeParameter(url, 'schema')
  const table = takeParameter(url, 'table')
  const connect = await loadClient<(url: string) => Connected>('Postgres', {
    pg: async () => byPg((await import('pg')).default),
    postgres: async () => byPostgresJs((await import('postgres')).default),
  })
  const { client, driver, ask, close: closeClient } = connect(url.href)
  const store = postgresStore(client, { ...optional('schema', schema), ...optional('table', table) })
  const close = async () => {
    await store.close()
    await closeClient()
  }
  // A server that is not there is told now: later the store counts on it to come back.
  await store.read(['-']).catch(async (error) => {
    await close().catch(() => {})
    throw error
  })
  return {
    store,
    close,
    async serverParts() {
      const { postgresAudit, postgresBus, postgresDocuments } = await import('../../server/index.ts')
      return {
        documents: postgresDocuments(client),
        audit: postgresAudit(client),
        bus: postgresBus(client),
      }
    },
    async examine() {
      const version = (await ask(`select current_setting('server_version') as answer`))?.answer
      return { version: `Postgres ${version} through ${driver}`, concerns: [] }
    },
  }
}

function byPg({ Pool }: typeof import('pg')['default']) {
  return (url: string): Connected => {
    const pool = new Pool({
      connectionString: url,
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_LIMIT_MS,
    })
    // A connection that breaks while it is idle must be heard, or it ends the process; the store tells as well.
    pool.on('error', () => {})
    return {
      client: pool,
      driver: 'pg',
      ask: async (query) => (await pool.query(query)).rows[0],
      close: () => pool.end(),
    }
  }
}

function byPostgresJs(postgres: typeof import('postgres')) {
  return (url: string): Connected => {
    const sql = postgres(url, {
      max: CONNECTIONS,
      connect_timeout: CONNECT_LIMIT_MS / 1000,
      onnotice: () => {},
    })
    return {
      client: sql,
      driver: 'postgres',
      ask: async (query) => (await sql.unsafe<{ answer: unknown }[]>(query))[0],
      close: () => sql.end({ timeout: 1 }),
    }
  }
}
