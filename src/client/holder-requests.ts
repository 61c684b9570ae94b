import type { Clock } from '../base/clock.ts'
import type { LeaseError } from '../base/errors.ts'
import { leaseBatchAnswers, MAX_LEASE_BATCH } from '../protocol/index.ts'
import type { Running } from '../stores/local/calls.ts'
import { type Api, type ApiResponse, isAnswered, unexpected } from './api.ts'
import { expectBody } from './lease-answers.ts'
import { MAX_BATCHES_IN_FLIGHT } from './rare-options.ts'

/** A renewal or a release. */
export interface HolderRequest {
  readonly method: 'PUT' | 'DELETE'
  readonly resource: string
  readonly body: { readonly id?: string; readonly token?: number; readonly ttl?: number }
}

interface Pending extends HolderRequest {
  readonly call: Running
  resolve(response: ApiResponse): void
  reject(error: unknown): void
}

/**
 * The renewals and releases of a store. A lone one is a request of its own. While enough requests are in flight, the
 * others wait, and are then sent together: a process with ten thousand leases would otherwise send a thousand
 * heartbeats a second. They never wait behind acquire requests.
 *
 * Not `clients/together.ts`, which always gathers the calls of one moment: here nothing is gathered while there is room.
 */
export class HolderRequests {
  readonly #api: Api
  readonly #clock: Clock
  readonly #maxInFlight: number
  #inFlight = 0
  readonly #queue: Pending[] = []
  /** Another renewal of the same lease for the same time waits for the answer to the first one. */
  readonly #queuedRenewals = new Map<string, Promise<ApiResponse>>()
  readonly #closing = new AbortController()

  constructor(api: Api, clock: Clock, maxInFlight: number) {
    this.#api = api
    this.#clock = clock
    this.#maxInFlight = Math.min(maxInFlight, MAX_BATCHES_IN_FLIGHT)
  }

  send(request: HolderRequest, call: Running): Promise<ApiResponse> {
    const renewed = request.method === 'PUT' ? renewalKey(request) : undefined
    const queued = renewed === undefined ? undefined : this.#queuedRenewals.get(renewed)
    const { promise, resolve, reject } = Promise.withResolvers<ApiResponse>()
    if (queued || this.#inFlight >= this.#maxInFlight) call.hold()
    if (queued) return queued
    this.#queue.push({ ...request, call, resolve, reject })
    if (this.#inFlight < this.#maxInFlight) void this.#sendNext()
    else if (renewed !== undefined) this.#queuedRenewals.set(renewed, promise)
    return promise
  }

  /** Renewals end, and releases continue. */
  close(reason: LeaseError): void {
    this.#closing.abort(reason)
    for (const request of this.#dequeue(Infinity)) {
      if (request.method === 'PUT') request.reject(reason)
      else this.#queue.push(request)
    }
  }

  async #sendNext(): Promise<void> {
    let batch: Pending[] = []
    while (batch.length === 0 && this.#queue.length > 0) batch = this.#take()
    if (batch.length === 0) return
    this.#inFlight++
    try {
      for (const [n, response] of (await this.#request(batch)).entries()) batch[n]?.resolve(response)
    } catch (error) {
      for (const { reject } of batch) reject(error)
      // No server answers. The queued requests fail at once instead of one timeout after the other.
      const isSilent = !isAnswered(error) && !this.#closing.signal.aborted
      if (isSilent) for (const { reject } of this.#dequeue(Infinity)) reject(error)
    } finally {
      this.#inFlight--
    }
    void this.#sendNext()
  }

  /** The next ones, without renewals whose callers have gone. */
  #take(): Pending[] {
    const now = this.#clock.monotonic()
    return this.#dequeue(MAX_LEASE_BATCH).filter(({ method, call, reject }) => {
      const { reason } = call
      if (reason && method === 'PUT') reject(reason)
      else call.leave(now)
      return !reason || method === 'DELETE'
    })
  }

  #dequeue(count: number): Pending[] {
    const taken = this.#queue.splice(0, count)
    for (const request of taken) this.#queuedRenewals.delete(renewalKey(request))
    return taken
  }

  async #request(batch: readonly Pending[]): Promise<readonly ApiResponse[]> {
    const limit = Math.max(...batch.map(({ call }) => call.limitMs))
    // A page that is being closed still releases.
    const keepalive = batch.some(({ method }) => method === 'DELETE')
    const how = { limit, keepalive, signal: keepalive ? undefined : this.#closing.signal }
    const calls = batch.map(({ method, resource, body }) => ({ method, resource, body }))
    const [first] = calls
    if (first && calls.length === 1) {
      const { method, resource, body } = first
      return [await this.#api({ method, path: pathOf(resource), body, ...how })]
    }
    const response = await this.#api({ method: 'POST', path: 'api/batch', body: { calls }, ...how })
    const { answers } = expectBody(response, leaseBatchAnswers)
    if (answers.length !== calls.length) throw unexpected(response)
    return answers
  }
}

function renewalKey({ body }: HolderRequest): string {
  return `${body.ttl} ${body.id}`
}

/** The name is not part of the path, because a path cannot contain `.` and `..` as names. */
export function pathOf(resource: string): string {
  return `api/leases?${new URLSearchParams({ resource })}`
}
