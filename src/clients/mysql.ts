import { AnswerLimit } from '../base/answer-limit.ts'
import { hasMethods, isObject, refuseClient } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { brokenMysqlError, isAnswer, isClosed } from './mysql-errors.ts'
import { DEFAULT_CONNECTIONS } from './options.ts'
import { malformedAnswer } from './store-error.ts'

/** A bit of the status that the server sends with each answer. */
const SERVER_STATUS_IN_TRANS = 1

/**
 * Microseconds since 1970 by the server's clock, for statements that wait for no lock. It is frozen at their start,
 * and does not depend on the time zone.
 */
export const MYSQL_CLOCK = `timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(6))`

/** A `Pool` or a connection of `mysql2` or `mysql2/promise`. */
export type MysqlClient = MysqlPromiseClient | MysqlCallbackClient

/** Of `mysql2/promise`. */
export type MysqlPromiseClient = MysqlPromisePool | MysqlPromiseConnection

export interface MysqlPromisePool {
  getConnection(): Promise<MysqlPoolConnection>
}

export interface MysqlPromiseConnection {
  query(options: MysqlQuery): Promise<readonly [unknown, unknown]>
  execute(options: MysqlQuery): Promise<readonly [unknown, unknown]>
}

/** Of `mysql2`, with callbacks. */
export interface MysqlCallbackClient {
  promise(): MysqlPromiseClient
}

export interface MysqlPoolConnection extends MysqlPromiseConnection {
  readonly connection?: object
  release(): void
  destroy(): void
}

interface MysqlQuery {
  readonly sql: string
  readonly values?: MysqlValue[]
  readonly timeout: number
  readonly rowsAsArray: false
  readonly nestTables: false
  readonly typeCast: true
}

/** All flavours behind one interface. Errors are those of the package: pass them to `mysqlError`. */
export interface MysqlDatabase {
  /** How many statements can run at once. */
  readonly connections: number
  readonly limit: AnswerLimit
  /** Resolves with the rows of each result set. */
  query(sql: string): Promise<readonly (readonly MysqlRow[])[]>
  /** For a statement without rows. */
  change(sql: string): Promise<MysqlChange>
  /**
   * The same, prepared on each connection once. Absent on a single connection: it may be within a transaction of the
   * application, to which the change would belong.
   */
  execute?(sql: string, values: readonly MysqlValue[]): Promise<MysqlChange>
}

/** Texts are sent as hexadecimal digits: see `unhex`. */
export type MysqlValue = string | number | null

export interface MysqlChange {
  readonly affectedRows: number
  /** What the statement passed to `last_insert_id`. */
  readonly insertId: number
  /** Whether the connection has an open transaction after the statement. */
  readonly inTransaction: boolean
}

export type MysqlRow = Readonly<Record<string, unknown>>

export function mysqlDatabase(client: MysqlClient): MysqlDatabase {
  const promised = promisedClient(client)
  return isMysqlPool(promised) ? onPool(promised) : onConnection(promised)
}

export function isMysqlPool(client: unknown): client is MysqlPromisePool {
  return hasMethods(client, 'getConnection')
}

/** The client with promises instead of callbacks. */
export function promisedClient(client: MysqlClient, option = 'client'): MysqlPromiseClient {
  // Its nodes are several servers, which know nothing of each other's leases.
  if (hasMethods(client, 'getConnection', 'of') || '_cluster' in Object(client))
    refuseClient(
      option,
      'a Pool or a connection of mysql2, because a PoolCluster has several servers',
      client,
    )
  const promised = hasMethods(client, 'promise')
    ? (client as MysqlCallbackClient).promise()
    : (client as MysqlPromiseClient)
  if (isMysqlPool(promised) || hasMethods(promised, 'query', 'execute')) return promised
  refuseClient(option, 'a Pool or a connection of mysql2', client)
}

/** A text as a binary literal: no mode of the server and no character set can change what it means. */
export function bytes(text: string): string {
  return `X'${hexDigits(text)}'`
}

/** The same as a value of a prepared statement, which reads it by `unhex(?)`. */
export function hexDigits(text: string): string {
  return Buffer.from(text).toString('hex')
}

