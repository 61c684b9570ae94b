import {
  type Answer as AcquireAnswer,
  type CallOptions,
  type Clock,
  LeaseError,
  type LeaseRecord,
  type LeaseStore,
  randomId,
  type StoreEvent,
  systemClock,
} from '../core/index.ts'
import { clientChannel, LEASES_CHANNEL } from '../protocol/index.ts'
import { type Api, baseOf, createApi, type Request, unexpected } from './api.ts'
import { Parties } from './parties.ts'
import { Socket, type Subscription } from './socket.ts'

/** The longest that the server may take over one answer. */
const LIMIT_MS = 5000
/** How many names one request may read. */
const READ_AT_ONCE = 100
/** How long the socket stays open when nobody waits or holds any more. */
const IDLE_MS = 2000

export interface HttpStoreOptions {
  /** One of the server's `leaseTokens` or `adminTokens`. */
  readonly token?: string | undefined
  /** The public key of the server's WebSocket. Default `holdfast`. */
  readonly key?: string
  readonly clock?: Clock
}

/**
 * Leases at a Holdfast server, for programs that have no way to its database.
 *
 * @example
 * const leases = createLeases(httpStore('https://locks.example.com', { token }))
 */
export function httpStore(url: string | URL, options: HttpStoreOptions = {}): LeaseStore {
  return new HttpStore(baseOf(url), options)
}

class HttpStore implements LeaseStore {
  readonly kind = 'http'
  readonly supports = { queue: true, push: true, expiry: true, list: true }
  readonly #api: Api
  readonly #socket: Socket
  readonly #clock: Clock
  readonly #clientId = randomId()
  readonly #parties = new Parties()
  readonly #watches = new Set<Subscription>()
  #calls: Subscription | undefined
  #cancelIdle = () => {}
  #closed = false

