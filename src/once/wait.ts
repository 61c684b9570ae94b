import { onAbort } from '../base/abort.ts'
import { expectOptions, expectSignal } from '../base/arguments.ts'
import { type Duration, expectDuration } from '../base/duration.ts'
import { isRetryable, LeaseError } from '../base/errors.ts'
import { backoffMs } from '../base/pause.ts'
import { WakeSignal } from '../base/wake-signal.ts'
import { expectId, notFound } from './job-arguments.ts'
import type { Job } from './job-store.ts'
import { answerOfJobs, type RunContext } from './run.ts'

/** A push may be lost, so a waiter reads the job again after this long in any case. */
const POLL_BEHIND_PUSH_MS = 5000

export interface WaitOptions {
  /** How long to wait; `Infinity` never gives up. Default 60 s. */
  readonly timeout?: Duration | undefined
  readonly signal?: AbortSignal | undefined
}

export async function waitForJob(
  context: Pick<RunContext, 'jobs' | 'clock' | 'callTimeout' | 'closing'>,
  id: string,
  options: WaitOptions,
): Promise<Job> {
  const { jobs, clock, closing } = context
  expectId(id)
  expectOptions(options, { timeout: 1, signal: 1 })
  const { timeout = 60_000, signal } = options
  const timeoutMs = timeout === Infinity ? timeout : expectDuration('timeout', timeout, 0)
  if (signal !== undefined) expectSignal('signal', signal)
  const giveUpAt = clock.monotonic() + timeoutMs
  const wakeSignal = new WakeSignal(clock)
  const stop = new AbortController()
  const unfollow = [
    onAbort(closing, () => stop.abort(closing.reason)),
    onAbort(signal, () => {
      stop.abort(new LeaseError('aborted', `the wait for job ${id} was aborted`, { cause: signal?.reason }))
    }),
  ]
  let unwatch: (() => void) | undefined
  try {
    stop.signal.throwIfAborted()
    unwatch = jobs.watch?.(id, () => wakeSignal.wake())
    for (let tries = 1; ; tries++) {
      wakeSignal.reset()
      const job = await read()
      if (job?.finished) return job
      const left = giveUpAt - clock.monotonic()
      if (left <= 0)
        throw new LeaseError('lease-held', `job ${id} did not finish within ${timeoutMs} ms`, {
          resource: id,
        })
      const pauseMs = unwatch && job ? POLL_BEHIND_PUSH_MS : backoffMs(clock, tries)
      await wakeSignal.sleep(Math.min(pauseMs, left), stop.signal)
    }
  } finally {
    unwatch?.()
    for (const end of unfollow) end()
  }

  /** `undefined`: the store did not answer this time. */
  async function read(): Promise<Job | undefined> {
    try {
      const job = await answerOfJobs(context, jobs.read(id), stop.signal, id)
      if (!job) throw notFound(id)
      return job
    } catch (error) {
      if (isRetryable(error) && clock.monotonic() < giveUpAt) return undefined
      throw error
    }
  }
}
