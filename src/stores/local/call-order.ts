import type { Clock } from '../../base/clock.ts'
import { RELEASE_LIMIT_MS, REQUEST_LIMIT_MS } from './options.ts'

/**
 * Whether later calls for the same resource may overtake an acquire request on its way.
 *
 * - `kept`: they cannot, or it does not matter.
 * - `awaited`: a release could. It is sent when the request was answered.
 * - `in-turn`: also another acquire request could. So these requests are sent one after the other.
 */
export type RequestOrder = 'kept' | 'awaited' | 'in-turn'

/** Keeps the calls for one resource in order. A call that finds no other under way is sent at once. */
export class CallOrder {
  readonly #clock: Clock
  /** By resource: the answer to the last acquire request that others could overtake. */
  readonly #last = new Map<string, Promise<unknown>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  request<T>(resource: string, order: RequestOrder, send: () => T | Promise<T>): T | Promise<T> {
    if (order === 'kept') return send()
    const before = order === 'in-turn' ? this.#last.get(resource) : undefined
    const answer = before ? this.#answered(before, REQUEST_LIMIT_MS).then(send) : send()
    if (!(answer instanceof Promise)) return answer
    this.#last.set(resource, answer)
    const forget = () => {
      if (this.#last.get(resource) === answer) this.#last.delete(resource)
    }
    answer.then(forget, forget)
    return answer
  }

  /** Resolves when a release may be sent; `undefined`: at once. */
  beforeRelease(resource: string): Promise<unknown> | undefined {
    const last = this.#last.get(resource)
    return last && this.#answered(last, RELEASE_LIMIT_MS)
  }

  #answered(request: Promise<unknown>, limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.setTimer(resolve, limitMs)
      const end = () => {
        cancel()
        resolve()
      }
      request.then(end, end)
    })
  }
}
