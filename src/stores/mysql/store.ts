import { systemClock } from '../../base/clock.ts'
import type { MysqlClient, MysqlDatabase } from '../../clients/mysql.ts'
import { isMissing, mysqlError } from '../../clients/mysql-errors.ts'
import type { Answer, Ask, ReleaseAsk, Released } from '../../core/index.ts'
import { SqlCalls, SqlStore } from '../sql-store.ts'
import type { Names } from './names.ts'
import { type CheckedOptions, PRUNE_EVERY_MS } from './options.ts'
import { Push } from './push.ts'
import { type Queries, queriesOf } from './queries.ts'
import { install } from './schema.ts'

/** The port on MySQL. */
export class MysqlStore extends SqlStore<Queries> {
  readonly kind = 'mysql'
  protected readonly calls: SqlCalls<Queries>
  protected readonly push: Push
  readonly #database: MysqlDatabase
  readonly #names: Names
  readonly #queries: Queries
  #pruneAt = systemClock.monotonic() + PRUNE_EVERY_MS

  constructor(client: MysqlClient, database: MysqlDatabase, options: CheckedOptions) {
    super()
    const { names, migrate, pollMs, maxInFlight } = options
    this.#database = database
    this.#names = names
    this.#queries = queriesOf(database, names)
    this.calls = new SqlCalls({
      backend: 'MySQL',
      client,
      limit: database.limit,
      maxInFlight,
      explain: mysqlError,
      isMissing,
      install: async (missing) => {
        await install(database, names, migrate, missing)
        return this.#queries
      },
      isCalled: (id) => this.push.takeCall(id),
      release: (ask) => this.#release(ask),
      // A waiter that asks again has its place already.
      order: ({ id }) => (this.push.has(id) ? 'kept' : 'in-turn'),
    })
    this.push = new Push({ run: this.calls.run, pollMs })
  }

  protected async request(ask: Ask): Promise<Answer> {
    this.#pruneIfDue()
    this.push.expect(ask)
    try {
      const answer = await this.#queries.acquire(ask, this.push.channel)
      this.push.answered(ask, answer)
      return answer
    } catch (error) {
      this.push.failed(ask.id)
      throw error
    }
  }

  protected async checkAccess(): Promise<void> {
    const { table } = this.#names
    // Needs the rights of every other call, and changes nothing: no resource has this name.
    await this.#queries.release({ resource: '', id: '' }, this.push.channel)
    await this.#database.change(`replace into ${table} (resource, token, ended_at, last_place)
        values ('', 0, 0, 0)`)
    await this.#database.change(`delete from ${table} where resource = ''`)
  }

  async #release(ask: ReleaseAsk): Promise<Released> {
    if ('id' in ask) this.push.forget(ask.id)
    try {
      const { wakes, ...released } = await this.#queries.release(ask, this.push.channel)
      this.push.wake(ask, wakes)
      return released
    } catch (error) {
      this.push.unsure(ask.resource)
      throw error
    }
  }

  /** Only acquiring makes the tables grow, so it has them pruned, and no sweeper is needed for that. */
  #pruneIfDue(): void {
    if (systemClock.monotonic() < this.#pruneAt) return
    this.#pruneAt = systemClock.monotonic() + PRUNE_EVERY_MS
    this.calls.run(this.#queries.prune).catch(() => {})
  }
}
