import { LeaseError } from '../../core/index.ts'
import type { Hearing, Line } from './ear.ts'

const QUERY_LIMIT_MS = 5000

interface Query {
  readonly text: string
  readonly values?: string[]
  readonly query_timeout?: number
}

interface PgQueryable {
  query(query: Query): Promise<unknown>
  connect(): Promise<unknown>
}

/** `Pool` of `pg`: what is used of it. */
export interface PgBusPool extends PgQueryable {
  readonly totalCount: number
  readonly options: object
}

/** A connected `Client` of `pg`. */
export interface PgBusClient extends PgQueryable {
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown
}

/** The `sql` of `postgres`. */
export interface PostgresJsBusClient {
  unsafe(text: string, values?: string[]): PromiseLike<unknown>
  listen(
    channel: string,
    heard: (payload: string) => void,
    onListen?: () => void,
  ): PromiseLike<{ unlisten(): Promise<void> }>
}

export type PostgresBusClient = PgBusPool | PgBusClient | PostgresJsBusClient

interface ListeningClient extends PgBusClient {
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown
  on(event: 'error' | 'end', listener: () => void): unknown
  end(): Promise<void>
}

type ClientClass = new (config: object) => ListeningClient

/** One way to talk to either package. */
export interface PostgresDialect {
  query(text: string, values: string[]): PromiseLike<unknown>
  listen(channel: string, hearing: Hearing): Promise<Line>
}

export function dialectOf(client: PostgresBusClient, option: string): PostgresDialect {
  if (isPostgresJs(client)) return postgresJs(client)
  if (isPool(client)) return pgDialect(client, client.Client, client.options)
  if (isClient(client)) return pgDialect(client, client.constructor, client.connectionParameters)
  throw new LeaseError(
    'invalid-argument',
    `${option}: expected a Pool or Client of pg, or the sql of postgres`,
  )
}

function isPostgresJs(client: unknown): client is PostgresJsBusClient {
  const { unsafe, listen } = Object(client)
  return typeof unsafe === 'function' && typeof listen === 'function'
}

function isPool(client: unknown): client is PgBusPool & { readonly Client: ClientClass } {
  const { query, totalCount, Client } = Object(client)
  return typeof query === 'function' && typeof totalCount === 'number' && typeof Client === 'function'
}

function isClient(
  client: unknown,
): client is PgBusClient & { readonly constructor: ClientClass; readonly connectionParameters: object } {
  const { query, connectionParameters } = Object(client)
  return typeof query === 'function' && typeof connectionParameters === 'object'
}

function pgDialect(client: PgQueryable, Client: ClientClass, config: object): PostgresDialect {
  return {
    query: (text, values) => client.query({ text, values, query_timeout: QUERY_LIMIT_MS }),
    async listen(channel, { heard, dropped }) {
      const own = new Client(config)
      own.on('error', dropped)
      own.on('end', dropped)
      own.on('notification', ({ payload = '' }) => heard(payload))
      try {
        await own.connect()
        await own.query({ text: `listen "${channel}"`, query_timeout: QUERY_LIMIT_MS })
      } catch (error) {
        own.end().catch(() => {})
        throw error
      }
      return { close: () => own.end() }
    },
  }
}

/** It keeps one listening connection for all channels until it is ended, and listens again by itself when that is lost. */
function postgresJs(sql: PostgresJsBusClient): PostgresDialect {
  return {
    query: (text, values) => sql.unsafe(text, values),
    async listen(channel, { heard }) {
      const { unlisten } = await sql.listen(channel, heard)
      return { close: unlisten }
    },
  }
}
