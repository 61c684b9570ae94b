import { expectBoolean, expectOptions } from '../../base/arguments.ts'
import { systemClock } from '../../base/clock.ts'
import { type Duration, expectDuration } from '../../base/duration.ts'
import { type MysqlClient, mysqlDatabase } from '../../clients/mysql.ts'
import { isMissing, mysqlError } from '../../clients/mysql-errors.ts'
import type { LeaseStore } from '../../core/index.ts'
import { SqlCalls, sqlStore } from '../sql-store.ts'
import { expectName, namesOf } from './names.ts'
import { Push } from './push.ts'
import { queriesOf } from './queries.ts'
import { install } from './schema.ts'

export type { MysqlClient } from '../../clients/mysql.ts'

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
  const calls = new SqlCalls({
    backend: 'MySQL',
    client,
    limit: database.limit,
    maxInFlight,
    explain: mysqlError,
    isMissing,
    async install(missing) {
      await install(database, names, migrate, missing)
      return queries
    },
    isCalled: (id) => push.takeCall(id),
    async release(ask) {
      if ('id' in ask) push.forget(ask.id)
      try {
        const { wakes, ...released } = await queries.release(ask, push.channel)
        push.wake(ask, wakes)
        return released
      } catch (error) {
        push.unsure(ask.resource)
        throw error
      }
    },
    // A waiter that asks again has its place already.
    order: ({ id }) => (push.has(id) ? 'kept' : 'in-turn'),
  })
  const queries = queriesOf(database, names)
  const push = new Push({ run: calls.run, pollMs: expectDuration('poll', poll, 1) })
  let pruneAt = systemClock.monotonic() + PRUNE_EVERY_MS

  /** Only acquiring makes the tables grow, so it has them pruned, and no sweeper is needed for that. */
  function pruneIfDue(): void {
    if (systemClock.monotonic() < pruneAt) return
    pruneAt = systemClock.monotonic() + PRUNE_EVERY_MS
    calls.run(queries.prune).catch(() => {})
  }

  return sqlStore(calls, push, {
    kind: 'mysql',

    async acquire(ask) {
      pruneIfDue()
      push.expect(ask)
      try {
        const answer = await queries.acquire(ask, push.channel)
        push.answered(ask, answer)
        return answer
      } catch (error) {
        push.failed(ask.id)
        throw error
      }
    },

    async checkAccess() {
      // Needs the rights of every other call, and changes nothing: no resource has this name.
      await queries.release({ resource: '', id: '' }, push.channel)
      await database.change(`replace into ${names.table} (resource, token, ended_at, last_place)
        values ('', 0, 0, 0)`)
      await database.change(`delete from ${names.table} where resource = ''`)
    },
  })
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
