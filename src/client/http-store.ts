import { randomId } from '../base/random-id.ts'
import {
  type Answer as AcquireAnswer,
  type CallOptions,
  type Clock,
  LeaseError,
  type LeaseRecord,
  type LeaseStore,
  type StoreEvent,
  systemClock,
} from '../core/index.ts'
import { clientChannel, LEASES_CHANNEL } from '../protocol/index.ts'
import { type Api, baseOf, createApi, type Request, unexpected } from './api.ts'
import { type Ear, openEar } from './ear.ts'
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
  readonly #channel = clientChannel(this.#clientId)
  readonly #parties = new Parties()
  readonly #ears = new Set<Ear>()
  #calls: Subscription | undefined
  #cancelIdle = () => {}
  #closed = false

  constructor(url: string, { token, key = 'holdfast', clock = systemClock }: HttpStoreOptions) {
    const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` }
    this.#clock = clock
    const api = createApi({ url, clientId: this.#clientId, headers })
    this.#api = async (request) => {
      const answer = await api(request)
      if (answer.status !== 401 && answer.status !== 403) return answer
      const { message, cause } = unexpected(answer)
      throw new LeaseError('store-failed', `${message}; give one of its leaseTokens as token`, { cause })
    }
    this.#socket = new Socket({ url, key, clock, api: this.#api })
  }

  async acquire(ask: Parameters<LeaseStore['acquire']>[0], call?: CallOptions): Promise<AcquireAnswer> {
    this.#checkOpen()
    const { resource, wake, lost, ...more } = ask
    if (wake || lost) this.#parties.expect(ask)
    // Who waits must hear of its turn before it stands in line. If it cannot, it asks out of line: a WebSocket does
    // not say why it failed, and the answer to a request does. Who holds may hear of its loss a little later.
    const deafness = wake ? await this.#hear(call?.signal) : null
    const body = { ...more, client: this.#clientId, ...(wake && !deafness && { wait: true }) }
    const answer = await this.#call<AcquireAnswer>(
      { method: 'POST', path: path(resource), body },
      call,
      [200, 409],
    )
    if (answer.granted) {
      this.#parties.granted(answer.lease)
      if (lost) this.#listen()
    } else {
      this.#parties.refused(ask.id, answer.place !== null)
      if (deafness) throw deafness
    }
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
    const ear = this.#openEar({
      name: LEASES_CHANNEL,
      onEvent(event, data) {
        if (event === 'lease.gap') on({ type: 'gap' })
        const { lease } = data as { lease?: LeaseRecord }
        // The server tells nobody the ids of others' leases.
        if (lease?.resource.startsWith(prefix)) on({ type: 'change', lease: { ...lease, id: '' } })
      },
      onGap: () => on({ type: 'gap' }),
    })
    const deafness = await this.#inTime(ear.opened).catch((error: LeaseError) => error)
    if (deafness) {
      this.#endEar(ear)
      throw deafness
    }
    return { [Symbol.asyncDispose]: async () => this.#endEar(ear) }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#parties.clear()
    for (const ear of this.#ears) this.#endEar(ear)
    this.#stopListening()
  }

  /** `null` when this store hears of its turns, or why it does not. A lost connection is made anew for it. */
  async #hear(signal?: AbortSignal): Promise<LeaseError | null> {
    this.#listen()
    const ear = this.#openEar({ name: this.#channel, onEvent() {}, onGap() {} })
    try {
      return await this.#inTime(ear.opened, signal)
    } finally {
      this.#endEar(ear)
    }
  }

  #openEar(channel: Parameters<typeof openEar>[1]): Ear {
    const ear = openEar(this.#socket, channel)
    this.#ears.add(ear)
    return ear
  }

  #endEar(ear: Ear): void {
    this.#ears.delete(ear)
    ear.end()
  }

  /** Hears what concerns the leases and waits of this store, while there are any. */
  #listen(): void {
    if (this.#calls || this.#closed) return
    const calls = this.#socket.subscribe({
      name: this.#channel,
      onEvent: (event, data) => this.#parties.hear(event, data),
      onGap: () => {
        this.#parties.wakeAll()
        void this.#checkHeld()
      },
    })
    this.#calls = calls
    this.#endWhenIdle()
    // What was granted before may have been ended before.
    calls.ready.then(
      () => this.#checkHeld(),
      () => this.#stopListening(),
    )
  }

  #endWhenIdle(): void {
    this.#cancelIdle = this.#clock.setTimer(
      () => {
        if (this.#parties.size > 0) this.#endWhenIdle()
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