/** A quoted name of a table or a procedure. */
export function mysqlName(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

function onPool(pool: MysqlPromisePool): MysqlDatabase {
  const limit = new AnswerLimit()
  const send = async (sql: string, values?: readonly MysqlValue[]): Promise<unknown> => {
    const connection = await pool.getConnection()
    try {
      const result = await run(connection, sql, limit, values)
      if (!(autocommits.get(keyOf(connection)) ?? (await isAutocommit(connection, limit))))
        await run(connection, COMMIT, limit)
      else if (changeOf(result).inTransaction) throw abandonedTransaction()
      connection.release()
      return result
    } catch (error) {
      // A connection that broke, or did not answer in time, must not serve the next caller.
      if (isAnswer(error)) connection.release()
      else connection.destroy()
      throw isClosed(error) ? brokenMysqlError(error) : error
    }
  }
  const execute = async (sql: string, values: readonly MysqlValue[]) => changeOf(await send(sql, values))
  return { connections: connectionsOf(pool), limit, ...resultsOf(send), execute }
}

/** The server undoes what was written when the connection is closed. */
function abandonedTransaction(): LeaseError {
  return new LeaseError(
    'store-unavailable',
    'MySQL: a connection of the pool was within a transaction, and was closed',
  )
}

/** Whatever `completion_type` says, no transaction follows, and the connection stays. */
export const COMMIT = 'commit and no chain no release'

/** By the connection itself: `mysql2` wraps it anew for each use. */
const autocommits = new WeakMap<object, boolean>()

/**
 * Whether the server commits each statement by itself. If the application has turned that off for its pool, what a
 * statement wrote would be undone, and later ones would read the past.
 */
async function isAutocommit(connection: MysqlPoolConnection, limit: AnswerLimit): Promise<boolean> {
  const [[row] = []] = resultSetsOf(await run(connection, 'select @@autocommit as autocommit', limit))
  const { autocommit } = row ?? {}
  const is = Number(autocommit ?? 1) === 1
  autocommits.set(keyOf(connection), is)
  return is
}

function keyOf(connection: MysqlPoolConnection): object {
  return connection.connection ?? connection
}

function onConnection(connection: MysqlPromiseConnection): MysqlDatabase {
  const limit = new AnswerLimit()
  return { connections: 1, limit, ...resultsOf((sql) => run(connection, sql, limit)) }
}

function resultsOf(send: (sql: string) => Promise<unknown>): Pick<MysqlDatabase, 'query' | 'change'> {
  return {
    query: async (sql) => resultSetsOf(await send(sql)),
    change: async (sql) => changeOf(await send(sql)),
  }
}

/** By the header of a statement without rows. */
function changeOf(header: unknown): MysqlChange {
  const { affectedRows, insertId, serverStatus } = Object(header) as Readonly<Record<string, unknown>>
  return {
    affectedRows: Number(affectedRows),
    insertId: Number(insertId),
    inTransaction: (Number(serverStatus) & SERVER_STATUS_IN_TRANS) !== 0,
  }
}

/** The options of the application's client for results must not matter here. */
async function run(
  connection: MysqlPromiseConnection,
  sql: string,
  limit: AnswerLimit,
  values?: readonly MysqlValue[],
): Promise<unknown> {
  const query = { sql, timeout: limit.ms, rowsAsArray: false, nestTables: false, typeCast: true } as const
  const answer: unknown = await (values
    ? connection.execute({ ...query, values: [...values] })
    : connection.query(query))
  const result: unknown = Array.isArray(answer) ? answer[0] : null
  // A statement without rows is answered with a header.
  if (typeof result !== 'object' || result === null) throw malformedAnswer('MySQL', result)
  return result
}

/** A SELECT has one list of rows. A CALL has one for each SELECT, and a header at the end. */
function resultSetsOf(result: unknown): readonly (readonly MysqlRow[])[] {
  if (!Array.isArray(result)) return []
  const sets = result.filter((item) => Array.isArray(item))
  return sets.length > 0 ? sets : [result.filter(isObject)]
}

const utf8 = new TextDecoder()

/** Columns of bytes are read as such. */
export function mysqlText(value: unknown): string {
  return value instanceof Uint8Array ? utf8.decode(value) : String(value)
}

function connectionsOf(pool: MysqlPromisePool): number {
  const { pool: core } = pool as {
    readonly pool?: { readonly config?: { readonly connectionLimit?: unknown } }
  }
  const limit = core?.config?.connectionLimit
  return typeof limit === 'number' && limit >= 1 ? limit : DEFAULT_CONNECTIONS
}
