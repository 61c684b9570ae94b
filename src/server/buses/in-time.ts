import { LeaseError, systemClock } from '../../core/index.ts'

const LIMIT_MS = 5000

/** Ends with `store-unavailable` when the work fails, or takes too long. */
export async function inTime<T>(work: () => T | PromiseLike<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const cancel = systemClock.setTimer(
    () => late.reject(new LeaseError('store-unavailable', 'bus: no answer in time')),
    LIMIT_MS,
  )
  try {
    return await Promise.race([(async () => work())(), late.promise])
  } catch (error) {
    if (error instanceof LeaseError) throw error
    const message = error instanceof Error ? error.message : String(error)
    throw new LeaseError('store-unavailable', `bus: ${message}`, { cause: error })
  } finally {
    cancel()
  }
}
