import { bounded, CALL_LIMIT_MS } from './bounded.ts'
import type { Context } from './context.ts'
import { asLeaseError } from './errors.ts'
import type { LeaseRecord } from './lease.ts'
import type { Wish } from './options.ts'

export interface Released {
  readonly ended: LeaseRecord | null
  /** After a failure, nothing may have been ended because an earlier call did it and its answer was lost. */
  readonly failures: number
}

/** Tells the store that this id wants nothing any more; tries again until it knows or the time is over. */
export async function releaseInTime(context: Context, id: string, wish: Wish): Promise<Released> {
  const { clock, store, emit } = context
  const { resource, owner } = wish
  const giveUpAt = clock.monotonic() + Math.min(CALL_LIMIT_MS, wish.ttl)
  for (let failures = 0; ; ) {
    try {
      const call = store.release({ resource, id })
      const { ended } = await bounded(clock, call, { ms: giveUpAt - clock.monotonic(), resource })
      return { ended, failures }
    } catch (cause) {
      const error = asLeaseError(cause, resource)
      const pause = wish.retry(++failures)
      emit({ resource, owner, id }, { type: 'error', operation: 'release', error })
      if (!error.retryable || pause === null || clock.monotonic() + pause >= giveUpAt) throw error
      await new Promise<void>((resolve) => clock.setTimer(resolve, pause))
    }
  }
}
