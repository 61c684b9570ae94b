import type { Moment } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import { HEARTBEATS_PER_TTL } from '../../base/options.ts'
import { createOnce, type JobStore } from '../../once/index.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure, usageFailure } from '../failure.ts'
import type { RunSignals } from '../signals.ts'
import { signalExitCode } from '../signals.ts'
import { later, now } from './countdown.ts'
import type { RunOptions } from './options.ts'
import type { Report } from './report.ts'
import { type SupervisedLease, type Supervision, supervise } from './supervise.ts'

export interface OnceRun extends Pick<Supervision, 'command'>, Pick<RunOptions, 'ttl' | 'graceMs' | 'owner'> {
  readonly id: string
  readonly keep: number
  /** Milliseconds. */
  readonly wait: number
  readonly signals: RunSignals
  readonly report: Report
}

/**
 * Runs the command unless the job with this id is done, and records that it is done if it ends with 0. The lock of the
 * job is what the lease is for other runs: before it ends, the command is dead.
 */
export async function runOnce(jobs: JobStore | undefined, run: OnceRun): Promise<number> {
  const { id, ttl, keep, wait, signals, report, command, graceMs, owner } = run
  if (!jobs) throw usageFailure('--once: expected a store of sqlite, postgres, mysql, redis or etcd')
  const expiry = trackJobExpiry(jobs)
  await using once = createOnce(expiry.jobs, {
    worker: owner,
    onEvent: (event) => report.event(event),
    onWarning: (_, error) => report.unreleased(error),
  })
  const work = async (job: Omit<SupervisedLease, 'resource'>): Promise<0> => {
    const code = await supervise(
      { ...job, id: crypto.randomUUID(), resource: id },
      {
        ...{ command, graceMs, ttlMs: ttl, signals },
        onExtended: expiry.onExtended,
        onEnding: (signal) => report.ending(signal, graceMs),
        onUnguarded: report.unguarded,
      },
    )
    if (code !== 0) throw new Unfinished(code)
    return code
  }
  try {
    const options = {
      ttl,
      heartbeat: Math.floor(ttl / HEARTBEATS_PER_TTL),
      keep,
      wait,
      signal: signals.endOfWait,
    }
    const { ran } = await once.result(id, work, options)
    if (!ran) report.skipped(id)
    return EXIT.ok
  } catch (error) {
    if (error instanceof Unfinished) return error.code
    if (signals.endOfWait.aborted) return signalExitCode(signals.endOfWait.reason)
    if (LeaseError.is(error, 'not-finished'))
      throw new Failure(EXIT.held, `${error.message}; --wait waits longer for it`, { cause: error })
    throw error
  }
}

/** The command has ended with another code than 0, so the job is not done. */
class Unfinished extends Error {
  readonly code: number

  constructor(code: number) {
    super(`the command ended with ${code}`)
    this.code = code
  }
}

/** As `trackExpiry`, for the lock of a job. */
function trackJobExpiry(jobs: JobStore) {
  let until: Moment | undefined
  let listener: ((until: Moment) => void) | undefined
  const extend = (sentAt: Moment, ttlMs: number, remaining: number) => {
    until = later(sentAt, Math.min(ttlMs, remaining))
    listener?.(until)
  }
  return {
    onExtended(added: (until: Moment) => void) {
      listener = added
      if (until) listener(until)
    },
    jobs: {
      ...jobs,
      async acquire(id, owner, ttlMs, options) {
        const sentAt = now()
        const answer = await jobs.acquire(id, owner, ttlMs, options)
        if (answer.granted) extend(sentAt, ttlMs, answer.remaining)
        return answer
      },
      async refresh(id, owner, ttlMs) {
        const sentAt = now()
        const time = await jobs.refresh(id, owner, ttlMs)
        if (time) extend(sentAt, ttlMs, time.remaining)
        return time
      },
    } satisfies JobStore,
  }
}
