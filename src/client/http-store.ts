import type * as v from 'valibot'
import type { Stop } from '../base/abort.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { randomId } from '../base/random-id.ts'
import type { LeaseRecord } from '../base/records.ts'
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
} from '../core/index.ts'
import { fromWire, leaseGrant, leaseRenewed, leasesRead, leasesSwept, toWire } from '../protocol/index.ts'
import type { Running } from '../stores/local/calls.ts'
import { LocalListeners } from '../stores/local/listeners.ts'
import { StoreCalls } from '../stores/local/store-calls.ts'
import { type Api, type ApiRequest, type ApiResponse, available, createApi, unexpected } from './api.ts'
import { type HolderRequest, HolderRequests, pathOf } from './holder-requests.ts'
import { HttpPush } from './http-push.ts'
import { anyLost, anyRefusal, anyReleased, expectBody, holdersOf, isValid, leaseOf } from './lease-answers.ts'
import { type CheckedHttpStoreOptions, checkHttpStoreOptions, type HttpStoreOptions } from './options.ts'
import { MOST_LISTED_AT_ONCE, READ_AT_ONCE } from './rare-options.ts'

export type { HttpStoreOptions } from './options.ts'

/**
 * Leases at a Holdfast server, for programs that cannot reach its database.
 *
 * @example
 * const leases = createLeases(httpStore('https://locks.example.com', { token }))
 */
export function httpStore(url: string | URL, options: HttpStoreOptions = {}): LeaseStore {
  return new HttpStore(checkHttpStoreOptions(url, options))
}

class HttpStore implements LeaseStore {
  readonly kind = 'http'
  /** `share` becomes false when the server says that its store has none. */
  readonly supports = { queue: true, push: true, expiry: true, list: true, share: true }
  readonly #clientId = randomId()
  readonly #api: Api
  readonly #calls: StoreCalls
  readonly #holderRequests: HolderRequests
  readonly #listeners: LocalListeners
  readonly #push: HttpPush
  readonly #closed = new AbortController()

