import type { Stop } from '../../base/abort.ts'
import { expectBoolean, expectOptions } from '../../base/arguments.ts'
import { followConnection } from '../../clients/connection.ts'
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
import type { Answer, Ask, CallOptions, LeaseStore } from '../../core/index.ts'
import { cutPage } from '../lease-page.ts'
import { StoreCalls } from '../local/store-calls.ts'
import { findNames, type InstalledState, inspect, install, type TablePlace } from './migrations.ts'
import { expectName } from './names.ts'
import { Push } from './push.ts'
import { type Queries, queriesOf } from './queries.ts'
import { UrgentQueries } from './urgent-queries.ts'

export type { PostgresClient } from '../../clients/postgres.ts'
export type { InstalledState } from './migrations.ts'

/** A waiter without a connection must repeat its request within a second, or it loses its place. */
const POLL_MS = 400
/** How long a waiter waits for the connection on which it can be woken, before it polls. */
const OPEN_LIMIT_MS = 500
/** So that no statement takes long. A caller that wants more asks for the next page. */
const MAX_PAGE = 1000

export interface PostgresTable {
  /** Default: the first schema of the connection's search path. */
  readonly schema?: string
  /** Default `holdfast_leases`. */
  readonly table?: string
}

export interface PostgresStoreOptions extends PostgresTable {
  /** The configuration of the connection for notifications, if `client` connects through a pooler. */
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
  const connection = followConnection(client)
  const explain = (error: unknown, resource?: string) => connection.explain(postgresError(error, resource))
  const calls = new StoreCalls({
    backend: 'Postgres',
    explain,
    maxInFlight,
    isCalled: (id) => push.takeCall(id),
  })
  const urgent = new UrgentQueries(database, () => push.query)
  const installed = onceSuccessful(async () =>
    queriesOf(database, await install(database, place, migrate), urgent),
  )
  const push = new Push(openListener, run, () => urgent.isBusy)

  function run<T>(
    work: (queries: Queries, stop: Stop) => Promise<T>,
    call?: CallOptions,
    resource?: string,
  ): Promise<T> {
    database.limit.allow(call?.timeout)
    return calls.run(installedFirst(work), call, resource)
  }

  function installedFirst<T>(work: (queries: Queries, stop: Stop) => Promise<T>) {
    return async (stop: Stop): Promise<T> => {
      const queries = await installed()
      try {
        return await work(queries, stop)
      } catch (error) {
        if (!isMissing(error)) throw error
        // Somebody dropped a table or a function. It is created again, if that is allowed.
        installed.forget(queries)
        return work(await installed(), stop)
      }
    }
  }

  async function acquire(ask: Ask, queries: Queries, stop: Stop): Promise<Answer> {
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
    const polls = ask.wake && !hasConnection(address)
    return polls ? { ...answer, retryIn: Math.min(answer.retryIn ?? POLL_MS, POLL_MS) } : answer
  }

  return {
    kind: 'postgres',
    supports: { queue: true, push: true, expiry: true, list: true, share: true },
    explain: connection.explain,

    get load() {
      return calls.load
    },

    acquire(ask, call) {
      database.limit.allow(call?.timeout)
      return calls.acquire(
        ask,
        installedFirst((queries, stop) => acquire(ask, queries, stop)),
        call,
      )
    },

    renew(ask, call) {
      const work = async (queries: Queries) => {
        const renewal = await queries.renew(ask)
        if (renewal.ok) push.renewed(renewal.lease)
        return renewal
      }
      return run(work, call, ask.resource)
    },

    release(ask, call) {
      if ('id' in ask) push.forget(ask.id)
      database.limit.allow(call?.timeout)
      return calls.release(
        ask,
        installedFirst((queries) => queries.release(ask)),
        call,
      )
    },

    read: (resources, call) => run((queries) => queries.read(resources), call),

    waiting: (query, call) => run((queries) => queries.waiting(query), call),

    async list(query, call) {
      const limit = Math.min(query.limit, MAX_PAGE)
      const found = await run((queries) => queries.list({ ...query, limit: limit + 1 }), call)
      return cutPage(found, limit)
    },

    check: (call) =>
      calls.run(async () => {
        const { tables } = await install(database, place, migrate).catch((error) => {
          // From now on every call looks first, and fails as this one.
          installed.forget()
          throw error
        })
        await checkAccess(database, tables)
      }, call),

    sweep: ({ limit }, call) => run((queries) => queries.sweep(Math.min(limit, MAX_PAGE)), call),

    watch: (on, { prefix = '' } = {}) =>
      calls.run(async (stop) => {
        const watch = await push.watch(on, prefix)
        // The caller has gone, and nobody else would end it.
        if (stop.reason) await watch[Symbol.asyncDispose]()
        return watch
      }),

    close,
    [Symbol.asyncDispose]: close,
  }

  async function close(): Promise<void> {
    // Releases may be under way on the connection on which the store listens.
    await calls.close()
    await push.close()
    connection.stop()
  }
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

/** Runs the work until it has succeeded once. Callers that come while it runs share its result. */
function onceSuccessful<T extends object>(work: () => Promise<T>) {
  let result: T | Promise<T> | undefined
  const get = (): T | Promise<T> => {
    result ??= work().then(
      (value) => {
        result = value
        return value
      },
      (error) => {
        result = undefined
        throw error
      },
    )
    return result
  }
  /** `value`: forget only this result. */
  const forget = (value?: T) => {
    if (value === undefined || result === value) result = undefined
  }
  return Object.assign(get, { forget })
}
