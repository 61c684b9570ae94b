import type { Stop } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'

/** The longest that a store may take to answer one call. */
export const CALL_LIMIT_MS = 5000

/**
 * Ends with the work, after `ms`, or by `stop`, whichever is first. The work itself continues. If `ms` is a function, it
 * is asked again when that time has passed: the work may have got more time.
 */
export function bounded<T>(
  clock: Clock,
  work: Promise<T>,
  ms: number | (() => number),
  resource: string,
  stop?: Stop,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const started = clock.monotonic()
    let cancel: () => void
    const wait = (left: number) => {
      cancel = clock.setTimer(() => {
        const more = typeof ms === 'number' ? 0 : ms()
        if (more > 0) return wait(more)
        const silent = Math.ceil(clock.monotonic() - started)
        reject(new LeaseError('store-unavailable', `the store was silent for ${silent} ms`, { resource }))
      }, left)
    }
    wait(typeof ms === 'number' ? ms : ms())
    stop?.listen(reject)
    work.then(resolve, reject).then(() => cancel())
  })
}
