import { ignoreErrors } from '../../clients/ignore-errors.ts'
import { type RedisClient, redisDatabase } from '../../clients/redis.ts'
import { redisError } from '../../clients/redis-errors.ts'
import {
  type Answer,
  type Ask,
  type CallOptions,
  LeaseError,
  type LeasePage,
  type LeaseRecord,
  type LeaseStore,
  type ListQuery,
  type Renewal,
  type StoreEvent,
} from '../../core/index.ts'
import { RESERVATION_MS } from '../lease-row.ts'
import { Calls, type Reply } from './calls.ts'
import { Keys, packAbout, packId, packSpan, packWho, unpack, unpackEnded, unpackLive } from './layout.ts'
import { inTime } from './limit.ts'
import { Listing } from './listing.ts'
import { Push } from './push.ts'

export type {
  IoRedis,
  IoRedisCluster,
  NodeRedis,
  NodeRedisCluster,
  RedisClient,
} from '../../clients/redis.ts'

export interface RedisStoreOptions {
  /** What every key and channel begins with, so that several applications can share a server. Default `holdfast`. */
  readonly prefix?: string
  /** The client whose `duplicate()` becomes the subscriber's connection. Default: the store's own client. */
  readonly listen?: RedisClient
}

/**
 * Leases in Redis, a single server or a cluster, through your own client of `ioredis` or `redis`.
 *
 * @example
 * const leases = createLeases(redisStore(new Redis()))
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): LeaseStore {
  const { prefix = 'holdfast', listen } = options
  if (typeof prefix !== 'string' || !/^[^{}\p{Cc}\p{Cs}]+$/u.test(prefix))
    throw new LeaseError('invalid-argument', `prefix: expected a name without braces, got ${prefix}`)
  return new RedisStore(client, prefix, listen)
}

/** How many new rows a store makes until it tidies up the next shard: rows that nobody sweeps must not pile up. */
const TIDY_EVERY = 32

/** Names are mostly asked for again. */
const KEYS_KEPT = 1000

class RedisStore implements LeaseStore {
  readonly kind = 'redis'
  readonly supports = { queue: true, push: true, expiry: true, list: true }
  readonly #prefix: string
  readonly #keys = new Map<string, Keys>()
  readonly #calls: Calls
  readonly #listing: Listing
  readonly #push: Push
  readonly #unhear: () => void
  #created = 0
  #closed = false

