import { ignoreErrors } from '../../clients/ignore-errors.ts'
import { type Answer, type Ask, LeaseError, type LeaseStore } from '../../core/index.ts'
import { answered } from './answered.ts'
import { databaseOf, listenOf, type PostgresClient } from './client.ts'
import { asStoreError } from './errors.ts'
import { install } from './migrations.ts'
import { checkName } from './names.ts'
import type { PgConfig } from './pg.ts'
import { Push } from './push.ts'
import { type Queries, queriesOf } from './queries.ts'

export type { PostgresClient } from './client.ts'

/** Who cannot be woken must ask again within the second for which its turn is kept. */
const POLL_MS = 400
const OPEN_PATIENCE_MS = 500
/** So that no statement takes long; who wants more asks again. */
const MAX_PAGE = 1000

export interface PostgresTable {
  /** Default: the first schema of the connection's search path. */
  readonly schema?: string
  /** Default `holdfast_leases`. */
  readonly table?: string
}

export interface PostgresStoreOptions extends PostgresTable {
  /** Whose configuration the connection for notifications takes, where a pooler is before `client`. */
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
  const database = databaseOf(client)
  const listen = listenOf(client, options.listen)
  const place = placeOf(options)
  const { migrate = true } = options
  const queries = once(async () => queriesOf(database, await install(database, place, migrate)))
  const push = new Push(listen, queries)
  const unhear = ignoreErrors(client)
  let closed = false

  async function run<T>(
    work: (queries: Queries) => Promise<T>,
    signal?: AbortSignal,
    resource?: string,
  ): Promise<T> {
    if (closed) throw new LeaseError('closed', 'this postgres store was closed')
    try {
      return await answered(async () => work(await queries()), signal)
    } catch (error) {
      throw asStoreError(error, resource)
    }
  }

  async function acquire(ask: Ask, queries: Queries): Promise<Answer> {
    let { address } = push
    if (address !== null) push.asking(ask, address)
    let answer = await queries.acquire(ask, address)
    if (!answer.granted && ask.wake && address === null && !push.deaf) {
      address = await push.ready(OPEN_PATIENCE_MS)
      if (address !== null) push.asking(ask, address)
      answer = await queries.acquire(ask, address)
    }
    if (answer.granted) {
      push.granted(ask, address)
      return answer
    }
    push.refused(ask, address)
    const polls = ask.wake && address === null
    return polls ? { ...answer, retryIn: Math.min(answer.retryIn ?? POLL_MS, POLL_MS) } : answer
  }

  return {
    kind: 'postgres',
    supports: { queue: true, push: true, expiry: true, list: true },

    acquire: (ask, call) => run((queries) => acquire(ask, queries), call?.signal, ask.resource),

    renew({ resource, id, ttl }, call) {
      const work = async (queries: Queries) => {
        const renewal = await queries.renew(resource, id, ttl)
        if (renewal.ok) push.renewed(id, ttl)
        return renewal
      }
      return run(work, call?.signal, resource)
    },

    release(ask, call) {
      if ('id' in ask) push.forget(ask.id)
      return run((queries) => queries.release(ask), call?.signal, ask.resource)
    },

    read: (resources, call) => run((queries) => queries.read(resources), call?.signal),

    async list(query, call) {
      const limit = Math.min(query.limit, MAX_PAGE)
      const found = await run((queries) => queries.list({ ...query, limit: limit + 1 }), call?.signal)
      const leases = found.slice(0, limit)
      const next = found.length > limit ? leases.at(-1)?.resource : undefined
      return { leases, ...(next !== undefined && { next }) }
    },

    sweep: ({ limit }, call) => run((queries) => queries.sweep(Math.min(limit, MAX_PAGE)), call?.signal),

    async watch(on, { prefix = '' } = {}) {
      let beginning: Promise<AsyncDisposable> | undefined
      const begin = () => {
        beginning = push.watch(on, prefix)
        return beginning
      }
      try {
        return await run(begin)
      } catch (error) {
        // It may begin after all, and nobody would end it.
        beginning?.then(
          (watch) => watch[Symbol.asyncDispose](),
          () => {},
        )
        throw error
      }
    },

    async close() {
      closed = true
      unhear()
      await push.close()
    },
  }
}

/** Creates or upgrades the tables, with a role that may, for stores whose `migrate` is false. */
export async function migratePostgres(client: PostgresClient, table: PostgresTable = {}): Promise<void> {
  const database = databaseOf(client)
  const place = placeOf(table)
  try {
    await install(database, place, true)
  } catch (error) {
    throw asStoreError(error)
  }
}

function placeOf({ schema, table = 'holdfast_leases' }: PostgresTable) {
  return {
    table: checkName('table', table),
    ...(schema !== undefined && { schema: checkName('schema', schema) }),
  }
}

/** Once it has succeeded it is done; a failure is final unless trying again may help. */
function once<T extends object>(work: () => Promise<T>): () => T | Promise<T> {
  let result: T | Promise<T> | undefined
  return () => {
    result ??= work().then(
      (value) => {
        result = value
        return value
      },
      (cause) => {
        const error = asStoreError(cause)
        if (error.retryable) result = undefined
        throw error
      },
    )
    return result
  }
}
