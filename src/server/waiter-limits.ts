import type { Settings } from '../configuration/settings.ts'
import { HttpError } from './http/http-error.ts'
import type { RouteRequest } from './http/route.ts'

const RETRY_AFTER_S = 5

type WaitingRequest = Pick<RouteRequest<unknown>, 'room' | 'limitKey' | 'isLong'>

/** Counts the requests that stay open at this node, by room and by client address. */
export class WaiterLimits {
  readonly #ofRoom: OpenRequests
  readonly #ofAddress: OpenRequests

  constructor({ maxWaiters, maxWaitersOfAddress }: Pick<Settings, 'maxWaiters' | 'maxWaitersOfAddress'>) {
    this.#ofRoom = new OpenRequests(maxWaiters, 'for this document')
    this.#ofAddress = new OpenRequests(maxWaitersOfAddress, 'from your address')
  }

  /** Runs the work as a request that waits, or refuses it. */
  async run<T>(request: WaitingRequest, work: () => Promise<T>): Promise<T> {
    request.isLong = true
    const leaveRoom = this.#ofRoom.enter(request.room)
    try {
      const leaveAddress = this.#ofAddress.enter(request.limitKey)
      try {
        return await work()
      } finally {
        leaveAddress()
      }
    } finally {
      leaveRoom()
    }
  }
}

class OpenRequests {
  readonly #max: number
  readonly #which: string
  readonly #counts = new Map<string, number>()

  constructor(max: number, which: string) {
    this.#max = max
    this.#which = which
  }

  enter(key: string): () => void {
    const count = this.#counts.get(key) ?? 0
    if (count >= this.#max)
      throw new HttpError(429, 'too_many_waiters', `${this.#max} requests ${this.#which} wait already`, {
        headers: { 'Retry-After': String(RETRY_AFTER_S) },
      })
    this.#counts.set(key, count + 1)
    return () => {
      const left = (this.#counts.get(key) ?? 1) - 1
      if (left > 0) this.#counts.set(key, left)
      else this.#counts.delete(key)
    }
  }
}
