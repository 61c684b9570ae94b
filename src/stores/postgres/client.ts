import { show as whatCame } from '../../base/arguments.ts'
import { LeaseError } from '../../core/index.ts'
import {
  isPgClient,
  isPgPool,
  type PgClient,
  type PgConfig,
  type PgPool,
  pgClient,
  pgListener,
  pgPool,
} from './pg.ts'
import { isPostgresJs, type PostgresJs, postgresJs, postgresJsListener } from './postgres-js.ts'

/** A `Pool` or a connected `Client` of `pg`, or the `sql` of `postgres`. */
export type PostgresClient = PgPool | PgClient | PostgresJs

export type Value = string | number | boolean | null

export interface Row {
  readonly answer?: unknown
}

/** The two drivers, told apart by what they can do: one statement a call, unnamed where a pooler may be between. */
export interface Database {
  /** The column `answer` of the only row. */
  ask(text: string, values: readonly Value[]): Promise<string | null>
  /** Several statements in one transaction. */
  run(script: string): Promise<void>
}

/** Opens a connection of its own that hears notifications. */
export type Listen = (hooks: ListenerHooks) => Promise<Listener>

export interface ListenerHooks {
  heard(channel: string, payload: string): void
  /** Something may have been missed, and nothing may come any more. */
  dropped(): void
}

export interface Listener {
  /** The server's process behind the connection; `null` where the driver cannot tell. */
  readonly pid: number | null
  listen(channel: string): Promise<void>
  unlisten(channel: string): Promise<void>
  /** Whether the connection alone keeps this process alive. */
  keepAlive(wanted: boolean): void
  close(): Promise<void>
}

export function databaseOf(client: unknown): Database {
  if (isPostgresJs(client)) return postgresJs(client)
  if (isPgPool(client)) return pgPool(client)
  if (isPgClient(client)) return pgClient(client)
  throw refusal('client', 'a Pool or Client of pg, or the sql of postgres', client)
}

/** Where to listen: like `client`, unless the option `listen` says otherwise. */
export function listenOf(
  client: PostgresClient,
  listen: PostgresClient | PgConfig | string | undefined,
): Listen {
  const model = listen ?? client
  if (isPostgresJs(model)) return (hooks) => postgresJsListener(model, hooks)
  if (isPgPool(model)) return (hooks) => pgListener(model.Client, model.options, hooks)
  if (isPgClient(model)) return (hooks) => pgListener(model.constructor, model.connectionParameters, hooks)
  const isConfig = typeof model === 'string' || (typeof model === 'object' && model !== null)
  if (isConfig && isPgPool(client)) return (hooks) => pgListener(client.Client, model, hooks)
  if (isConfig && isPgClient(client)) return (hooks) => pgListener(client.constructor, model, hooks)
  throw refusal(
    'listen',
    isConfig ? 'another sql, since the client is of postgres' : 'a client or a connection configuration',
    model,
  )
}

function refusal(option: string, expected: string, value: unknown): LeaseError {
  return new LeaseError('invalid-argument', `${option}: expected ${expected}, got ${whatCame(value)}`)
}
