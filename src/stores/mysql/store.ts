import { systemClock } from '../../base/clock.ts'
import type { MysqlClient, MysqlDatabase } from '../../clients/mysql.ts'
import { isMissing, mysqlError } from '../../clients/mysql-errors.ts'
import type {
  Answer,
  Ask,
  CallOptions,
  Grant,
  ReleaseAsk,
  Released,
  RenewAsk,
  Renewal,
} from '../../core/index.ts'
import { SqlCalls, SqlStore } from '../sql-store.ts'
import type { Names } from './names.ts'
import { type CheckedOptions, PLAIN_AGAIN_MS, PRUNE_EVERY_MS } from './options.ts'
import {
  isPlain,
  NO_PLAIN_TRANSITIONS,
  type PlainTransitions,
  plainTransitionsOf,
} from './plain-transitions.ts'
import { Push } from './push.ts'
import { Queries } from './queries.ts'
import { install } from './schema.ts'

/** The port on MySQL. */
export class MysqlStore extends SqlStore<Queries> {
  readonly kind = 'mysql'
  protected readonly calls: SqlCalls<Queries>
  protected readonly push: Push
  readonly #database: MysqlDatabase
  readonly #names: Names
  readonly #plain: PlainTransitions
  readonly #queries: Queries
  /** When to try plain statements again. */
  #plainAt = -Infinity
  #pruneAt = systemClock.monotonic() + PRUNE_EVERY_MS

  constructor(client: MysqlClient, database: MysqlDatabase, options: CheckedOptions) {
    super()
    const { names, migrate, pollMs, maxInFlight } = options
    this.#database = database
    this.#names = names
    this.#plain = plainTransitionsOf(database, names)
    this.#queries = new Queries(database, names)
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

  acquireAll(asks: readonly Ask[], call?: CallOptions): Promise<readonly Grant[] | null> {
    const work = this.calls.prepared((queries) => this.#requestAll(asks, queries))
    return this.calls.bounded.acquireAll(asks, work, call)
  }

  async #requestAll(asks: readonly Ask[], queries: Queries): Promise<readonly Grant[] | null> {
    this.#pruneIfDue()
    const { push } = this
    // An id that waits or holds is still to be told.
    const unknown = asks.filter(({ id }) => !push.has(id))
    for (const ask of asks) push.expect(ask)
    try {
      const grants = await queries.acquireAll(asks, push.channel)
      if (grants) for (const [n, grant] of grants.entries()) push.answered(asks[n] as Ask, grant)
      else for (const { id } of unknown) push.forget(id)
      return grants
    } catch (error) {
      for (const { id } of asks) push.failed(id)
      throw error
    }
  }

  protected async request(ask: Ask): Promise<Answer> {
    this.#pruneIfDue()
    const isUsual = isPlain(ask) && !this.push.isUsed(ask.resource)
    this.push.expect(ask)
    try {
      const lease = isUsual ? await this.#transitions.acquire(ask, this.push.channel) : null
      const answer: Answer = lease
        ? { granted: true, lease }
        : await this.#queries.acquire(ask, this.push.channel)
      if (isUsual && !lease && answer.granted) this.#leavePlain()
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
    const held = 'id' in ask ? this.push.forget(ask.id) : null
    // For those who wait here, a plain statement would find rows of their own.
    const isUsual = held?.resource === ask.resource && !this.push.isUsed(ask.resource)
    try {
      const ended = isUsual ? await this.#transitions.release(held) : null
      if (ended) return { ended, holders: [] }
      const { wakes, ...released } = await this.#queries.release(ask, this.push.channel)
      this.push.wake(ask, wakes)
      return released
    } catch (error) {
      this.push.unsure(ask.resource)
      throw error
    }
  }

  protected override async extend(ask: RenewAsk, queries: Queries): Promise<Renewal> {
    const held = this.push.leaseOf(ask.id)
    const lease = held?.resource === ask.resource ? await this.#transitions.renew(held, ask.ttl) : null
    return lease ? { ok: true, lease } : queries.renew(ask)
  }

  get #transitions(): PlainTransitions {
    return systemClock.monotonic() < this.#plainAt ? NO_PLAIN_TRANSITIONS : this.#plain
  }

  /** Somebody watches, so a plain statement changed nothing. For a while, the next ones would not either. */
  #leavePlain(): void {
    this.#plainAt = systemClock.monotonic() + PLAIN_AGAIN_MS
  }

  /** Only acquiring makes the tables grow, so it has them pruned, and no sweeper is needed for that. */
  #pruneIfDue(): void {
    if (systemClock.monotonic() < this.#pruneAt) return
    this.#pruneAt = systemClock.monotonic() + PRUNE_EVERY_MS
    this.calls.run((queries) => queries.prune()).catch(() => {})
  }
}
