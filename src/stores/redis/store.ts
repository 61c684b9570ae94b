import type { Stop } from '../../base/abort.ts'
import type { LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { type Connection, followConnection } from '../../clients/connection.ts'
import { type RedisClient, type RedisDatabase, redisDatabase } from '../../clients/redis.ts'
import { redisError } from '../../clients/redis-errors.ts'
import { malformedAnswer } from '../../clients/store-error.ts'
import type {
  Answer,
  Ask,
  CallOptions,
  Grant,
  LeasePage,
  LeaseStore,
  ListQuery,
  Refusal,
  ReleaseAsk,
  Released,
  RenewAsk,
  Renewal,
  StoreEvent,
  StoreLoad,
  WaitingQuery,
  WaitingQueue,
} from '../../core/index.ts'
import { LocalListeners } from '../local/listeners.ts'
import { StoreCalls } from '../local/store-calls.ts'
import { Batches, type Operation, type Reply } from './batches.ts'
import { Keys } from './names.ts'
import { type CheckedOptions, MAX_KEPT_KEYS, TIDY_EVERY, TRIAL_MS } from './options.ts'
import { Push } from './push.ts'
import { Queries } from './queries.ts'
import {
  packId,
  packLease,
  packSpan,
  packTerms,
  packWaiter,
  unpack,
  unpackEnded,
  unpackHolders,
} from './rows.ts'

/** A replica, and a server that cannot save, refuse to write. */
const TRY_WRITING = `return redis.call('SET', KEYS[1], '', 'PX', ${TRIAL_MS})`

/** The port on Redis. */
export class RedisStore implements LeaseStore {
  readonly kind = 'redis'
  readonly supports = { queue: true, push: true, expiry: true, list: true, share: true }
  readonly #prefix: string
  readonly #redis: RedisDatabase
  readonly #keys = new Map<string, Keys>()
  readonly #connection: Connection
  readonly #calls: StoreCalls
  readonly #listeners = new LocalListeners()
  readonly #batches: Batches
  readonly #queries: Queries
  readonly #push: Push
  #created = 0

  constructor(client: RedisClient, { prefix, listen, maxInFlight }: CheckedOptions) {
    this.#calls = new StoreCalls({
      backend: 'Redis',
      explain: (error, resource) => this.#connection.explain(redisError(error, resource)),
      maxInFlight,
      isCalled: (id) => this.#listeners.takeCall(id),
      release: (by) => (stop) => this.#release(by, stop),
      // One connection keeps the order of what it sends. A waiter that first has to listen is asked for twice.
      order: ({ wake }) => (wake && !this.#push.isOpen ? 'awaited' : 'kept'),
    })
    const redis = redisDatabase(client)
    const listening = listen === undefined ? redis : redisDatabase(listen, 'listen')
    this.#prefix = prefix
    this.#redis = redis
    this.#connection = followConnection(client)
    this.#batches = new Batches(redis, prefix)
    this.#queries = new Queries(this.#batches, prefix)
    this.#push = new Push({
      prefix,
      redis: listening,
      isCluster: redis.cluster || listening.cluster,
      batches: this.#batches,
      calls: this.#calls,
      listeners: this.#listeners,
      read: (resources, stop) => this.#queries.read(resources, stop),
    })
  }

  get load(): StoreLoad {
    return this.#calls.load
  }

  acquire(ask: Ask, call?: CallOptions): Promise<Answer> {
    return this.#calls.acquire(ask, (stop) => this.#acquire(ask, stop), call)
  }

  acquireAll(asks: readonly Ask[], call?: CallOptions): Promise<readonly Grant[] | null> {
    return this.#calls.acquireAll(asks, (stop) => this.#acquireAll(asks, stop), call)
  }

  renew({ resource, id, ttl }: RenewAsk, call?: CallOptions): Promise<Renewal> {
    return this.#calls.renew(
      async (stop) => {
        const { now, value } = await this.#run(resource, ['renew', packId(id), packSpan(ttl)], stop)
        const [verb, ...rows] = String(value).split('\n')
        const holders = unpackHolders(rows, now)
        const [lease] = holders
        if (verb !== 'renewed' || !lease) return { ok: false, holders }
        this.#listeners.renewed(lease)
        return { ok: true, lease }
      },
      call,
      resource,
    )
  }

  release(by: ReleaseAsk, call?: CallOptions): Promise<Released> {
    return this.#calls.release(by, (stop) => this.#release(by, stop), call)
  }

  read(resources: readonly string[], call?: CallOptions): Promise<LeaseRecord[][]> {
    return this.#calls.run((stop) => this.#queries.read(resources, stop), call)
  }

  waiting(query: WaitingQuery, call?: CallOptions): Promise<WaitingQueue[]> {
    return this.#calls.run((stop) => this.#queries.waiting(query, stop), call)
  }

  list(query: ListQuery, call?: CallOptions): Promise<LeasePage> {
    return this.#calls.run((stop) => this.#queries.list(query, stop), call)
  }

  check(call?: CallOptions): Promise<void> {
    return this.#calls.run(async () => {
      await this.#redis.eval(TRY_WRITING, [`${this.#prefix}:{0}:check`], [])
    }, call)
  }

  sweep({ limit }: { readonly limit: number }, call?: CallOptions): Promise<LeaseRecord[]> {
    return this.#calls.run((stop) => this.#queries.sweep(limit, stop), call)
  }

  watch(on: (event: StoreEvent) => void, query?: { readonly prefix?: string }): Promise<AsyncDisposable> {
    return this.#calls.run((stop) => this.#push.watch(on, query?.prefix, stop))
  }

  explain(error: LeaseError): LeaseError {
    return this.#connection.explain(error)
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    await Promise.all([this.#calls.close(), this.#push.close()])
    this.#connection.stop()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #acquire(ask: Ask, stop: Stop): Promise<Answer> {
    return ask.wake && !this.#push.isOpen ? this.#requestThenListen(ask, stop) : this.#request(ask, stop)
  }

  /** Most resources are free. Only a caller that has to wait must listen, and must do so before it is queued. */
  async #requestThenListen(ask: Ask, stop: Stop): Promise<Answer> {
    const answer = await this.#request(ask, stop, false)
    if (answer.granted) return answer
    stop.throwIfAborted()
    await this.#push.open()
    stop.throwIfAborted()
    return this.#request(ask, stop)
  }

  async #request(ask: Ask, stop: Stop, mayJoin = true): Promise<Answer> {
    const reply = this.#batches.run(this.#operation(ask, mayJoin), stop)
    // Its wake-up or its loss may arrive before the answer.
    this.#listeners.expect(ask)
    return this.#answered(ask, await reply)
  }

  async #acquireAll(asks: readonly Ask[], stop: Stop): Promise<readonly Grant[] | null> {
    const operations = asks.map((ask) => this.#operation(ask, false))
    const answering = this.#batches.runTogether(operations, stop)
    // An id that waits or holds is still to be told.
    const known = new Set(asks.filter(({ id }) => this.#listeners.has(id)))
    for (const ask of asks) this.#listeners.expect(ask)
    const replies = await answering
    const grants: Grant[] = []
    for (const [n, ask] of asks.entries()) {
      const reply = replies.get(operations[n] as Operation)
      const answer = reply && this.#answered(ask, reply)
      if (answer?.granted) grants.push(answer)
      else if (!known.has(ask)) this.#listeners.forget(ask.id)
    }
    if (grants.length === asks.length) return grants
    // In a cluster, another slot has refused.
    for (const { lease } of grants) await this.#release({ resource: lease.resource, id: lease.id }, stop)
    return null
  }

  #answered(ask: Ask, reply: Reply): Answer {
    const answer = this.#parseAnswer(ask, reply)
    if (answer.granted) {
      this.#listeners.granted(answer.lease)
      if (ask.lost) this.#push.openForHolder(answer.lease)
    } else this.#listeners.refused(ask.id, answer.place !== null)
    return answer
  }

  #operation(ask: Ask, mayJoin: boolean): Operation {
    const { resource, wake, replace = '' } = ask
    const { shard, all: keys } = this.#keysOf(resource)
    const terms = packTerms(ask)
    const waiter = wake && mayJoin ? packWaiter(ask) : ''
    const args = [packLease(ask, this.#push.channel), waiter, String(replace)]
    return { shard, keys, args: terms ? ['share', ...args, terms] : ['acquire', ...args] }
  }

  #parseAnswer(ask: Ask, { now, value }: Reply): Answer {
    if (typeof value !== 'string') throw malformedAnswer('Redis', value)
    if (value === 'fresh') return { granted: true, lease: freshLease(ask, now) }
    const [verb, ...fields] = String(value).split('\n')
    if (verb === 'refused') return refusal(fields, now)
    if (verb === 'created' && ++this.#created % TIDY_EVERY === 0)
      this.#calls.run((stop) => this.#queries.tidy(stop)).catch(() => {})
    const [lease = '', state, ended = ''] = fields
    const replaced = state && unpack(ended, state as LeaseRecord['state'], now)
    return { granted: true, lease: unpack(lease, 'held', now), ...(replaced && { replaced }) }
  }

  async #release(by: ReleaseAsk, stop: Stop): Promise<Released> {
    const known = 'id' in by ? this.#listeners.forget(by.id) : null
    const args =
      'id' in by
        ? [known ? 'end' : 'release', `${this.#push.channel} ${packId(by.id)}`]
        : ['force', String(by.token)]
    const { now, value } = await this.#run(by.resource, args, stop)
    const [state, ended = '', ...holders] = String(value).split('\n')
    return {
      ended: state ? unpackEnded(ended, state as LeaseRecord['state'], now, known) : null,
      holders: unpackHolders(holders, now),
    }
  }

  #run(resource: string, args: readonly string[], stop: Stop): Promise<Reply> {
    const { shard, all: keys } = this.#keysOf(resource)
    return this.#batches.run({ shard, keys, args }, stop)
  }

  #keysOf(resource: string): Keys {
    const known = this.#keys.get(resource)
    if (known) return known
    if (this.#keys.size >= MAX_KEPT_KEYS) this.#keys.clear()
    const keys = new Keys(this.#prefix, resource)
    this.#keys.set(resource, keys)
    return keys
  }
}

function refusal([place = '', retryIn, keptFor, ...holders]: readonly string[], now: number): Refusal {
  return {
    granted: false,
    holders: unpackHolders(holders, now),
    place: place === '' ? null : Number(place),
    retryIn: Math.ceil(Number(retryIn) / 1000),
    ...(Number(keptFor) > 0 && { keptFor: Math.ceil(Number(keptFor) / 1000) }),
  }
}

/** The script took a free row. It answers only with the time, because this process knows the rest. */
function freshLease({ resource, id, owner, ttl, metadata }: Ask, now: number): LeaseRecord {
  return {
    resource,
    id,
    owner,
    token: now,
    metadata: metadata ?? null,
    share: null,
    acquiredAt: Math.floor(now / 1000),
    expiresAt: Math.floor(now / 1000 + ttl),
    remaining: ttl,
    state: 'held',
  }
}
