import { type Clock, LeaseError } from '../core/index.ts'
import { expectId, expectSignal, notFound, refuse } from './checks.ts'
import type { Job, JobStore } from './job-store.ts'
import { linkSignals } from './linked-signal.ts'
import { answered, backoff, isRetryable, sleep } from './patience.ts'

/** A push may be lost; a waiter looks again after this long. */
const LOOK_BEHIND_PUSH_MS = 5000

export interface WaitOptions {
  /** Milliseconds; `Infinity` never gives up. Default 60 000. */
  readonly timeout?: number
  readonly signal?: AbortSignal
}

interface WaitContext {
  readonly jobs: JobStore
  readonly clock: Clock
  readonly closing: AbortSignal
}

export async function waitForJob(
  { jobs, clock, closing }: WaitContext,
  id: string,
  { timeout = 60_000, signal }: WaitOptions,
): Promise<Job> {
  expectId(id)
  if (!(timeout >= 0)) refuse('timeout', 'milliseconds from 0', timeout)
  expectSignal(signal)
  const { signal: stop, unlink } = linkSignals(closing, signal)
  const until = clock.monotonic() + timeout
  // Rings latch: one that comes while a look is under way must not be slept through.
  let rung = false
  let wake = () => {}
  const unwatch = jobs.watch?.(id, () => {
    rung = true
    wake()
  })
  try {
    for (let looks = 1; ; looks++) {
      rung = false
      const job = await look()
      if (job?.finished) return job
      const left = until - clock.monotonic()
      if (left <= 0) throw new LeaseError('lease-held', `job ${id} did not end in time`, { resource: id })
      const pause = unwatch && job ? LOOK_BEHIND_PUSH_MS : backoff(clock, looks)
      if (!rung) await sleep(clock, Math.min(pause, left), stop, (ring) => (wake = ring))
    }
  } catch (error) {
    if (!stop.aborted || error !== stop.reason) throw error
    closing.throwIfAborted()
    throw new LeaseError('aborted', `waiting for job ${id} was aborted`, { cause: stop.reason })
  } finally {
    unwatch?.()
    unlink()
  }

  /** `undefined` when the store did not answer this time. */
  async function look(): Promise<Job | undefined> {
    let job: Job | null
    try {
      job = await answered(clock, jobs.read(id), stop)
    } catch (error) {
      if (isRetryable(error) && clock.monotonic() < until) return undefined
      throw error
    }
    if (!job) throw notFound(id)
    return job
  }
}
