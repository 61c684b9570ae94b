import { type CallOptions, LeaseError, type LeaseStore } from '../../core/index.ts'
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
  let closed = false

  async function call<T>(
    work: (queries: Queries) => Promise<T>,
    options?: CallOptions,
    resource?: string,
  ): Promise<T> {
    if (closed) throw new LeaseError('closed', 'this postgres store was closed')
    try {
      return await answered(async () => work(await queries()), options?.signal)
    } catch (error) {
      throw asStoreError(error, resource)
    }
  }

  return {
    kind: 'postgres',
    supports: { queue: true, push: true, expiry: true, list: true },

    acquire: (ask, options) =>
      call(
        async (queries) => {
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
        },
        options,
        ask.resource,
      ),

    renew: ({ resource, id, ttl }, options) =>
      call(
        async (queries) => {
          const renewal = await queries.renew(resource, id, ttl)
          if (renewal.ok) push.renewed(id, ttl)
          return renewal
        },
        options,
        resource,
      ),

    release: (ask, options) =>
      call(
        (queries) => {
          if ('id' in ask) push.forget(ask.id)
          return queries.release(ask)
        },
        options,
        ask.resource,
      ),

    read: (resources, options) => call((queries) => queries.read(resources), options),

    list: (query, options) =>
      call(async (queries) => {
        const leases = await queries.list({ ...query, limit: query.limit + 1 })
        const page = leases.slice(0, query.limit)
        const next = page.at(-1)?.resource
        return { leases: page, ...(leases.length > page.length && next !== undefined && { next }) }
      }, options),

    sweep: ({ limit }, options) => call((queries) => queries.sweep(limit), options),

    async watch(on, { prefix = '' } = {}) {
      let beginning: Promise<AsyncDisposable> | undefined
      try {
        return await call(() => {
          beginning = push.watch(on, prefix)
          return beginning
        })
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