  constructor({ url, headers, key, maxInFlight, clock }: CheckedHttpStoreOptions) {
    const clientId = this.#clientId
    const api = createApi({ url, clientId, headers })
    const listeners = new LocalListeners(clock)
    const read = (resources: readonly string[]) => this.read(resources)
    this.#api = api
    this.#calls = new StoreCalls({
      backend: 'HTTP',
      explain: asLeaseError,
      clock,
      maxInFlight,
      isCalled: (id) => listeners.takeCall(id),
      release: (by) => (running) => this.#release(by, running),
      // A waiter that asks again has its place already. Readers may overtake each other.
      order: ({ id, share }) => (listeners.has(id) ? 'kept' : share === Infinity ? 'awaited' : 'in-turn'),
    })
    this.#holderRequests = new HolderRequests(api, clock, maxInFlight)
    this.#listeners = listeners
    this.#push = new HttpPush({ url, key, api, clientId, listeners, clock, read })
  }

  get load(): StoreLoad {
    return this.#calls.load
  }

  acquire(ask: Ask, call?: CallOptions): Promise<Answer> {
    return this.#calls.acquire(ask, (stop) => this.#acquire(ask, stop), call)
  }

  async renew({ resource, id, ttl }: RenewAsk, call?: CallOptions): Promise<Renewal> {
    const request = { method: 'PUT', resource, body: { id, ttl } } as const
    const response = await this.#calls.run((running) => this.#hold(request, running), call, resource)
    if (isValid(response, 409, anyLost)) return { ok: false, holders: holdersOf(response.body) }
    const lease = leaseOf(expectBody(response, leaseRenewed).lease)
    if (lease.id !== id) throw unexpected(response)
    this.#listeners.renewed(lease)
    return { ok: true, lease }
  }

  release(by: ReleaseAsk, call?: CallOptions): Promise<Released> {
    return this.#calls.release(by, (running) => this.#release(by, running), call)
  }

  read(resources: readonly string[], call?: CallOptions): Promise<LeaseRecord[][]> {
    return this.#calls.run(async (stop) => {
      const parts = await this.#readParts(resources, stop)
      return parts.flatMap(({ leases, holders = leases.map((lease) => (lease ? [lease] : [])) }) =>
        holders.map((found) => found.map(leaseOf)),
      )
    }, call)
  }

  waiting({ resources, limit }: WaitingQuery, call?: CallOptions): Promise<WaitingQueue[]> {
    return this.#calls.run(async (stop) => {
      const parts = await this.#readParts(resources, stop, {
        waiting: String(Math.min(limit, MOST_LISTED_AT_ONCE)),
      })
      return parts.flatMap(({ queues = [] }) =>
        queues.map(({ count, first }) => ({ count, first: first.map(fromWire) })),
      )
    }, call)
  }

  async list({ limit, prefix, after }: ListQuery, call?: CallOptions): Promise<LeasePage> {
    const query = new URLSearchParams({ limit: String(Math.min(limit, MOST_LISTED_AT_ONCE)) })
    if (prefix) query.set('prefix', prefix)
    if (after) query.set('after', after)
    const response = await this.#send({ method: 'GET', path: `api/leases?${query}` }, call)
    const { leases, next } = expectBody(response, leasesRead)
    return {
      leases: leases.filter((lease) => lease !== null).map(leaseOf),
      ...(next !== undefined && { next }),
    }
  }

  async sweep({ limit }: { readonly limit: number }, call?: CallOptions): Promise<LeaseRecord[]> {
    const body = { limit: Math.min(limit, MOST_LISTED_AT_ONCE) }
    const response = await this.#send({ method: 'POST', path: 'api/sweep', body }, call)
    return expectBody(response, leasesSwept).leases.map(leaseOf)
  }

  watch(on: (event: StoreEvent) => void, { prefix = '' } = {}): Promise<AsyncDisposable> {
    return this.#calls.run((stop) => this.#push.watch(on, prefix, stop.signal))
  }

  async close(): Promise<void> {
    const closing = this.#calls.close()
    this.#holderRequests.close(new LeaseError('closed', 'this HTTP store was closed'))
    this.#listeners.clear()
    this.#push.close()
    await closing
    this.#closed.abort()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Most resources are free, so only a caller that must wait needs the push connection, and must have it before it
   * joins the queue.
   */
  async #acquire(ask: Ask, stop: Stop): Promise<Answer> {
    const { wake, ...once } = ask
    if (!wake || this.#push.isOpen) return this.#ask(ask)
    const answer = await this.#ask(once)
    if (answer.granted) return answer
    stop.throwIfAborted()
    await this.#push.open(stop.signal)
    stop.throwIfAborted()
    return this.#ask(ask)
  }

  async #release(by: ReleaseAsk, running: Running): Promise<Released> {
    const { resource, ...body } = by
    if ('id' in by) this.#listeners.forget(by.id)
    const response = await this.#hold({ method: 'DELETE', resource, body }, running)
    const released = expectBody(response, anyReleased)
    return { ended: released.ended && leaseOf(released.ended), holders: holdersOf(released) }
  }

  /** Only the end of `close` ends a request that was sent: what is granted after its caller has gone is released. */
  async #ask(ask: Ask): Promise<Answer> {
    const { resource, wake, lost, queued: _, endsWithProcess: __, share, ...about } = ask
    const { id } = ask
    this.#listeners.expect(ask)
    const body = {
      ...about,
      ...(share !== undefined && toWire({ share })),
      client: this.#clientId,
      ...(wake && { wait: true }),
    }
    const response = await this.#api({
      method: 'POST',
      path: pathOf(resource),
      body,
      signal: this.#closed.signal,
    })
    if (isValid(response, 409, anyRefusal)) {
      const { place, retryIn, keptFor } = response.body
      this.#listeners.refused(id, place !== null)
      const holders = holdersOf(response.body)
      return { granted: false, holders, place, retryIn, ...(keptFor !== undefined && { keptFor }) }
    }
    if (response.body.error === 'share_unsupported') {
      const { message } = response.body
      this.#refuseShare(typeof message === 'string' ? message : 'share: the server does not support it')
    }
    const grant = expectBody(response, leaseGrant)
    const lease = leaseOf(grant.lease)
    if (lease.id !== id) throw unexpected(response)
    if (isIgnored(ask, grant.lease.share)) {
      await this.#api({ method: 'DELETE', path: pathOf(resource), body: { id } }).catch(() => {})
      this.#refuseShare('share: this version of the server has no share, atLeast or lockDelay; update it')
    }
    this.#listeners.granted(lease)
    if (lost) this.#push.openForHolder()
    return { granted: true, lease, ...(grant.replaced && { replaced: leaseOf(grant.replaced) }) }
  }

  #refuseShare(why: string): never {
    this.supports.share = false
    throw new LeaseError('invalid-argument', why)
  }

  /** `asked`: what to tell beside the leases. */
  async #readParts(
    resources: readonly string[],
    { signal }: Stop,
    asked: { readonly waiting?: string } = {},
  ) {
    const parts: v.InferOutput<typeof leasesRead>[] = []
    for (let from = 0; from < resources.length; from += READ_AT_ONCE) {
      const names = resources.slice(from, from + READ_AT_ONCE)
      const query = new URLSearchParams([
        ...names.map((name) => ['resource', name]),
        ...Object.entries(asked),
      ])
      const response = await this.#api({ method: 'GET', path: `api/leases?${query}`, signal })
      const part = expectBody(response, leasesRead)
      const { leases, holders = leases, queues } = part
      const lists = asked.waiting === undefined ? [leases, holders] : [leases, holders, queues]
      if (lists.some((list) => list?.length !== names.length)) throw unexpected(response)
      parts.push(part)
    }
    return parts
  }

  async #hold(request: HolderRequest, running: Running): Promise<ApiResponse> {
    return available(await this.#holderRequests.send(request, running))
  }

  #send(request: ApiRequest, call?: CallOptions, resource?: string): Promise<ApiResponse> {
    return this.#calls.run((stop) => this.#api({ ...request, signal: stop.signal }), call, resource)
  }
}

/** An older server grants an exclusive lease, and its answer has no share. */
function isIgnored({ share, atLeast, lockDelay }: Ask, granted: unknown): boolean {
  return share !== undefined ? granted == null : granted === undefined && Boolean(atLeast || lockDelay)
}
