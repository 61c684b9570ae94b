import type { Stop } from './abort.ts'
import type { Clock } from './clock.ts'
import { LeaseError } from './errors.ts'
import { ANSWER_LIMIT_TICKS } from './options.ts'

export interface Asked {
  readonly clock: Pick<Clock, 'setTimer'>
  /** Adds to the error why the store may be silent: see `HoldingStore`. */
  readonly store?: { explain?(error: LeaseError): LeaseError }
}

/**
 * The answer of a store, or `store-unavailable` after `ms`. No timer is needed if the store limits the call: then `ms` is
 * `Infinity`, or the call was made with `stop`, which says so. `stop` ends it early: it rejects with that reason. The call
 * itself continues.
 *
 * Three layers limit calls. This one is for a caller whose store may have no limit. `stores/local/calls.ts` has one timer
 * for all calls of a store, and ends them when the store closes. `answer-limit.ts` is for connections, which several
 * callers share.
 */
export function answerWithin<T>(
  answer: Promise<T>,
  ms: number,
  { clock, store }: Asked,
  resource?: string,
  stop?: Stop,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let ticksLeft = ANSWER_LIMIT_TICKS
    let cancel = () => {}
    const fail = (error: unknown) => {
      cancel()
      reject(error)
    }
    const tick = () => {
      if (ticksLeft-- > 0) cancel = clock.setTimer(tick, ms / ANSWER_LIMIT_TICKS)
      else fail(noAnswer(store, `no answer within ${Math.ceil(ms)} ms`, resource))
    }
    if (ms < Infinity && !(stop?.limited && ms === stop.timeout)) tick()
    stop?.listen(fail)
    answer.then((value) => {
      cancel()
      resolve(value)
    }, fail)
  })
}

export function noAnswer(store: Asked['store'], message: string, resource?: string): LeaseError {
  const error = new LeaseError('store-unavailable', message, { resource })
  return store?.explain?.(error) ?? error
}

/**
 * Waits until the work has settled, at most this long. The process stays alive meanwhile, although sockets and timers
 * that the work waits for need not keep it alive.
 */
export async function settledWithin(
  work: Promise<unknown>,
  ms: number,
  clock: Pick<Clock, 'setTimer'>,
): Promise<void> {
  await answerWithin(work, ms, { clock }).catch(() => {})
}
