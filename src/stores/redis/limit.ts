import { LeaseError } from '../../core/index.ts'

/** The longest that an answer may take, also through a client that keeps commands while it is offline. */
export const LIMIT_MS = 5000

/** Ends with the work, after the limit, or when the signal aborts. */
export function inTime<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(abortError(signal))
    const timer = setTimeout(() => reject(silenceError()), LIMIT_MS)
    const settle = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
    if (signal?.aborted) onAbort()
    signal?.addEventListener('abort', onAbort)
    work.then(resolve, reject).then(settle)
  })
}

export function silenceError(): LeaseError {
  return new LeaseError('store-unavailable', `Redis gave no answer within ${LIMIT_MS} ms`)
}

export function abortError(signal: AbortSignal | undefined): LeaseError {
  return new LeaseError('aborted', 'the call to Redis was aborted', { cause: signal?.reason })
}
