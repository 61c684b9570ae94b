import type { Stop } from './abort.ts'
import type { Clock } from './clock.ts'
import { LeaseError } from './errors.ts'

/** The longest that a store may take to answer one call, unless `callTimeout` says otherwise. */
export const CALL_TIMEOUT_MS = 5000

/**
 * A timer that is later than this shows that the process was blocked or stopped. While a cold process loads code, it
 * can neither send a request nor receive its answer, so that time does not count.
 */
export const BLOCKED_MS = 500

export interface Asked {
  readonly clock: Clock
  /** Adds to the error why the store may be silent: see `HoldingStore`. */
  readonly store?: { explain?(error: LeaseError): LeaseError }
}

/**
 * The answer of a store, or `store-unavailable` after `ms`. `stop` ends it early: it rejects with that reason. The call
 * itself continues.
 */
export function answerWithin<T>(
  answer: Promise<T>,
  ms: number,
  { clock, store }: Asked,
  resource?: string,
  stop?: Stop,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let cancel = () => {}
    const wait = (left: number) => {
      const due = clock.monotonic() + left
      cancel = clock.setTimer(() => {
        const late = clock.monotonic() - due
        if (late > BLOCKED_MS) return wait(Math.min(late, left))
        const message = `no answer from the store within ${Math.ceil(ms)} ms`
        const error = new LeaseError('store-unavailable', message, { resource })
        reject(store?.explain?.(error) ?? error)
      }, left)
    }
    wait(ms)
    stop?.listen((reason) => {
      cancel()
      reject(reason)
    })
    answer.then(resolve, reject).then(() => cancel())
  })
}
