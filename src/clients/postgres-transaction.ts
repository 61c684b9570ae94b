import { hasMethods, refuseClient } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { isPgPool } from './pg.ts'
import { stateOf } from './postgres-errors.ts'
import { codeOf } from './store-error.ts'
import { runTransaction, unknownOutcome } from './transaction.ts'

/** What the work in a transaction gets: a client of the `Pool` of `pg`, or the `sql` of a transaction of `postgres`. */
export type PostgresTransaction<Client> = Client extends {
  begin: { (work: (sql: infer Sql) => unknown): unknown; (options: string, work: never): unknown }
}
  ? Sql
  : Client extends { connect: { (): Promise<infer PoolClient>; (callback: never): unknown } }
    ? PoolClient
    : never

interface PgPoolClient {
  query(text: string): Promise<{ readonly command?: unknown }>
  on(event: 'error', listener: () => void): unknown
  off(event: 'error', listener: () => void): unknown
  /** `true`: the pool closes the connection instead of keeping it. */
  release(destroy: boolean): void
}

type Begin = (work: (sql: unknown) => Promise<void>) => Promise<unknown>

const NO_ACTIVE_TRANSACTION = '25P01'
/**
 * SQLSTATEs of a connection that ended, perhaps after the transaction was stored. Not those of `postgres-errors.ts`, which
 * say whether the same call may succeed later.
 */
const ENDED = /^(08...|57P..|58...|40003)$/

/** Whether the client is a pool, whose statements run in no common transaction. */
export function isPostgresPool(client: unknown): boolean {
  return isPgPool(client) || hasMethods(client, 'unsafe', 'begin')
}

/**
 * Whether the client itself knows that it has an open transaction. If not, the server has to be asked: the `sql` of a
 * transaction of `postgres` also works after its end, on a connection of the pool.
 */
export function knowsTransaction(client: unknown): boolean {
  // Older versions of `pg` have no status.
  if (!hasMethods(client, 'getTransactionStatus')) return false
  const { readyForQuery, getTransactionStatus } = client as {
    readonly readyForQuery?: unknown
    getTransactionStatus(): unknown
  }
  // A query that is under way may end the transaction.
  return readyForQuery === true && getTransactionStatus.call(client) === 'T'
}

/** The server refused a statement that needs a transaction, such as LOCK TABLE. */
export function isOutsideTransaction(error: unknown): boolean {
  return codeOf(error) === NO_ACTIVE_TRANSACTION
}

export async function inPostgresTransaction<T>(
  pool: unknown,
  option: string,
  work: (client: unknown) => Promise<T>,
): Promise<T> {
  if (hasMethods(pool, 'unsafe', 'begin')) return inPostgresJsTransaction(pool as { begin: Begin }, work)
  if (isPgPool(pool)) return inPgTransaction(pool as unknown as { connect(): Promise<PgPoolClient> }, work)
  refuseClient(option, 'a Pool of pg or the sql of postgres, to open a transaction', pool)
}

async function inPgTransaction<T>(
  pool: { connect(): Promise<PgPoolClient> },
  work: (client: unknown) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  // Without a listener, a connection that breaks between two queries would end the process.
  const ignore = () => {}
  client.on('error', ignore)
  const steps = {
    backend: 'Postgres',
    isRefusal,
    begin: () => client.query('BEGIN'),
    async commit() {
      const { command } = await client.query('COMMIT')
      if (command === 'ROLLBACK')
        throw new LeaseError(
          'store-failed',
          'Postgres: COMMIT rolled the transaction back, because one of its statements had failed',
        )
    },
    rollBack: () => client.query('ROLLBACK'),
    end(isBroken: boolean) {
      client.off('error', ignore)
      client.release(isBroken)
    },
  }
  return runTransaction(steps, () => work(client))
}

/** `postgres` commits and rolls back by itself. */
async function inPostgresJsTransaction<T>(
  sql: { begin: Begin },
  work: (transaction: unknown) => Promise<T>,
): Promise<T> {
  const results: T[] = []
  try {
    await sql.begin(async (transaction) => {
      results.push(await work(transaction))
    })
  } catch (error) {
    throw results.length > 0 && !isRefusal(error) ? unknownOutcome('Postgres', error) : error
  }
  return results[0] as T
}

/** Whether the server answered that it has stored nothing. */
function isRefusal(error: unknown): boolean {
  const state = stateOf(error)
  return state !== undefined && !ENDED.test(state)
}
