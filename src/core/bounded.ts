import type { Clock } from './clock.ts'
import { LeaseError } from './errors.ts'

/** The longest that a store may take over one answer. */
export const CALL_LIMIT_MS = 5000

export interface Bounds {
  readonly ms: number
  readonly stop?: AbortSignal
  /** What the work is about, for the error. */
  readonly resource?: string
}

/** Ends with the work, after `ms`, or when `stop` aborts, whichever is first. The work itself goes on. */
export function bounded<T>(clock: Clock, work: Promise<T>, { ms, stop, ...about }: Bounds): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onStop = () => reject(stop?.reason)
    const cancel = clock.setTimer(() => {
      reject(
        new LeaseError('store-unavailable', `the store gave no answer within ${Math.ceil(ms)} ms`, about),
      )
    }, ms)
    const settle = () => {
      cancel()
      stop?.removeEventListener('abort', onStop)
    }
    stop?.addEventListener('abort', onStop)
    if (stop?.aborted) onStop()
    work.then(resolve, reject).then(settle, settle)
  })
}
