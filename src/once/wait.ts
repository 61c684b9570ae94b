import { onAbort } from '../base/abort.ts'
import { isRetryable, LeaseError } from '../base/errors.ts'
import { FIRST_CALL_MS, POLL_BEHIND_PUSH_MS } from '../base/options.ts'
import { backoffMs } from '../base/pause.ts'
import { WakeSignal } from '../base/wake-signal.ts'
import { expectId, notFound } from './job-arguments.ts'
import type { Job } from './job-store.ts'
import { checkWaitOptions, type WaitOptions } from './options.ts'
import { answerOfJobs, type RunContext } from './run.ts'

export async function waitForJob(
  context: Pick<RunContext, 'jobs' | 'clock' | 'callTimeout' | 'closing'>,
  id: string,
  options: WaitOptions,
): Promise<Job> {
  const { jobs, clock, callTimeout, closing } = context
  expectId(id)
  const { waitMs, signal } = checkWaitOptions(options)
  const started = clock.monotonic()
  const wakeSignal = new WakeSignal(clock)
  const stop = new AbortController()
  const unfollow = [
    onAbort(closing, () => stop.abort(closing.reason)),
    onAbort(signal, () => {
      stop.abort(new LeaseError('aborted', `the wait for job ${id} was aborted`, { cause: signal?.reason }))
    }),
  ]
  let unwatch: (() => void) | undefined
  let isAnswered = false
  try {
    stop.signal.throwIfAborted()
    unwatch = jobs.watch?.(id, () => wakeSignal.wake())
    for (let tries = 1; ; tries++) {
      wakeSignal.reset()
      const job = await read(tries > 1 ? 0 : FIRST_CALL_MS)
      if (job?.finished) return job
      const pauseMs = unwatch && job ? POLL_BEHIND_PUSH_MS : backoffMs(clock, tries)
      await wakeSignal.sleep(Math.min(pauseMs, left()), stop.signal)
      if (left() === 0)
        throw new LeaseError(
          'not-finished',
          `job ${id} did not finish within ${waitMs} ms: ${progressOf(job)}`,
          { resource: id },
        )
    }
  } finally {
    unwatch?.()
    for (const end of unfollow) end()
  }

  /** `undefined`: the store did not answer this time. */
  async function read(atLeastMs: number): Promise<Job | undefined> {
    const limit = waitMs ? Math.min(callTimeout, Math.max(left(), atLeastMs)) : callTimeout
    try {
      const job = await answerOfJobs({ ...context, callTimeout: limit }, jobs.read(id), stop.signal, id)
      if (!job) throw notFound(id)
      isAnswered = true
      return job
    } catch (error) {
      if (isRetryable(error) && (isAnswered || left() > 0)) return undefined
      throw error
    }
  }

  /** Less than a millisecond counts as zero: a timer that fired slightly early must not cause a useless read. */
  function left(): number {
    const rest = waitMs - (clock.monotonic() - started)
    return rest < 1 ? 0 : rest
  }
}

function progressOf(job: Job | undefined): string {
  if (!job) return 'the store did not answer the last read'
  const { attempts, status } = job
  if (attempts === 0) return 'no worker has started it'
  return `started ${attempts} ${attempts === 1 ? 'time' : 'times'}, status ${status}`
}
