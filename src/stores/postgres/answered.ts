import { LeaseError, systemClock } from '../../core/index.ts'

/** A driver may try for ever to connect, and a server may have stopped. */
export const ANSWER_LIMIT_MS = 5000

/** Ends with the work, when the signal aborts, or when the limit is over. The work itself goes on. */
export function answered<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal?.aborted) return Promise.reject(abortError(signal))
  return new Promise<T>((resolve, reject) => {
    const giveUp = (error: LeaseError) => {
      settle()
      reject(error)
    }
    const onAbort = () => giveUp(abortError(signal))
    const onLimit = () =>
      giveUp(new LeaseError('store-unavailable', `Postgres gave no answer within ${ANSWER_LIMIT_MS} ms`))
    const cancel = systemClock.setTimer(onLimit, ANSWER_LIMIT_MS)
    const settle = () => {
      cancel()
      signal?.removeEventListener('abort', onAbort)
    }
    signal?.addEventListener('abort', onAbort)
    work().then(resolve, reject).then(settle, settle)
  })
}

function abortError(signal: AbortSignal | undefined): LeaseError {
  return new LeaseError('aborted', 'the call to Postgres was aborted', { cause: signal?.reason })
}
