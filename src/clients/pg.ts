import type { ListenerHooks, PostgresDatabase, PostgresListener, SqlRow, SqlValue } from './postgres.ts'
import { ANSWER_LIMIT_MS } from './postgres.ts'
import { identifier } from './sql-text.ts'

const SCRIPT_LIMIT_MS = 60_000

interface Query {
  readonly name?: string
  readonly text: string
  readonly values?: SqlValue[]
  readonly query_timeout?: number
}

interface Queryable {
  query(query: Query): Promise<{ readonly rows: readonly SqlRow[] }>
  connect(): Promise<unknown>
}

export interface PgPool extends Queryable {
  readonly totalCount: number
  readonly options: object
}

export interface PgClient extends Queryable {
  on(event: 'notification', listener: (message: Notification) => void): unknown
}

interface Notification {
  readonly channel: string
  readonly payload?: string | undefined
}

/** What `new Client()` of `pg` takes. */
export type PgConfig = object | string

interface ListeningClient extends PgClient {
  readonly processID: number | null
  on(event: 'notification', listener: (message: Notification) => void): unknown
  on(event: 'error' | 'end', listener: () => void): unknown
  ref?(): void
  unref?(): void
  end(): Promise<void>
}

export type PgClientClass = new (config: PgConfig) => ListeningClient

export function isPgPool(client: unknown): client is PgPool & { readonly Client: PgClientClass } {
  const { query, totalCount, options, Client } = Object(client)
  return (
    typeof query === 'function' &&
    typeof totalCount === 'number' &&
    typeof options === 'object' &&
    typeof Client === 'function'
  )
}

export function isPgClient(client: unknown): client is PgClient & {
  readonly constructor: PgClientClass
  readonly connectionParameters: object
} {
  const { query, connect, connectionParameters } = Object(client)
  return (
    typeof query === 'function' && typeof connect === 'function' && typeof connectionParameters === 'object'
  )
}

export function pgPool(pool: Queryable): PostgresDatabase {
  return {
    async query(text, values, name) {
      // Without a limit, a connection that died silently would stay in the pool until TCP gives up.
      const limits = { query_timeout: ANSWER_LIMIT_MS, ...(name !== undefined && { name }) }
      const { rows } = await pool.query({ ...limits, text, values: [...values] })
      return rows
    },
    async run(script) {
      await pool.query({ text: script, query_timeout: SCRIPT_LIMIT_MS })
    },
  }
}

/** A client runs one query at a time, and a future `pg` will reject queries that do not wait for their turn. */
export function pgClient(client: PgClient): PostgresDatabase {
  const { query, run } = pgPool(client)
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work, work)
    last = turn
    return turn
  }
  return {
    query: (text, values, name) => inTurn(() => query(text, values, name)),
    run: (script) => inTurn(() => run(script)),
  }
}

export async function pgListener(
  Client: PgClientClass,
  config: PgConfig,
  { notified, dropped }: ListenerHooks,
): Promise<PostgresListener> {
  const client = new Client(config)
  client.on('error', dropped)
  client.on('end', dropped)
  client.on('notification', ({ channel, payload = '' }) => notified(channel, payload))
  await client.connect()
  const run = async (text: string) => {
    await client.query({ text, query_timeout: ANSWER_LIMIT_MS })
  }
  return {
    pid: client.processID,
    listen: (channel) => run(`listen ${identifier(channel)}`),
    unlisten: (channel) => run(`unlisten ${identifier(channel)}`),
    keepAlive: (wanted) => (wanted ? client.ref?.() : client.unref?.()),
    close: () => client.end(),
  }
}
