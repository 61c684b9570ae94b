import { expectBoolean, expectOptions } from '../../base/arguments.ts'
import {
  type OpenListener,
  openListenerOf,
  type PgConfig,
  type PostgresClient,
  type PostgresDatabase,
  postgresDatabase,
} from '../../clients/postgres.ts'
import { isMissing, postgresError } from '../../clients/postgres-errors.ts'
import { checkAccess } from '../../clients/postgres-migration.ts'
import type { LeaseStore } from '../../core/index.ts'
import { SqlCalls, sqlStore } from '../sql-store.ts'
import { findNames, type InstalledState, inspect, install, type TablePlace } from './migrations.ts'
import { expectName, type Names } from './names.ts'
import { Push } from './push.ts'
import { type Queries, queriesOf } from './queries.ts'
import { UrgentQueries } from './urgent-queries.ts'

export type { PostgresClient } from '../../clients/postgres.ts'
export type { InstalledState } from './migrations.ts'

/** A waiter without a connection must repeat its request within a second, or it loses its place. */
const POLL_MS = 400
/** How long a waiter waits for the connection on which it can be woken, before it polls. */
const OPEN_LIMIT_MS = 500

export interface PostgresTable {
  /** Default: the first schema of the connection's search path. */
  readonly schema?: string
  /** Default `holdfast_leases`. */
  readonly table?: string
}

export interface PostgresStoreOptions extends PostgresTable {
  /**
   * The configuration of the connection for notifications, if `client` connects through a pooler. Default: the
   * configuration of `client`.
   */
  readonly listen?: PostgresClient | PgConfig
  /** Creates or upgrades the tables on the first call. Default true. */
  readonly migrate?: boolean
  /**
   * How many acquire requests may be in flight. The others wait in this process, in order. Default: the connections
   * of the client.
   */
  readonly maxInFlight?: number
}

/**
 * Leases in a table of Postgres, for processes on many machines. Takes a `Pool` or a connected `Client` of `pg`,
 * or the `sql` of `postgres`, and leaves it open.
 *
 * @example
 * const leases = createLeases(postgresStore(new Pool({ connectionString })))
 */
export function postgresStore(client: PostgresClient, options: PostgresStoreOptions = {}): LeaseStore {
  const database = postgresDatabase(client)
  expectOptions(options, { schema: 1, table: 1, listen: 1, migrate: 1, maxInFlight: 1 })
  const place = placeOf(options)
  const { listen, migrate = true, maxInFlight = database.connections } = options
  expectBoolean('migrate', migrate)
  const listener = openListenerOf(client, listen)
  const openListener: OpenListener = (hooks) => listener({ ...hooks, limit: database.limit })
  const urgent = new UrgentQueries(database, () => push.query)
  const calls = new SqlCalls<Queries>({
    backend: 'Postgres',
    client,
    limit: database.limit,
    maxInFlight,
    explain: postgresError,
    isMissing,
    async install() {
      names = await install(database, place, migrate)
      return queriesOf(database, names, urgent)
    },
    isCalled: (id) => push.takeCall(id),
    release(ask, queries) {
      if ('id' in ask) push.forget(ask.id)
      return queries.release(ask)
    },
    // Requests for one resource keep their order, but releases take another connection.
    order: ({ id }) => (push.has(id) ? 'kept' : 'awaited'),
  })
  const push = new Push(openListener, calls.run, () => urgent.isBusy)
  let names: Names | undefined

  return sqlStore<Queries>(calls, push, {
    kind: 'postgres',

    async acquire(ask, queries, stop) {
      push.expect(ask)
      let { address } = push
      let answer = await queries.acquire(ask, address)
      if (!answer.granted && ask.wake && !push.isOpen && !push.cannotListen) {
        await push.openWithin(OPEN_LIMIT_MS)
        stop.throwIfAborted()
        push.expect(ask)
        address = push.address
        answer = await queries.acquire(ask, address)
      }
      if (answer.granted) {
        push.granted(ask, answer, address)
        return answer
      }
      push.refused(ask, answer, address)
      if (!ask.wake || hasConnection(address)) return answer
      const polls = push.takePollingReason()
      return { ...answer, retryIn: Math.min(answer.retryIn ?? POLL_MS, POLL_MS), ...(polls && { polls }) }
    },

    checkAccess: () => names && checkAccess(database, names.tables, trialOf(names)),
  })
}

/**
 * Creates, upgrades or repairs the tables and functions, for stores whose option `migrate` is false. The role must be
 * allowed to.
 */
export async function migratePostgres(client: PostgresClient, table: PostgresTable = {}): Promise<void> {
  await onDatabase(client, table, (database, place) => install(database, place, true))
}

/** Says whether the tables and functions are there, and what is missing or outdated. It changes nothing. */
export function inspectPostgres(client: PostgresClient, table: PostgresTable = {}): Promise<InstalledState> {
  return onDatabase(client, table, async (database, place) =>
    inspect(database, await findNames(database, place)),
  )
}

async function onDatabase<T>(
  client: PostgresClient,
  table: PostgresTable,
  work: (database: PostgresDatabase, place: TablePlace) => Promise<T>,
): Promise<T> {
  const database = postgresDatabase(client)
  expectOptions(table, { schema: 1, table: 1 })
  const place = placeOf(table)
  try {
    return await work(database, place)
  } catch (error) {
    throw postgresError(error)
  }
}

/** No resource has this name. */
function trialOf({ table }: Names): string[] {
  return [
    `insert into ${table} (resource, token, ended_at) values ('', 0, 0)`,
    `delete from ${table} where resource = ''`,
  ]
}

function placeOf(options: PostgresTable): TablePlace {
  const { schema, table = 'holdfast_leases' } = options
  expectName('table', table)
  if (schema !== undefined) expectName('schema', schema)
  return { schema, table }
}

/** Whether others can find out by this address that its process is dead. */
function hasConnection(address: string): boolean {
  return address.includes(' ')
}
