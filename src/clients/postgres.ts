import type { AnswerLimit } from '../base/answer-limit.ts'
import { hasMethods, isObject, refuseClient } from '../base/arguments.ts'
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
import { isPostgresJs, type PostgresJs, postgresJs, postgresJsListener, withOwnNames } from './postgres-js.ts'

export type { PgConfig } from './pg.ts'

/** A `Pool` or a connected `Client` of `pg`, or the `sql` of `postgres`. */
export type PostgresClient = PgPool | PgClient | PostgresJs

/** Whatever can run a statement: a `PostgresClient`, also within a transaction, or the `sql` of a transaction. */
export type PostgresQueryClient = PgQueryClient | PostgresJsQueryClient

/** A `Pool` or a client of `pg`. */
export interface PgQueryClient {
  query(text: string, values: unknown[]): PromiseLike<{ readonly rows: readonly unknown[] }>
}

/** The `sql` of `postgres`, or of one of its transactions. */
export interface PostgresJsQueryClient {
  unsafe(text: string, values: (string | number | null)[]): PromiseLike<readonly unknown[]>
}

export type SqlValue = string | number | boolean | null
export type SqlRow = Readonly<Record<string, unknown>>

/** Both drivers behind one interface. Errors are those of the driver: pass them to `postgresError`. */
export interface PostgresDatabase {
  /** How many statements it can run at once. */
  readonly connections: number
  /** For `pg`. Queries of `postgres` have no limit. */
  readonly limit: AnswerLimit
  /** One statement. `name`: prepared once per connection of `pg`, under this name, unless a pooler prevents it. */
  query(text: string, values: readonly SqlValue[], name?: string): Promise<readonly SqlRow[]>
  /** Several statements in one transaction. */
  run(script: string): Promise<void>
}

/** Opens a separate connection that receives notifications. */
export type OpenListener = (hooks: ListenerHooks) => Promise<PostgresListener>

export interface ListenerHooks {
  notified(channel: string, payload: string): void
  /** Something may have been missed, and nothing may arrive any more. */
  dropped(): void
  /** Of statements on this connection. Default: `ANSWER_LIMIT_MS`. */
  readonly limit?: AnswerLimit
}

export interface PostgresListener {
  /** The process id of the server's side; `null` if the driver cannot tell. */
  readonly pid: number | null
  listen(channel: string): Promise<void>
  unlisten(channel: string): Promise<void>
  /** Runs a statement on this connection. Absent if the driver cannot. */
  readonly query?: PostgresDatabase['query'] | undefined
  /** Whether the connection alone keeps this process alive. */
  keepAlive(wanted: boolean): void
  close(): Promise<void>
}

const EXPECTED = 'a Pool or Client of pg, or the sql of postgres'

export function postgresDatabase(client: unknown, option = 'client'): PostgresDatabase {
  if (isPostgresJs(client)) return postgresJs(client)
  if (isPgPool(client)) return pgPool(client)
  if (isPgClient(client)) return pgClient(client)
  refuseClient(option, EXPECTED, client)
}

/**
 * Runs one statement in whatever transaction the client has open. There is no limit, because the statement may have
 * to wait for a lock. Errors are those of the driver.
 */
export function postgresStatements(
  client: unknown,
  option = 'client',
): (text: string, values: readonly (string | number | null)[]) => Promise<readonly unknown[]> {
  const hasUnsafe = hasMethods(client, 'unsafe')
  if (!hasUnsafe && !hasMethods(client, 'query')) refuseClient(option, EXPECTED, client)
  return async (text, values) => {
    const rows = hasUnsafe
      ? await (client as PostgresJsQueryClient).unsafe(text, [...values])
      : Object(await (client as PgQueryClient).query(text, [...values])).rows
    // A client of another database may have a method of the same name.
    if (!Array.isArray(rows)) refuseClient(option, EXPECTED, client)
    return hasUnsafe ? rows.map(withOwnNames) : rows
  }
}

/** Where to listen: with the configuration of `client`, unless the option `listen` says otherwise. */
export function openListenerOf(client: PostgresClient, listen?: PostgresClient | PgConfig): OpenListener {
  const model = listen === undefined ? client : listen
  if (isPostgresJs(model)) return (hooks) => postgresJsListener(model, hooks)
  if (isPgPool(model)) return (hooks) => pgListener(model.Client, model.options, hooks)
  if (isPgClient(model)) return (hooks) => pgListener(model.constructor, model.connectionParameters, hooks)
  if (!isConfig(model))
    refuseClient('listen', 'a client of pg or postgres, or a connection configuration', model)
  if (isPgPool(client)) return (hooks) => pgListener(client.Client, model, hooks)
  if (isPgClient(client)) return (hooks) => pgListener(client.constructor, model, hooks)
  refuseClient('listen', 'another sql, because the client is the sql of postgres', model)
}

/** An address or an object of settings, not the client of something else. */
function isConfig(model: unknown): model is PgConfig {
  return isObject(model) ? !hasMethods(model, 'connect') : typeof model === 'string' && model !== ''
}
