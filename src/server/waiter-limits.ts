import type { Settings } from '../configuration/settings.ts'
import { HttpError } from './http/http-error.ts'
import type { RouteRequest } from './http/route.ts'
import { roomResource } from './identity.ts'
import { RETRY_AFTER_S } from './options.ts'

type WaitingRequest = Pick<RouteRequest<unknown>, 'room' | 'limitKey' | 'isLong'>

/**
 * Counts the waiters of this node, by resource and by client address.
 *
 * `waiting-requests.ts` says what the other files about waiters are for.
 */
export class WaiterLimits {
  readonly #ofResource: Waiters
  readonly #ofAddress: Waiters

  constructor({ maxWaiters, maxWaitersOfAddress }: Pick<Settings, 'maxWaiters' | 'maxWaitersOfAddress'>) {
    this.#ofResource = new Waiters(maxWaiters, 'for this resource')
    this.#ofAddress = new Waiters(maxWaitersOfAddress, 'from your address')
  }

  /** Runs the work as a request that stays open, or refuses it. */
  async run<T>(request: WaitingRequest, work: () => Promise<T>): Promise<T> {
    request.isLong = true
    const leave = this.enter(roomResource(request.room), request.limitKey)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  /** Counts one more, or refuses it. Call the result once, when it does not wait any more. */
  enter(resource: string, address: string): () => void {
    this.#ofResource.refuseIfFull(resource)
    this.#ofAddress.refuseIfFull(address)
    return this.count(resource, address)
  }

  /** Counts one more, also if there are too many. */
  count(resource: string, address: string): () => void {
    this.#ofResource.add(resource, 1)
    this.#ofAddress.add(address, 1)
    return () => {
      this.#ofResource.add(resource, -1)
      this.#ofAddress.add(address, -1)
    }
  }
}

class Waiters {
  readonly #max: number
  readonly #which: string
  readonly #counts = new Map<string, number>()

  constructor(max: number, which: string) {
    this.#max = max
    this.#which = which
  }

  refuseIfFull(key: string): void {
    if ((this.#counts.get(key) ?? 0) < this.#max) return
    throw new HttpError(429, 'too_many_waiters', `${this.#max} requests ${this.#which} wait already`, {
      headers: { 'Retry-After': String(RETRY_AFTER_S) },
    })
  }

  add(key: string, change: 1 | -1): void {
    const count = (this.#counts.get(key) ?? 0) + change
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
  }
}
