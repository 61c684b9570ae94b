import { answerWithin } from '../base/answer-within.ts'
import { asLeaseError } from '../base/errors.ts'
import { pause } from '../base/pause.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { About, Context } from './context.ts'
import type { CheckedOptions } from './options.ts'
import type { CallOptions } from './store.ts'

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
  const left = () => giveUpAt - clock.monotonic()
  for (let failures = 0; ; ) {
    try {
      const call: CallOptions = {
        timeout: left(),
        // The time counts from when the request first leaves. The store limits the time of what it has sent.
        queued(waits) {
          if (!failures) giveUpAt = waits ? Infinity : inTime()
        },
      }
      const answer = store.release({ resource, id }, call)
      const { ended } = await answerWithin(answer, call.limited ? Infinity : left(), context, resource)
      return failures ? 'released' : ended?.state
    } catch (cause) {
      const error = asLeaseError(cause, resource)
      const pauseMs = retry(++failures)
      giveUpAt = Math.min(giveUpAt, inTime())
      emit(about, { type: 'error', operation: 'release', error })
      if (!error.retryable || pauseMs === null || pauseMs >= left()) throw error
      await pause(clock, pauseMs)
      // The pause may have taken longer.
      if (left() <= 0) throw error
    }
  }
}
