import { orAborted } from './abort.ts'
import type { Clock } from './clock.ts'
import { LeaseError } from './errors.ts'

/**
 * The answer of a store. Rejects with `store-unavailable` after `ms`, and with the signal's reason if that aborts
 * first. The call itself continues.
 */
export function answerWithin<T>(
  clock: Clock,
  ms: number,
  answer: Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  let cancel = () => {}
  const limit = new Promise<never>((_, reject) => {
    const late = new LeaseError('store-unavailable', `no answer from the store within ${ms} ms`)
    cancel = clock.setTimer(() => reject(late), ms)
  })
  return orAborted(Promise.race([answer, limit]), signal).finally(cancel)
}
