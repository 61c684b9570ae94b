import type { Stop } from '../../base/abort.ts'
import { expectBoolean, isObject, refuseClient } from '../../base/arguments.ts'
import { followConnection } from '../../clients/connection.ts'
import {
  openListenerOf,
  type PgConfig,
  type PostgresClient,
  postgresDatabase,
} from '../../clients/postgres.ts'
import { postgresError } from '../../clients/postgres-errors.ts'
import type { Answer, Ask, CallOptions, LeaseStore } from '../../core/index.ts'
import { Calls } from '../local/calls.ts'
import { install, type TablePlace } from './migrations.ts'
import { expectName } from './names.ts'
import { Push } from './push.ts'
import { type Queries, queriesOf } from './queries.ts'

export type { PostgresClient } from '../../clients/postgres.ts'

/** A waiter that cannot be woken must repeat its request within the second for which its turn is reserved. */
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
  const place = placeOf(options)
  const { listen, migrate = true } = options
  expectBoolean('migrate', migrate)
  const openListener = openListenerOf(client, listen)
  const connection = followConnection(client)
  const explain = (error: unknown, resource?: string) => connection.explain(postgresError(error, resource))
  const calls = new Calls({ backend: 'Postgres', explain })
  const installed = onceSuccessful(async () => queriesOf(database, await install(database, place, migrate)))
  const push = new Push(openListener, run)

  function run<T>(
    work: (queries: Queries, stop: Stop) => Promise<T>,
    call?: CallOptions,
    resource?: string,
  ): Promise<T> {
    return calls.run(async (stop) => work(await installed(), stop), call, resource)
  }

  async function acquire(ask: Ask, queries: Queries, stop: Stop): Promise<Answer> {
    let { address } = push
    if (address !== null) push.expect(ask)
    let answer = await queries.acquire(ask, address)
    if (!answer.granted && ask.wake && address === null && !push.cannotListen) {
      address = await push.openWithin(OPEN_LIMIT_MS)
      stop.throwIfAborted()
      if (address !== null) push.expect(ask)
      answer = await queries.acquire(ask, address)
    }
    if (answer.granted) {
      push.granted(ask, answer, address)
      return answer
    }
    push.refused(ask, answer, address)
    const polls = ask.wake && address === null
    return polls ? { ...answer, retryIn: Math.min(answer.retryIn ?? POLL_MS, POLL_MS) } : answer
  }

  return {
    kind: 'postgres',
    supports: { queue: true, push: true, expiry: true, list: true },
    explain: connection.explain,

    acquire: (ask, call) => run((queries, stop) => acquire(ask, queries, stop), call, ask.resource),

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
      return run((queries) => queries.release(ask), call, ask.resource)
    },

    read: (resources, call) => run((queries) => queries.read(resources), call),

    async list(query, call) {
      const limit = Math.min(query.limit, MAX_PAGE)
      const found = await run((queries) => queries.list({ ...query, limit: limit + 1 }), call)
      const leases = found.slice(0, limit)
      const next = found.length > limit ? leases.at(-1)?.resource : undefined
      return { leases, ...(next !== undefined && { next }) }
    },

    sweep: ({ limit }, call) => run((queries) => queries.sweep(Math.min(limit, MAX_PAGE)), call),

    watch: (on, { prefix = '' } = {}) =>
      calls.run(async (stop) => {
        const watch = await push.watch(on, prefix)
        // The caller has gone, and nobody else would end it.
        if (stop.reason) await watch[Symbol.asyncDispose]()
        return watch
      }),

    async close() {
      await Promise.all([calls.close(), push.close()])
      connection.stop()
    },
  }
}

/** Creates or upgrades the tables, for stores whose option `migrate` is false. The role must be allowed to. */
export async function migratePostgres(client: PostgresClient, table: PostgresTable = {}): Promise<void> {
  const database = postgresDatabase(client)
  const place = placeOf(table)
  try {
    await install(database, place, true)
  } catch (error) {
    throw postgresError(error)
  }
}

function placeOf(options: PostgresTable): TablePlace {
  // The address of a server in the wrong place must not be shown.
  if (!isObject(options)) refuseClient('options', 'an object', options)
  const { schema, table = 'holdfast_leases' } = options
  expectName('table', table)
  if (schema !== undefined) expectName('schema', schema)
  return { schema, table }
}

/** Runs the work until it has succeeded once. Callers that come while it runs share its result. */
function onceSuccessful<T extends object>(work: () => Promise<T>): () => T | Promise<T> {
  let result: T | Promise<T> | undefined
  return () => {
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
}
