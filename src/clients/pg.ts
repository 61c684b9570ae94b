import { AnswerLimit } from '../base/answer-limit.ts'
import { hasMethods } from '../base/arguments.ts'
import { systemClock } from '../base/clock.ts'
import { LeaseError, messageOf } from '../base/errors.ts'
import { troubleOf } from './connection.ts'
import { ANSWER_LIMIT_MS, DEFAULT_CONNECTIONS, SCRIPT_LIMIT_MS } from './options.ts'
import type { ListenerHooks, PostgresDatabase, PostgresListener, SqlRow, SqlValue } from './postgres.ts'
import { isStatementLost } from './postgres-errors.ts'
import { identifier } from './sql-text.ts'

/** The transaction status of a connection without a transaction. */
const IDLE = 'I'

interface Query {
  readonly name?: string | undefined
  readonly text: string
  readonly values?: SqlValue[] | undefined
  readonly query_timeout?: number | undefined
}

interface Queryable {
  query(query: Query): Promise<{ readonly rows: readonly SqlRow[] }>
  connect(): Promise<unknown>
}

export interface PgPool extends Queryable {
  readonly totalCount: number
  readonly options: { readonly max?: unknown }
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
  readonly connection?: { readonly stream?: { destroy(error: Error): unknown } }
  on(event: 'notification', listener: (message: Notification) => void): unknown
  on(event: 'error' | 'end', listener: () => void): unknown
  ref?(): void
  unref?(): void
  end(): Promise<void>
}

export type PgClientClass = new (config: PgConfig) => ListeningClient

export function isPgPool(client: unknown): client is PgPool & { readonly Client: PgClientClass } {
  if (!hasMethods(client, 'query', 'connect', 'Client')) return false
  const { totalCount, options } = client as { readonly totalCount?: unknown; readonly options?: unknown }
  return typeof totalCount === 'number' && typeof options === 'object'
}

export function isPgClient(client: unknown): client is PgClient & {
  readonly constructor: PgClientClass
  readonly connectionParameters: object
} {
  if (!hasMethods(client, 'query', 'connect')) return false
  const { connectionParameters } = client as { readonly connectionParameters?: unknown }
  return typeof connectionParameters === 'object'
}

export function pgPool(pool: Pick<PgPool, 'query' | 'options'>): PostgresDatabase {
  const { max } = pool.options
  const { query, ...others } = pgQueries(pool, new AnswerLimit())
  return {
    connections: typeof max === 'number' && max >= 1 ? max : DEFAULT_CONNECTIONS,
    query: preparedIfKept(query),
    ...others,
  }
}

function pgQueries(
  pool: Pick<Queryable, 'query'>,
  limit: AnswerLimit,
): Omit<PostgresDatabase, 'connections'> {
  return {
    limit,
    async query(text, values, name) {
      // Without a limit, a connection that died silently would stay in the pool until TCP gives up.
      const limits = { query_timeout: limit.ms, ...(name !== undefined && { name }) }
      const { rows } = await pool.query({ ...limits, text, values: [...values] })
      return rows
    },
    async run(script) {
      await pool.query({ text: script, query_timeout: SCRIPT_LIMIT_MS })
    },
  }
}

/**
 * A pooler that shares connections may lose prepared statements, or find them already there. The server has not run
 * such a query, so it is sent again without a name, and so are all later ones.
 */
function preparedIfKept(query: PostgresDatabase['query']): PostgresDatabase['query'] {
  let isKept = true
  return async (text, values, name) => {
    if (name === undefined || !isKept) return query(text, values)
    try {
      return await query(text, values, name)
    } catch (error) {
      if (!isStatementLost(error)) throw error
      isKept = false
      return query(text, values)
    }
  }
}

/** A client runs one query at a time, and a future `pg` will reject queries that do not wait for their turn. */
export function pgClient(client: PgClient, limit = new AnswerLimit()): PostgresDatabase {
  const { query, run } = pgQueries(client, limit)
  followTransactions(client)
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const begin = () => {
      expectConnected(client)
      return outsideTransactions(client, work)
    }
    const result = last.then(begin, begin)
    last = result
    return result
  }
  return {
    connections: 1,
    limit,
    query: preparedIfKept((text, values, name) => inTurn(() => query(text, values, name))),
    run: (script) => inTurn(() => run(script)),
  }
}