  constructor(client: RedisClient, prefix: string, listen: RedisClient | undefined) {
    const redis = redisDatabase(client)
    const subscribing = listen ? redisDatabase(listen, 'listen') : redis
    this.#prefix = prefix
    this.#unhear = ignoreErrors(client)
    this.#calls = new Calls(redis, prefix)
    this.#listing = new Listing(this.#calls, prefix)
    this.#push = new Push({
      prefix,
      elsewhere: redis.cluster,
      open: (hear) => subscribing.subscriber(hear),
      read: (resources) => this.#listing.read(resources),
      announce: () => this.#listing.announce(),
    })
  }

  acquire(ask: Ask, call?: CallOptions): Promise<Answer> {
    return ask.wake && !this.#push.isOpen ? this.#askThenListen(ask, call) : this.#ask(ask, call)
  }

  async renew(
    { resource, id, ttl }: { resource: string; id: string; ttl: number },
    call?: CallOptions,
  ): Promise<Renewal> {
    this.#checkOpen()
    const { shard, row, watched, line } = this.#keysOf(resource)
    const args = ['renew', packId(id), packSpan(ttl)]
    const { now, value } = await this.#calls.call(shard, [row, watched, line], args, call)
    const [verb, shown = ''] = String(value).split('\n')
    const lease = unpackLive(shown, now)
    return verb === 'renewed' && lease ? { ok: true, lease } : { ok: false, holder: lease }
  }

  async release(by: { resource: string } & ({ id: string } | { token: number }), call?: CallOptions) {
    this.#checkOpen()
    const { shard, row, watched, line } = this.#keysOf(by.resource)
    const known = 'id' in by ? this.#push.parties.forget(by.id) : null
    const args =
      'id' in by
        ? [known ? 'end' : 'release', packWho(this.#push.channel, by.id)]
        : ['force', String(by.token)]
    const { now, value } = await this.#calls.call(shard, [row, watched, line], args, call)
    const [state, ended = '', holder = ''] = String(value).split('\n')
    return {
      ended: state ? unpackEnded(ended, state as LeaseRecord['state'], now, known) : null,
      holder: unpackLive(holder, now),
    }
  }

  async read(resources: readonly string[], call?: CallOptions): Promise<(LeaseRecord | null)[]> {
    this.#checkOpen()
    return this.#listing.read(resources, call)
  }

  async list(query: ListQuery, call?: CallOptions): Promise<LeasePage> {
    this.#checkOpen()
    return this.#listing.list(query, call)
  }

  async sweep({ limit }: { limit: number }, call?: CallOptions): Promise<LeaseRecord[]> {
    this.#checkOpen()
    return this.#listing.sweep(limit, call)
  }

  async watch(on: (event: StoreEvent) => void, { prefix = '' } = {}): Promise<AsyncDisposable> {
    this.#checkOpen()
    const watch = this.#push.watch(on, prefix)
    try {
      return await inTime(watch)
    } catch (cause) {
      // It may succeed yet, and nobody would end it.
      watch.then((late) => late[Symbol.asyncDispose]()).catch(() => {})
      throw redisError(cause)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#push.close()
    this.#unhear()
  }

  #checkOpen(): void {
    if (this.#closed) throw new LeaseError('closed', 'this redis store was closed')
  }

  #keysOf(resource: string): Keys {
    const known = this.#keys.get(resource)
    if (known) return known
    if (this.#keys.size >= KEYS_KEPT) this.#keys.clear()
    const keys = new Keys(this.#prefix, resource)
    this.#keys.set(resource, keys)
    return keys
  }

  /** Most resources are free: only who must wait needs to listen, and must do so before it stands in line. */
  async #askThenListen(ask: Ask, call?: CallOptions): Promise<Answer> {
    const { wake: _, ...once } = ask
    const answer = await this.#ask(once, call)
    if (answer.granted) return answer
    try {
      await inTime(this.#push.open(), call?.signal)
    } catch (cause) {
      throw redisError(cause)
    }
    return this.#ask(ask, call)
  }

  async #ask(ask: Ask, call?: CallOptions): Promise<Answer> {
    this.#checkOpen()
    const { resource, id, ttl, wake, replace } = ask
    const { shard, row, watched, line, index } = this.#keysOf(resource)
    const lease = `${packSpan(ttl)} ${packWho(this.#push.channel, id)}${packAbout(ask)}`
    const args = ['acquire', lease, `${wake ? 'wait' : ''}${replace ?? ''}`]
    const reply = this.#calls.call(shard, [row, watched, line, index], args, call)
    // What concerns it may come in before the answer does.
    const { parties } = this.#push
    parties.expect(ask)
    const answer = this.#understand(ask, await reply)
    if (answer.granted) {
      parties.granted(answer.lease)
      this.#push.openForHolder()
    } else parties.refused(id, answer.place !== null)
    return answer
  }

  #understand(ask: Ask, { now, value }: Reply): Answer {
    if (value === 'fresh') return { granted: true, lease: freshLease(ask, now) }
    const [verb, shown = '', third = '', fourth = ''] = String(value).split('\n')
    if (verb === 'refused')
      return {
        granted: false,
        holder: unpackLive(shown, now),
        place: third === '' ? null : Number(third),
        retryIn: Math.ceil(Number(fourth) / 1000) + Number(third) * RESERVATION_MS,
      }
    if (verb === 'created' && ++this.#created % TIDY_EVERY === 0) this.#listing.tidy().catch(() => {})
    const replaced = third && unpack(fourth, third as LeaseRecord['state'], now)
    return { granted: true, lease: unpack(shown, 'held', now), ...(replaced && { replaced }) }
  }
}

/** A grant of a resource that was free has nothing to tell but its time. */
function freshLease({ resource, id, owner, ttl, metadata }: Ask, now: number): LeaseRecord {
  return {
    resource,
    id,
    owner,
    token: now,
    metadata: metadata ?? null,
    acquiredAt: Math.floor(now / 1000),
    expiresAt: Math.floor(now / 1000 + ttl),
    remaining: ttl,
    state: 'held',
  }
}
