/** The shape of a store whose transitions are procedures in an SQL database: MySQL and Postgres. */
import type { Stop } from '../base/abort.ts'
import type { AnswerLimit } from '../base/answer-limit.ts'
import { type LeaseError, messageOf } from '../base/errors.ts'
import { followConnection } from '../clients/connection.ts'
import type {
  Answer,
  Ask,
  CallOptions,
  LeasePage,
  LeaseRecord,
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
} from '../core/index.ts'
import { cutPage } from './lease-page.ts'
import { type RequestOrder, StoreCalls } from './local/store-calls.ts'
import { MAX_PAGE } from './options.ts'

/** Statements of the database. */
export interface SqlQueries {
  renew(ask: RenewAsk): Promise<Renewal>
  read(resources: readonly string[]): Promise<LeaseRecord[][]>
  waiting(query: WaitingQuery): Promise<WaitingQueue[]>
  list(query: ListQuery): Promise<LeaseRecord[]>
  /** Also deletes rows that nobody needs. */
  sweep(limit: number): Promise<LeaseRecord[]>
}

/** What tells those who wait, hold and watch in this process. */
export interface SqlPush {
  renewed(lease: LeaseRecord): void
  watch(on: (event: StoreEvent) => void, prefix: string): Promise<AsyncDisposable>
  close(): unknown
}

export type SqlWork<Q, T> = (queries: Q, stop: Stop) => Promise<T>

export interface SqlCallsOptions<Q> {
  /** The name of the backend in messages. */
  readonly backend: string
  readonly client: object
  readonly limit: AnswerLimit
  readonly maxInFlight: number
  readonly explain: (error: unknown, resource?: string) => LeaseError
  /** Whether a table or a procedure does not exist. */
  readonly isMissing: (error: unknown) => boolean
  /** Checks that the tables and procedures are there, or creates them. `missing`: what a call has not found, in words. */
  readonly install: (missing?: string) => Promise<Q>
  readonly isCalled: (id: string) => boolean
  /** Also forgets that the id is held or waits in this process. */
  readonly release: (ask: ReleaseAsk, queries: Q) => Promise<Released>
  readonly order: (ask: Ask) => RequestOrder
}

/** The calls of a store, each after the tables were installed. */
export class SqlCalls<Q extends object> {
  readonly #options: SqlCallsOptions<Q>
  readonly connection
  readonly bounded: StoreCalls
  #installed: Q | Promise<Q> | undefined

  constructor(options: SqlCallsOptions<Q>) {
    this.#options = options
    const { backend, client, explain, maxInFlight, isCalled, order, limit } = options
    const connection = followConnection(client)
    this.connection = connection
    this.bounded = new StoreCalls({
      backend,
      explain: (error, resource) => connection.explain(explain(error, resource)),
      maxInFlight,
      isCalled,
      release: (by) => this.releaseWork(by),
      order,
      answerLimit: limit,
    })
  }

  releaseWork(by: ReleaseAsk): (stop: Stop) => Promise<Released> {
    return this.prepared((queries) => this.#options.release(by, queries))
  }

  readonly run = <T>(work: SqlWork<Q, T>, call?: CallOptions, resource?: string): Promise<T> =>
    this.bounded.run(this.prepared(work), call, resource)

  prepared<T>(work: SqlWork<Q, T>): (stop: Stop) => Promise<T> {
    return async (stop) => {
      const queries = await this.#install()
      try {
        return await work(queries, stop)
      } catch (error) {
        if (!this.#options.isMissing(error)) throw error
        // Somebody dropped a table or a procedure. It is created again, if that is allowed.
        if (this.#installed === queries) this.#installed = undefined
        return work(await this.#install(messageOf(error)), stop)
      }
    }
  }

  /** Rejects if the tables cannot be used now. Then every call looks first, and fails as this one. */
  async check(): Promise<void> {
    try {
      await this.#options.install()
    } catch (error) {
      this.#installed = undefined
      throw error
    }
  }

  /** Callers that come while it runs share its result. */
  #install(missing?: string): Q | Promise<Q> {
    this.#installed ??= this.#options.install(missing).then(
      (queries) => {
        this.#installed = queries
        return queries
      },
      (error) => {
        this.#installed = undefined
        throw error
      },
    )
    return this.#installed
  }
}

/** The port on an SQL database. A store adds how it acquires, and what else it checks. */
export abstract class SqlStore<Q extends SqlQueries> implements LeaseStore {
  abstract readonly kind: string
  readonly supports = { queue: true, push: true, expiry: true, list: true, share: true }
  protected abstract readonly calls: SqlCalls<Q>
  protected abstract readonly push: SqlPush

  protected abstract request(ask: Ask, queries: Q, stop: Stop): Promise<Answer>
  protected extend(ask: RenewAsk, queries: Q): Promise<Renewal> {
    return queries.renew(ask)
  }

  /** Rejects if this user lacks a right that other calls need, or if nothing can be written now. */
  protected abstract checkAccess(): Promise<unknown> | undefined

  readonly explain = (error: LeaseError): LeaseError => this.calls.connection.explain(error)

  get load(): StoreLoad {
    return this.calls.bounded.load
  }

  acquire(ask: Ask, call?: CallOptions): Promise<Answer> {
    const work = this.calls.prepared((queries, stop) => this.request(ask, queries, stop))
    return this.calls.bounded.acquire(ask, work, call)
  }

  renew(ask: RenewAsk, call?: CallOptions): Promise<Renewal> {
    const work = async (queries: Q) => {
      const renewal = await this.extend(ask, queries)
      if (renewal.ok) this.push.renewed(renewal.lease)
      return renewal
    }
    return this.calls.bounded.renew(this.calls.prepared(work), call, ask.resource)
  }

  release(ask: ReleaseAsk, call?: CallOptions): Promise<Released> {
    return this.calls.bounded.release(ask, this.calls.releaseWork(ask), call)
  }

  read(resources: readonly string[], call?: CallOptions): Promise<LeaseRecord[][]> {
    return this.calls.run((queries) => queries.read(resources), call)
  }

  waiting(query: WaitingQuery, call?: CallOptions): Promise<WaitingQueue[]> {
    return this.calls.run((queries) => queries.waiting(query), call)
  }

  async list(query: ListQuery, call?: CallOptions): Promise<LeasePage> {
    const limit = Math.min(query.limit, MAX_PAGE)
    const found = await this.calls.run((queries) => queries.list({ ...query, limit: limit + 1 }), call)
    return cutPage(found, limit)
  }

  check(call?: CallOptions): Promise<void> {
    return this.calls.bounded.run(async () => {
      await this.calls.check()
      await this.checkAccess()
    }, call)
  }

  sweep({ limit }: { readonly limit: number }, call?: CallOptions): Promise<LeaseRecord[]> {
    return this.calls.run((queries) => queries.sweep(Math.min(limit, MAX_PAGE)), call)
  }

  watch(on: (event: StoreEvent) => void, { prefix = '' } = {}): Promise<AsyncDisposable> {
    return this.calls.bounded.run(async (stop) => {
      const watch = await this.push.watch(on, prefix)
      // The caller has gone, and nobody else would end it.
      if (stop.reason) await watch[Symbol.asyncDispose]()
      return watch
    })
  }

  async close(): Promise<void> {
    // Releases may be under way on the connection on which the store listens.
    await this.calls.bounded.close()
    await this.push.close()
    this.calls.connection.stop()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