  constructor(url: string, { token, key = 'holdfast', clock = systemClock }: HttpStoreOptions) {
    const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` }
    this.#clock = clock
    this.#api = createApi({ url, clientId: this.#clientId, headers })
    this.#socket = new Socket({
      url,
      key,
      clock,
      api: this.#api,
    })
  }

  async acquire(ask: Parameters<LeaseStore['acquire']>[0], call?: CallOptions): Promise<AcquireAnswer> {
    this.#checkOpen()
    const { resource, wake, lost, ...more } = ask
    if (wake || lost) {
      this.#parties.expect(ask)
      // Who waits must hear of its turn before it stands in line; who holds may hear of its loss a little later.
      const listening = this.#listen()
      if (wake) await this.#inTime(listening, call?.signal)
    }
    const body = { ...more, client: this.#clientId, ...(wake && { wait: true }) }
    const answer = await this.#call<AcquireAnswer>(
      { method: 'POST', path: path(resource), body },
      call,
      [200, 409],
    )
    if (answer.granted) this.#parties.granted(answer.lease)
    else this.#parties.refused(ask.id, answer.place !== null)
    return answer
  }

  renew({ resource, ...body }: Parameters<LeaseStore['renew']>[0], call?: CallOptions) {
    return this.#call<Awaited<ReturnType<LeaseStore['renew']>>>(
      { method: 'PUT', path: path(resource), body },
      call,
      [200, 409],
    )
  }

  release({ resource, ...body }: Parameters<LeaseStore['release']>[0], call?: CallOptions) {
    if ('id' in body) this.#parties.forget(body.id)
    return this.#call<Awaited<ReturnType<LeaseStore['release']>>>(
      { method: 'DELETE', path: path(resource), body, keepalive: true },
      call,
    )
  }

  async read(resources: readonly string[], call?: CallOptions): Promise<(LeaseRecord | null)[]> {
    const found: (LeaseRecord | null)[] = []
    this.#checkOpen()
    for (let from = 0; from < resources.length; from += READ_AT_ONCE) {
      const names = resources.slice(from, from + READ_AT_ONCE).map((name) => ['resource', name])
      const page = await this.#call<{ leases: (LeaseRecord | null)[] }>(
        { method: 'GET', path: `api/leases?${new URLSearchParams(names)}` },
        call,
      )
      found.push(...page.leases)
    }
    return found
  }

  list({ limit, prefix, after }: Parameters<LeaseStore['list']>[0], call?: CallOptions) {
    const query = new URLSearchParams({ limit: String(Math.min(limit, 1000)) })
    if (prefix) query.set('prefix', prefix)
    if (after) query.set('after', after)
    return this.#call<Awaited<ReturnType<LeaseStore['list']>>>(
      { method: 'GET', path: `api/leases?${query}` },
      call,
    )
  }

  async sweep({ limit }: { limit: number }, call?: CallOptions): Promise<LeaseRecord[]> {
    const body = { limit: Math.min(limit, 1000) }
    const { leases } = await this.#call<{ leases: LeaseRecord[] }>(
      { method: 'POST', path: 'api/sweep', body },
      call,
    )
    return leases
  }

  async watch(on: (event: StoreEvent) => void, { prefix = '' } = {}): Promise<AsyncDisposable> {
    this.#checkOpen()
    const watch = this.#socket.subscribe({
      name: LEASES_CHANNEL,
      onEvent(event, data) {
        if (event === 'lease.gap') on({ type: 'gap' })
        const { lease } = data as { lease?: LeaseRecord }
        // The server tells nobody the ids of others' leases.
        if (lease?.resource.startsWith(prefix)) on({ type: 'change', lease: { ...lease, id: '' } })
      },
      onGap: () => on({ type: 'gap' }),
    })
    this.#watches.add(watch)
    const end = () => {
      this.#watches.delete(watch)
      watch.end()
    }
    try {
      await this.#inTime(watch.ready)
    } catch (error) {
      end()
      throw error
    }
    return { [Symbol.asyncDispose]: async () => end() }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#parties.clear()
    for (const watch of this.#watches) watch.end()
    this.#stopListening()
  }

  /** Hears what concerns the leases and waits of this store, while there are any. */
  async #listen(): Promise<void> {
    if (!this.#calls) {
      this.#calls = this.#socket.subscribe({
        name: clientChannel(this.#clientId),
        onEvent: (event, data) => this.#parties.hear(event, data),
        onGap: () => {
          this.#parties.wakeAll()
          void this.#checkHeld()
        },
      })
      this.#endWhenIdle(this.#calls)
      // What was granted before may have been ended before.
      this.#calls.ready.then(
        () => this.#checkHeld(),
        () => this.#stopListening(),
      )
    }
    await this.#calls.ready
  }

  #endWhenIdle(calls: Subscription): void {
    this.#cancelIdle = this.#clock.setTimer(
      () => {
        if (this.#parties.size > 0) this.#endWhenIdle(calls)
        else this.#stopListening()
      },
      IDLE_MS,
      true,
    )
  }

  #stopListening(): void {
    this.#cancelIdle()
    this.#calls?.end()
    this.#calls = undefined
  }

  /** What was pushed while nobody could hear it. */
  async #checkHeld(): Promise<void> {
    const held = this.#parties.leases()
    const found = await this.read(held.map(({ resource }) => resource)).catch(() => null)
    for (const [n, { id }] of held.entries()) if (found && found[n]?.id !== id) this.#parties.lose(id)
  }

  async #call<T>(request: Request, { signal }: CallOptions = {}, expected = [200]): Promise<T> {
    this.#checkOpen()
    const answer = await this.#inTime(this.#api({ ...request, signal }), signal)
    if (answer.status === 401 || answer.status === 403)
      throw new LeaseError(
        'store-failed',
        `${unexpected(answer).message}; give one of its leaseTokens as token`,
      )
    if (!expected.includes(answer.status)) throw unexpected(answer)
    // What an error says for people is no part of the port.
    const { error: _error, message: _message, ...body } = answer.body
    return body as T
  }

  #inTime<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const silence = `the server gave no answer within ${LIMIT_MS} ms`
      const cancel = this.#clock.setTimer(
        () => reject(new LeaseError('store-unavailable', silence)),
        LIMIT_MS,
      )
      const onAbort = () =>
        reject(new LeaseError('aborted', 'the call was aborted', { cause: signal?.reason }))
      if (signal?.aborted) onAbort()
      signal?.addEventListener('abort', onAbort)
      work.then(resolve, reject).then(() => {
        cancel()
        signal?.removeEventListener('abort', onAbort)
      })
    })
  }

  #checkOpen(): void {
    if (this.#closed) throw new LeaseError('closed', 'this http store was closed')
  }
}

/** Not in the path, where some names cannot stand. */
function path(resource: string): string {
  return `api/leases?${new URLSearchParams({ resource })}`
}
