import type { Stop } from '../../base/abort.ts'
import {
  type OpenListener,
  openListenerOf,
  type PostgresClient,
  type PostgresDatabase,
} from '../../clients/postgres.ts'
import { isMissing, postgresError } from '../../clients/postgres-errors.ts'
import { checkAccess } from '../../clients/postgres-migration.ts'
import type { Answer, Ask, CallOptions, Grant } from '../../core/index.ts'
import { SqlCalls, SqlStore } from '../sql-store.ts'
import { UrgentLane } from './lane.ts'
import type { Names } from './names.ts'
import { type CheckedOptions, OPEN_LIMIT_MS, POLL_MS } from './options.ts'
import { Push } from './push.ts'
import { Queries } from './queries.ts'
import { install } from './schema.ts'

/** The port on Postgres. */
export class PostgresStore extends SqlStore<Queries> {
  readonly kind = 'postgres'
  protected readonly calls: SqlCalls<Queries>
  protected readonly push: Push
  readonly #database: PostgresDatabase
  #names: Names | undefined

  constructor(client: PostgresClient, database: PostgresDatabase, options: CheckedOptions) {
    super()
    const { place, listen, migrate, maxInFlight } = options
    const listener = openListenerOf(client, listen)
    const openListener: OpenListener = (hooks) => listener({ ...hooks, limit: database.limit })
    const urgent = new UrgentLane(database, () => this.push.query)
    this.#database = database
    this.calls = new SqlCalls<Queries>({
      backend: 'Postgres',
      client,
      limit: database.limit,
      maxInFlight,
      explain: postgresError,
      isMissing,
      install: async () => {
        this.#names = await install(database, place, migrate)
        return new Queries(database, this.#names, urgent)
      },
      isCalled: (id) => this.push.takeCall(id),
      release: (ask, queries) => {
        if ('id' in ask) this.push.forget(ask.id)
        return queries.release(ask)
      },
      // Requests for one resource keep their order, but releases take another connection.
      order: ({ id }) => (this.push.has(id) ? 'kept' : 'awaited'),
    })
    this.push = new Push(openListener, this.calls.run, () => urgent.isBusy)
  }

  acquireAll(asks: readonly Ask[], call?: CallOptions): Promise<readonly Grant[] | null> {
    const work = this.calls.prepared((queries) => this.#requestAll(asks, queries))
    return this.calls.bounded.acquireAll(asks, work, call)
  }

  async #requestAll(asks: readonly Ask[], queries: Queries): Promise<readonly Grant[] | null> {
    const { push } = this
    // An id that waits or holds is still to be told.
    const unknown = asks.filter(({ id }) => !push.has(id))
    for (const ask of asks) push.expect(ask)
    const { address } = push
    const grants = await queries.acquireAll(asks, address)
    if (grants) for (const [n, grant] of grants.entries()) push.granted(asks[n] as Ask, grant, address)
    else for (const { id } of unknown) push.forget(id)
    return grants
  }

  protected async request(ask: Ask, queries: Queries, stop: Stop): Promise<Answer> {
    const { push } = this
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
  }

  protected checkAccess(): Promise<unknown> | undefined {
    return this.#names && checkAccess(this.#database, this.#names.tables, trialOf(this.#names))
  }
}

/** No resource has this name. */
function trialOf({ table }: Names): string[] {
  return [
    `insert into ${table} (resource, token, ended_at) values ('', 0, 0)`,
    `delete from ${table} where resource = ''`,
  ]
}

/** Whether others can find out by this address that its process is dead. */
function hasConnection(address: string): boolean {
  return address.includes(' ')
}
