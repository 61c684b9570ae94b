import type { Stop } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'

/** The longest that a store may take to answer one call. */
export const CALL_LIMIT_MS = 5000

/** Ends with the work, after `ms`, or by `stop`, whichever is first. The work itself continues. */
export function bounded<T>(
  clock: Clock,
  work: Promise<T>,
  ms: number,
  resource: string,
  stop?: Stop,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const cancel = clock.setTimer(() => {
      reject(
        new LeaseError('store-unavailable', `the store was silent for ${Math.ceil(ms)} ms`, { resource }),
      )
    }, ms)
    stop?.listen(reject)
    work.then(resolve, reject).then(cancel)
  })
}
