import type { Clock } from './clock.ts'
import { LeaseError } from './errors.ts'

/** The longest that a store may take over one answer. */
export const CALL_LIMIT_MS = 5000

export interface Bounds {
  readonly ms: number
  readonly stop?: AbortSignal | undefined
  /** What the work is about, for the error. */
  readonly resource?: string | undefined
}

/** Ends with the work, after `ms`, or when `stop` aborts, whichever is first. The work itself goes on. */
export function bounded<T>(clock: Clock, work: Promise<T>, { ms, stop, ...about }: Bounds): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const unlisten = onAbort(stop, () => reject(stop?.reason))
    const cancel = clock.setTimer(() => {
      reject(new LeaseError('store-unavailable', `the store was silent for ${Math.ceil(ms)} ms`, about))
    }, ms)
    const settle = () => {
      cancel()
      unlisten()
    }
    work.then(resolve, reject).then(settle)
  })
}

/** Runs when the signal aborts, at once if it has. Returns how to stop listening. */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (signal?.aborted) run()
  signal?.addEventListener('abort', run)
  return () => signal?.removeEventListener('abort', run)
}
