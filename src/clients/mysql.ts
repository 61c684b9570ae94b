import { hasMethods, isObject, refuseClient } from '../base/arguments.ts'
import { AnswerLimit } from './answer-limit.ts'
import { brokenMysqlError, isAnswer, isClosed } from './mysql-errors.ts'

const DEFAULT_CONNECTIONS = 10

/**
 * Microseconds since 1970 by the server's clock, for statements that wait for no lock. It is frozen at their start,
 * and does not depend on the time zone.
 */
export const MYSQL_CLOCK = `timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))`

/** A `Pool` or a connection of `mysql2` or `mysql2/promise`. */
export type MysqlClient = MysqlPromiseClient | MysqlCallbackClient

/** Of `mysql2/promise`. */
export type MysqlPromiseClient = MysqlPromisePool | MysqlPromiseConnection

export interface MysqlPromisePool {
  getConnection(): Promise<MysqlPoolConnection>
}

export interface MysqlPromiseConnection {
  query(options: MysqlQuery): Promise<readonly [unknown, unknown]>
}

/** Of `mysql2`, with callbacks. */
export interface MysqlCallbackClient {
  promise(): MysqlPromiseClient
}

interface MysqlPoolConnection extends MysqlPromiseConnection {
  readonly connection?: object
  release(): void
  destroy(): void
}

interface MysqlQuery {
  readonly sql: string
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
  /** For a statement without rows. `insertId`: what it passed to `last_insert_id`. */
  change(sql: string): Promise<{ readonly affectedRows: number; readonly insertId: number }>
}

export type MysqlRow = Readonly<Record<string, unknown>>

export function mysqlDatabase(client: MysqlClient): MysqlDatabase {
  const promised = hasMethods(client, 'promise') ? (client as MysqlCallbackClient).promise() : client
  if (hasMethods(promised, 'getConnection')) return onPool(promised as MysqlPromisePool)
  if (hasMethods(promised, 'query', 'execute')) return onConnection(promised as MysqlPromiseConnection)
  refuseClient('client', 'a Pool or a connection of mysql2', client)
}

/** A text as a binary literal: no mode of the server and no character set can change what it means. */
export function bytes(text: string): string {
  return `X'${Buffer.from(text).toString('hex')}'`
}

/** A quoted name of a table or a procedure. */
export function mysqlName(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

function onPool(pool: MysqlPromisePool): MysqlDatabase {
  const limit = new AnswerLimit()
  const send = async (sql: string): Promise<unknown> => {
    const connection = await pool.getConnection()
    try {
      const result = await run(connection, sql, limit)
      if (!(await isAutocommit(connection, limit))) await run(connection, 'commit', limit)
      connection.release()
      return result
    } catch (error) {
      // A connection that broke, or did not answer in time, must not serve the next caller.
      if (isAnswer(error)) connection.release()
      else connection.destroy()
      throw isClosed(error) ? brokenMysqlError(error) : error
    }
  }
  return { connections: connectionsOf(pool), limit, ...resultsOf(send) }
}

/** By the connection itself: `mysql2` wraps it anew for each use. */
const autocommits = new WeakMap<object, boolean>()

/**
 * Whether the server commits each statement by itself. If the application has turned that off for its pool, what a
 * statement wrote would be undone, and later ones would read the past.
 */
async function isAutocommit(connection: MysqlPoolConnection, limit: AnswerLimit): Promise<boolean> {
  const key = connection.connection ?? connection
  let is = autocommits.get(key)
  if (is === undefined) {
    const [[row] = []] = resultSetsOf(await run(connection, 'select @@autocommit as autocommit', limit))
    const { autocommit } = row ?? {}
    is = Number(autocommit ?? 1) === 1
    autocommits.set(key, is)
  }
  return is
}

function onConnection(connection: MysqlPromiseConnection): MysqlDatabase {
  const limit = new AnswerLimit()
  return { connections: 1, limit, ...resultsOf((sql) => run(connection, sql, limit)) }
}

function resultsOf(send: (sql: string) => Promise<unknown>): Pick<MysqlDatabase, 'query' | 'change'> {
  return {
    query: async (sql) => resultSetsOf(await send(sql)),
    async change(sql) {
      const { affectedRows, insertId } = Object(await send(sql)) as Readonly<Record<string, unknown>>
      return { affectedRows: Number(affectedRows), insertId: Number(insertId) }
    },
  }
}

/** The options of the application's client for results must not matter here. */
async function run(connection: MysqlPromiseConnection, sql: string, limit: AnswerLimit): Promise<unknown> {
  const options = { rowsAsArray: false, nestTables: false, typeCast: true } as const
  const [result] = await connection.query({ sql, timeout: limit.ms, ...options })
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
