import { bounded, CALL_LIMIT_MS } from './bounded.ts'
import type { Context } from './context.ts'
import { asLeaseError } from './errors.ts'
import type { LeaseRecord } from './lease.ts'
import type { Wish } from './options.ts'

/**
 * Tells the store that this id wants nothing any more; tries again until it knows or the time is over. Resolves
 * with how the lease ended, if it was there. After a failure it may be gone because an earlier call ended it and
 * its answer was lost, so then it counts as released.
 */
export async function releaseInTime(
  context: Context,
  id: string,
  wish: Wish,
): Promise<LeaseRecord['state'] | undefined> {
  const { clock, store, emit } = context
  const { resource, owner } = wish
  const giveUpAt = clock.monotonic() + Math.min(CALL_LIMIT_MS, wish.ttl)
  for (let failures = 0; ; ) {
    try {
      const call = store.release({ resource, id })
      const { ended } = await bounded(clock, call, giveUpAt - clock.monotonic(), resource)
      return failures ? 'released' : ended?.state
    } catch (cause) {
      const error = asLeaseError(cause, resource)
      const pause = wish.retry(++failures)
      emit({ resource, owner, id }, { type: 'error', operation: 'release', error })
      if (!error.retryable || pause === null || clock.monotonic() + pause >= giveUpAt) throw error
      await new Promise<void>((resolve) => clock.setTimer(resolve, pause))
    }
  }
}
