import { type Clock, LeaseError } from '../core/index.ts'

/** The longest that a store of jobs may take over one answer. */
const ANSWER_LIMIT_MS = 10_000

/** Ends with the work, when the signal aborts (with its reason), or when the limit is over. The work goes on. */
export function answered<T>(clock: Clock, work: Promise<T>, signal: AbortSignal): Promise<T> {
  return settling<T>(signal, (resolve, reject) => {
    work.then(resolve, reject)
    return clock.setTimer(
      () =>
        reject(new LeaseError('store-unavailable', `no answer from the store within ${ANSWER_LIMIT_MS} ms`)),
      ANSWER_LIMIT_MS,
    )
  })
}

/** Sleeps for `ms`, or until it is woken. Rejects with the reason of the signal when that aborts. */
export function sleep(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  onWake: (wake: () => void) => void = () => {},
): Promise<void> {
  return settling<void>(signal, (resolve) => {
    onWake(resolve)
    return clock.setTimer(resolve, ms)
  })
}

/** Milliseconds before the next try: 50, doubled up to 2 s, ± 20 %. */
export function backoff(clock: Clock, tries: number): number {
  return Math.min(2000, 50 * 2 ** (tries - 1)) * (0.8 + 0.4 * clock.random())
}

export function isRetryable(error: unknown): boolean {
  return (Object(error) as { readonly retryable?: unknown }).retryable === true
}

function settling<T>(
  signal: AbortSignal,
  start: (resolve: (value: T) => void, reject: (reason: unknown) => void) => () => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const onAbort = () => settle(reject)(signal.reason)
    const settle =
      <V>(end: (value: V) => void) =>
      (value: V) => {
        cancel()
        signal.removeEventListener('abort', onAbort)
        end(value)
      }
    signal.addEventListener('abort', onAbort)
    const cancel = start(settle(resolve), settle(reject))
  })
}
