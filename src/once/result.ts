/**
 * The result of a job for everybody who asks: the first caller runs the work, later ones get the stored result, and
 * callers at the same time wait for it. If the worker dies meanwhile, one of those that wait runs the work.
 */
import { onAbort } from '../base/abort.ts'
import { expectFunction } from '../base/arguments.ts'
import { isRetryable, LeaseError } from '../base/errors.ts'
import { POLL_BEHIND_PUSH_MS } from '../base/options.ts'
import { backoffMs } from '../base/pause.ts'
import type { JsonValue } from '../base/records.ts'
import { WakeSignal } from '../base/wake-signal.ts'
import { fingerprintOf } from './fingerprint.ts'
import { expectId } from './job-arguments.ts'
import type { JobRefusal } from './job-store.ts'
import { checkResultOptions, type ResultOptions } from './options.ts'
import { type JobWork, type RunContext, runJob } from './run.ts'

export interface StoredResult<T> {
  /** Whether this call has run the work. */
  readonly ran: boolean
  /** As JSON has it, also if this call has run the work. */
  readonly result: T
}

export async function resultOf<T>(
  context: RunContext,
  id: string,
  work: JobWork<T>,
  options: ResultOptions,
): Promise<StoredResult<T>> {
  const { jobs, clock, closing, defaults } = context
  expectId(id)
  expectFunction('work', work)
  const { payload, keepMs, waitMs, keepsFailures, run } = checkResultOptions(options, defaults)
  const terms = { create: { fingerprint: await fingerprintOf(payload), keepMs }, keepsFailures }
  let isStarted = false
  const started: JobWork<T> = (job) => {
    isStarted = true
    return work(job)
  }

  const until = clock.monotonic() + waitMs
  const left = () => Math.max(0, until - clock.monotonic())
  const wakeSignal = new WakeSignal(clock)
  const stop = new AbortController()
  const unfollow = [closing, run.signal].map((source) => onAbort(source, () => stop.abort(source?.reason)))
  let unwatch: (() => void) | undefined
  try {
    for (let tries = 1; ; tries++) {
      wakeSignal.reset()
      const ended = await runJob(context, { id, work: started, options: run, terms }).catch((error) => {
        // The answer of the store may come in time for the next question. The work itself is never repeated here.
        if (isStarted || !isRetryable(error) || left() < 1) throw error
      })
      if (ended?.ran) return { ran: true, result: ended.json as T }
      if (ended) {
        const { refusal } = ended
        if (refusal.reason !== 'locked') return { ran: false, result: storedResult(id, refusal) as T }
        if (left() < 1) throw notFinished(id, waitMs)
      }
      unwatch ??= jobs.watch?.(id, () => wakeSignal.wake())
      const pauseMs = unwatch && ended ? POLL_BEHIND_PUSH_MS : backoffMs(clock, tries)
      // When the lock of a dead worker has ended, this caller takes over.
      const lockMs = ended ? (ended.refusal.remaining ?? Infinity) : Infinity
      await wakeSignal.sleep(Math.min(pauseMs, lockMs, left()), stop.signal)
    }
  } catch (error) {
    // An error of the work is passed on as it is.
    if (isStarted) throw error
    closing.throwIfAborted()
    if (stop.signal.aborted && error === stop.signal.reason)
      throw new LeaseError('aborted', `the wait for job ${id} was aborted`, { resource: id, cause: error })
    throw error
  } finally {
    unwatch?.()
    for (const end of unfollow) end()
  }
}

function storedResult(id: string, { reason, job }: JobRefusal): JsonValue {
  if (reason === 'payload_mismatch')
    throw new LeaseError(
      'payload-mismatch',
      `job ${id} was started with another payload: use another id for another request`,
      { resource: id },
    )
  if (!job || job.error !== null)
    throw new LeaseError('job-failed', `job ${id} has failed: ${job?.error ?? 'too many attempts'}`, {
      resource: id,
    })
  return job.result
}

function notFinished(id: string, waitMs: number): LeaseError {
  return new LeaseError('not-finished', `job ${id} is still running elsewhere after a wait of ${waitMs} ms`, {
    resource: id,
  })
}
