import { onAbort, Stop } from './abort.ts'
import type { Clock } from './clock.ts'
import { LeaseError, withTrouble } from './errors.ts'

/** The longest that a store may take to answer one call, unless `callTimeout` says otherwise. */
export const CALL_TIMEOUT_MS = 5000

export interface AnswerLimit {
  readonly clock: Clock
  /** Milliseconds. A function is called again when that time has passed: the call may have got more time. */
  readonly ms: number | (() => number)
  /** Ends it early: it rejects with this reason. */
  readonly stop?: Stop | AbortSignal | undefined
  readonly resource?: string
  /** Why the store may be silent: see `HoldingStore`. */
  readonly trouble?: (() => Error | undefined) | undefined
}

/** The answer of a store, or `store-unavailable` after some time. The call itself continues. */
export function answerWithin<T>(
  answer: Promise<T>,
  { clock, ms, stop, resource, trouble }: AnswerLimit,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const started = clock.monotonic()
    let unlisten = () => {}
    let cancel = () => {}
    const wait = (left: number) => {
      cancel = clock.setTimer(() => {
        const more = typeof ms === 'number' ? 0 : ms()
        if (more > 0) return wait(more)
        const silent = `no answer from the store within ${Math.ceil(clock.monotonic() - started)} ms`
        end(withTrouble(new LeaseError('store-unavailable', silent, { resource }), trouble?.()))
      }, left)
    }
    wait(typeof ms === 'number' ? ms : ms())
    const end = (reason: unknown) => {
      cancel()
      unlisten()
      reject(reason)
    }
    if (stop instanceof Stop) stop.listen(end)
    else unlisten = onAbort(stop, () => end(stop?.reason))
    answer.then((value) => {
      cancel()
      unlisten()
      resolve(value)
    }, end)
  })
}
