import type { Clock } from './clock.ts'
import { LeaseError } from './errors.ts'
import type { CallOptions } from './store.ts'

/** The longest that a store may take over one answer. */
export const CALL_LIMIT_MS = 5000

/** Why somebody is to wait no longer, once that is so. An `AbortController` is made only for who asks for the signal. */
export class Stop implements CallOptions {
  reason: LeaseError | undefined
  #tell: ((reason: LeaseError) => void) | undefined
  #controller: AbortController | undefined

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.reason) this.#controller.abort(this.reason)
    return this.#controller.signal
  }

  abort(reason: LeaseError): void {
    this.reason ??= reason
    this.#controller?.abort(reason)
    this.#tell?.(reason)
  }

  /** One at a time: who listens next takes the place. */
  listen(tell: (reason: LeaseError) => void): void {
    this.#tell = tell
    if (this.reason) tell(this.reason)
  }
}

/** Ends with the work, after `ms`, or by `stop`, whichever is first. The work itself goes on. */
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

/** Runs when the signal aborts, at once if it has. Returns how to stop listening. */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (signal?.aborted) run()
  signal?.addEventListener('abort', run)
  return () => signal?.removeEventListener('abort', run)
}
