import type { Complete } from '../../base/arguments.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { LeaseRecord } from '../../base/records.ts'
import type { EtcdDatabase } from '../../clients/etcd.ts'
import { etcdError } from '../../clients/etcd-errors.ts'
import type {
  Answer,
  Ask,
  CallOptions,
  LeasePage,
  LeaseStore,
  ListQuery,
  ReleaseAsk,
  Released,
  RenewAsk,
  Renewal,
  StoreEvent,
  StoreLoad,
  WaitingQuery,
  WaitingQueue,
} from '../../core/index.ts'
import type { Work } from '../local/calls.ts'
import { StoreCalls } from '../local/store-calls.ts'
import { Keys } from './names.ts'
import type { EtcdStoreOptions } from './options.ts'
import { Push } from './push.ts'
import { Queries } from './queries.ts'
import { Renewals } from './renewals.ts'
import { Requests } from './requests.ts'
import { decodeLease } from './rows.ts'
import { Session } from './session.ts'
import { SpareLeases } from './spare-leases.ts'
import { Transitions } from './transitions.ts'

/** The port on etcd. */
export class EtcdStore implements LeaseStore {
  readonly kind = 'etcd'
  readonly supports = { queue: true, push: true, expiry: true, list: true, share: true }
  readonly #keys: Keys
  readonly #calls: StoreCalls
  readonly #spares: SpareLeases
  readonly #renewals: Renewals
  readonly #transitions: Transitions
  readonly #queries: Queries
  readonly #push: Push
  readonly #session: Session
  readonly #requests: Requests

  constructor(
    database: EtcdDatabase,
    { prefix, maxInFlight }: Complete<EtcdStoreOptions>,
    clock: Clock = systemClock,
  ) {
    const keys = new Keys(database.prefix + prefix)
    this.#keys = keys
    this.#spares = new SpareLeases(database, clock)
    this.#renewals = new Renewals(database)
    this.#transitions = new Transitions({
      database,
      keys,
      spares: this.#spares,
      renewals: this.#renewals,
      clock,
    })
    this.#queries = new Queries(database, keys, this.#transitions, clock)
    this.#calls = new StoreCalls({
      backend: 'etcd',
      explain: etcdError,
      maxInFlight,
      answerLimit: database.limit,
      isCalled: (id) => this.#push.listeners.takeCall(id),
      release: (by) => this.#releaseWork(by),
      // A waiter that asks again has its place already.
      order: ({ id }) => (this.#push.listeners.has(id) ? 'kept' : 'in-turn'),
    })
    this.#push = new Push({
      database,
      keys,
      read: (resources) => this.#calls.run(() => this.#queries.live(resources)),
      changed: (resource, events) => this.#requests.changed(resource, events),
      begun: () => this.#requests.forgetCopies(),
    })
    this.#session = new Session(database, () => this.#push.listeners.waiting().length > 0)
    this.#requests = new Requests({
      database,
      keys,
      clock,
      calls: this.#calls,
      push: this.#push,
      queries: this.#queries,
      session: this.#session,
      spares: this.#spares,
      transitions: this.#transitions,
    })
  }

  get load(): StoreLoad {
    return this.#calls.load
  }

  acquire(ask: Ask, call?: CallOptions): Promise<Answer> {
    const { listeners } = this.#push
    return this.#calls.acquire(
      ask,
      async (stop) => {
        listeners.expect(ask)
        try {
          const answer = await this.#requests.acquire(ask, stop)
          if (answer.granted) this.#push.granted(answer.lease)
          else listeners.refused(ask.id, answer.place !== null)
          return answer
        } catch (error) {
          listeners.failed(ask.id)
          throw error
        }
      },
      call,
    )
  }

  renew({ resource, id, ttl }: RenewAsk, call?: CallOptions): Promise<Renewal> {
    return this.#calls.renew(
      async () => {
        const entry = await this.#renewals.find(this.#keys.key('l', resource, id))
        const lease = entry ? await this.#transitions.extend(resource, decodeLease(entry), ttl) : null
        if (!lease) return { ok: false, holders: await this.#queries.holders(resource) }
        this.#push.listeners.renewed(lease)
        return { ok: true, lease }
      },
      call,
      resource,
    )
  }

  release(by: ReleaseAsk, call?: CallOptions): Promise<Released> {
    return this.#calls.release(by, this.#releaseWork(by), call)
  }

  read(resources: readonly string[], call?: CallOptions): Promise<LeaseRecord[][]> {
    return this.#calls.run(() => this.#queries.read(resources), call)
  }

  waiting(query: WaitingQuery, call?: CallOptions): Promise<WaitingQueue[]> {
    return this.#calls.run(() => this.#queries.waiting(query), call)
  }

  list(query: ListQuery, call?: CallOptions): Promise<LeasePage> {
    return this.#calls.run(() => this.#queries.list(query), call)
  }

  sweep({ limit }: { readonly limit: number }, call?: CallOptions): Promise<LeaseRecord[]> {
    return this.#calls.run((stop) => this.#queries.sweep(limit, stop), call)
  }

  watch(on: (event: StoreEvent) => void, { prefix = '' } = {}): Promise<AsyncDisposable> {
    return this.#calls.run(async (stop) => {
      const watch = await this.#push.watch(on, prefix)
      // The caller has gone, and nobody else would end it.
      if (stop.reason) await watch[Symbol.asyncDispose]()
      return watch
    })
  }

  async close(): Promise<void> {
    await this.#calls.close()
    await this.#session.close()
    await Promise.all([this.#push.close(), this.#spares.close()])
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #releaseWork(by: ReleaseAsk): Work<Released> {
    return async () => {
      if ('id' in by) this.#push.listeners.forget(by.id)
      const { ended, left } = await this.#transitions.release(by)
      const holders = left.map(decodeLease)
      // Of a hundred readers, each that leaves would otherwise ask for the time of all others.
      if (ended) return { ended, holders: this.#queries.atMost(by.resource, holders) }
      return { ended, holders: await this.#queries.records(by.resource, holders) }
    }
  }
}
