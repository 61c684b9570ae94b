import type { Stop } from '../../base/abort.ts'
import { expectBoolean, expectOptions } from '../../base/arguments.ts'
import { systemClock } from '../../base/clock.ts'
import { type Duration, expectDuration } from '../../base/duration.ts'
import { messageOf } from '../../base/errors.ts'
import { followConnection } from '../../clients/connection.ts'
import { type MysqlClient, mysqlDatabase } from '../../clients/mysql.ts'
import { isMissing, mysqlError } from '../../clients/mysql-errors.ts'
import type { CallOptions, LeaseStore } from '../../core/index.ts'
import { cutPage } from '../lease-page.ts'
import { StoreCalls } from '../local/store-calls.ts'
import { expectName, namesOf } from './names.ts'
import { Push } from './push.ts'
import { type Queries, queriesOf } from './queries.ts'
import { install } from './schema.ts'

export type { MysqlClient } from '../../clients/mysql.ts'

/** So that no statement takes long. A caller that wants more asks for the next page. */
const MAX_PAGE = 1000
const PRUNE_EVERY_MS = 600_000
const POLL_MS = 25

export interface MysqlTable {
  /** Default: the database of the connection. */
  readonly database?: string
  /** Default `holdfast_leases`. */
  readonly table?: string
}

export interface MysqlStoreOptions extends MysqlTable {
  /** Creates the tables and procedures on the first call. Default true. */
  readonly migrate?: boolean
  /** How often the store looks for its turn at least, while somebody waits or watches. Default 25 ms. */
  readonly poll?: Duration
  /**
   * How many acquire requests may be in flight. The others wait in this process, in order. Default: the connections
   * of the client.
   */
  readonly maxInFlight?: number
}

/**
 * Leases in tables of MySQL or MariaDB, for processes on many machines. Takes a `Pool` or a connection of `mysql2`,
 * with promises or with callbacks, and leaves it open.
 *
 * @example
 * const leases = createLeases(mysqlStore(mysql.createPool('mysql://localhost/app')))
 */
export function mysqlStore(client: MysqlClient, options: MysqlStoreOptions = {}): LeaseStore {
  const database = mysqlDatabase(client)
  expectOptions(options, { database: 1, table: 1, migrate: 1, poll: 1, maxInFlight: 1 })
  const { migrate = true, poll = POLL_MS, maxInFlight = database.connections } = options
  expectBoolean('migrate', migrate)
  const names = namesFor(options)
  const connection = followConnection(client)
  const queries = queriesOf(database, names)
  const calls = new StoreCalls({
    backend: 'MySQL',
    explain: (error, resource) => connection.explain(mysqlError(error, resource)),
    maxInFlight,
    isCalled: (id) => push.takeCall(id),
  })
  const push = new Push({ run, pollMs: expectDuration('poll', poll, 1) })
  let installed: Promise<void> | undefined
  let pruneAt = systemClock.monotonic() + PRUNE_EVERY_MS

  function run<T>(work: (queries: Queries) => Promise<T>, call?: CallOptions, resource?: string): Promise<T> {
    database.limit.allow(call?.timeout)
    return calls.run(installedFirst(work), call, resource)
  }

  function installedFirst<T>(work: (queries: Queries, stop: Stop) => Promise<T>) {
    return async (stop: Stop): Promise<T> => {
      await ensureInstalled()
      try {
        return await work(queries, stop)
      } catch (error) {
        if (!isMissing(error)) throw error
        // Somebody dropped a table or a procedure. It is created again, if that is allowed.
        installed = undefined
        await ensureInstalled(messageOf(error))
        return work(queries, stop)
      }
    }
  }

  function ensureInstalled(missing?: string): Promise<void> {
    installed ??= install(database, names, migrate, missing).catch((error) => {
      installed = undefined
      throw error
    })
    return installed
  }

  /** Only acquiring makes the tables grow, so it has them pruned, and no sweeper is needed for that. */
  function pruneIfDue(): void {
    if (systemClock.monotonic() < pruneAt) return
    pruneAt = systemClock.monotonic() + PRUNE_EVERY_MS
    run((prepared) => prepared.prune()).catch(() => {})
  }

  return {
    kind: 'mysql',
    supports: { queue: true, push: true, expiry: true, list: true, share: true },
    explain: connection.explain,

    get load() {
      return calls.load
    },

    acquire(ask, call) {
      pruneIfDue()
      database.limit.allow(call?.timeout)
      const work = installedFirst(async (prepared) => {
        push.expect(ask)
        try {
          const answer = await prepared.acquire(ask, push.channel)
          push.answered(ask, answer)
          return answer
        } catch (error) {
          push.failed(ask.id)
          throw error
        }
      })
      return calls.acquire(ask, work, call)
    },

    renew: (ask, call) =>
      run(
        async (prepared) => {
          const renewal = await prepared.renew(ask)
          if (renewal.ok) push.renewed(renewal.lease)
          return renewal
        },
        call,
        ask.resource,
      ),

    release(ask, call) {
      if ('id' in ask) push.forget(ask.id)
      database.limit.allow(call?.timeout)
      return calls.release(
        ask,
        installedFirst(async (prepared) => {
          try {
            const { wakes, ...released } = await prepared.release(ask, push.channel)
            push.wake(ask, wakes)
            return released
          } catch (error) {
            push.unsure(ask.resource)
            throw error
          }
        }),
        call,
      )
    },

    read: (resources, call) => run((prepared) => prepared.read(resources), call),

    waiting: (query, call) => run((prepared) => prepared.waiting(query), call),

    async list(query, call) {
      const limit = Math.min(query.limit, MAX_PAGE)
      const found = await run((prepared) => prepared.list({ ...query, limit: limit + 1 }), call)
      return cutPage(found, limit)
    },

    check: (call) =>
      calls.run(async () => {
        await install(database, names, migrate)
        // Needs the rights of every other call, and changes nothing: no lease has this name.
        await queries.release({ resource: '', id: '' }, push.channel)
      }, call),

    sweep: ({ limit }, call) =>
      run(async (prepared) => {
        const swept = await prepared.sweep(Math.min(limit, MAX_PAGE))
        await prepared.prune()
        return swept
      }, call),

    watch: (on, { prefix = '' } = {}) =>
      calls.run(
        installedFirst(async (_, stop) => {
          const watch = await push.watch(on, prefix)
          // The caller has gone, and nobody else would end it.
          if (stop.reason) await watch[Symbol.asyncDispose]()
          return watch
        }),
      ),

    close,
    [Symbol.asyncDispose]: close,
  }

  async function close(): Promise<void> {
    push.close()
    await calls.close()
    connection.stop()
  }
}

/** Creates or repairs the tables and procedures, for stores whose option `migrate` is false. */
export async function migrateMysql(client: MysqlClient, table: MysqlTable = {}): Promise<void> {
  const database = mysqlDatabase(client)
  expectOptions(table, { database: 1, table: 1 })
  try {
    await install(database, namesFor(table), true)
  } catch (error) {
    throw mysqlError(error)
  }
}

function namesFor({ database, table = 'holdfast_leases' }: MysqlTable) {
  expectName('table', table)
  if (database !== undefined) expectName('database', database)
  return namesOf(database, table)
}