/** Without this check `pg` keeps the query for a connection that nobody opens, until it times out. */
function expectConnected(client: PgClient): void {
  const { _connecting, _connected, _connectionError } = client as unknown as Record<string, unknown>
  if ((_connecting !== false || _connected !== false) && _connectionError !== true) return
  const cause = troubleOf(client)?.cause
  const reason = cause === undefined ? '' : ` (${messageOf(cause)})`
  throw new LeaseError(
    'store-failed',
    `Postgres: this Client is not connected${reason}: call its connect() first and wait for it, or pass a Pool`,
    { cause },
  )
}

/** The part of a `Client` that receives the server's messages. */
interface MessageSource {
  on(event: 'readyForQuery', listener: (message: { readonly status?: string }) => void): unknown
  on(event: 'readyForQuery' | 'end', listener: () => void): unknown
  off(event: 'readyForQuery' | 'end', listener: () => void): unknown
}

/** `undefined`: a client of `pg-native`. */
function messagesOf(client: PgClient): MessageSource | undefined {
  const { connection } = client as { readonly connection?: unknown }
  return hasMethods(connection, 'on', 'off') ? (connection as unknown as MessageSource) : undefined
}

/** The last status that the server reported to a client: `I` without a transaction, else `T` or `E`. */
const statuses = new WeakMap<object, string>()

function followTransactions(client: PgClient): void {
  if (statuses.has(client)) return
  statuses.set(client, IDLE)
  messagesOf(client)?.on('readyForQuery', ({ status = IDLE }) => statuses.set(client, status))
}

/** Resolves with the answer to a query that would be undone with the user's transaction, if there were one. */
function outsideTransactions<T>(client: PgClient, query: () => Promise<T>): Promise<T> {
  const messages = messagesOf(client)
  const send = async () => {
    // Newer versions of `pg` also know the status of a client that was connected before the store was created.
    const { getTransactionStatus } = client as { getTransactionStatus?(): unknown }
    const status = getTransactionStatus?.call(client) ?? statuses.get(client)
    if (status === IDLE) return query()
    throw new LeaseError(
      'store-failed',
      'Postgres: this Client is inside a transaction of yours: end it first, or pass a Pool',
    )
  }
  if (!messages || !isBusy(client)) return send()
  // One of the user's queries that are under way may begin a transaction.
  return new Promise((resolve) => {
    const stop = () => {
      messages.off('readyForQuery', onReady)
      messages.off('end', stop)
      resolve(send())
    }
    // Now, and not in a later task: by then the user may have sent the next query.
    const onReady = () => {
      if (!isBusy(client)) stop()
    }
    messages.on('readyForQuery', onReady)
    messages.on('end', stop)
  })
}

function isBusy(client: PgClient): boolean {
  const { readyForQuery, _queryable } = client as unknown as Record<string, unknown>
  return readyForQuery === false && _queryable !== false
}

export async function pgListener(
  Client: PgClientClass,
  config: PgConfig,
  { notified, dropped, limit }: ListenerHooks,
): Promise<PostgresListener> {
  const client = new Client(config)
  client.on('error', dropped)
  client.on('end', dropped)
  client.on('notification', ({ channel, payload = '' }) => notified(channel, payload))
  // By default `pg` waits forever for a server that accepts a connection and then says nothing.
  const cancelLimit = systemClock.setTimer(
    () => client.connection?.stream?.destroy(new Error('timeout while connecting')),
    ANSWER_LIMIT_MS,
    true,
  )
  await client.connect().finally(cancelLimit)
  const { query } = pgClient(client, limit)
  return {
    pid: client.processID,
    query,
    async listen(channel) {
      await query(`listen ${identifier(channel)}`, [])
    },
    async unlisten(channel) {
      await query(`unlisten ${identifier(channel)}`, [])
    },
    keepAlive: (wanted) => (wanted ? client.ref?.() : client.unref?.()),
    close: () => client.end(),
  }
}
