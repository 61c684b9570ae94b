import { answerWithin } from '../base/answer-within.ts'
import { asLeaseError } from '../base/errors.ts'
import { pause } from '../base/pause.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { About, Context } from './context.ts'
import type { CheckedOptions } from './options.ts'

/**
 * Releases whatever the store keeps for this id. Retries until the store has answered or the time is over. Resolves
 * with the state in which the lease ended, if there was one. After a failed try the lease may be gone because that
 * try released it and only its answer was lost, so it counts as released.
 */
export async function releaseInTime(
  context: Context,
  about: About,
  { ttl, retry }: Pick<CheckedOptions, 'ttl' | 'retry'>,
): Promise<LeaseRecord['state'] | undefined> {
  const { clock, store, callTimeout, emit } = context
  const { resource, id } = about
  const inTime = () => clock.monotonic() + Math.min(callTimeout, ttl)
  let giveUpAt = inTime()
  for (let failures = 0; ; ) {
    try {
      // The time counts from when the request first leaves. The store limits the time of what it has sent.
      const queued = (waits: boolean) => {
        if (!failures) giveUpAt = waits ? Infinity : inTime()
      }
      const call = store.release({ resource, id }, { timeout: callTimeout, queued })
      const { ended } = await answerWithin(call, giveUpAt - clock.monotonic(), context, resource)
      return failures ? 'released' : ended?.state
    } catch (cause) {
      const error = asLeaseError(cause, resource)
      const pauseMs = retry(++failures)
      giveUpAt = Math.min(giveUpAt, inTime())
      emit(about, { type: 'error', operation: 'release', error })
      if (!error.retryable || pauseMs === null || clock.monotonic() + pauseMs >= giveUpAt) throw error
      await pause(clock, pauseMs)
      // The pause may have taken longer.
      if (clock.monotonic() >= giveUpAt) throw error
    }
  }
}
