import {
  type Clock,
  createLeases,
  type JsonValue,
  type Lease,
  LeaseError,
  type LeaseListener,
} from '../core/index.ts'
import { expectAttempts, expectId, expectSignal, refuse } from './checks.ts'
import { type JobLock, jobLock } from './job-lock.ts'
import type { JobStore, Outcome, SkipReason } from './job-store.ts'
import { linkSignals } from './linked-signal.ts'
import { answered, backoff, isRetryable, sleep } from './patience.ts'
import { type OnWarning, releaseOrWarn } from './telling.ts'

/** What all runs of one `once` share. */
export interface RunContext {
  readonly jobs: JobStore
  readonly clock: Clock
  readonly worker: string | undefined
  readonly onEvent: LeaseListener | undefined
  readonly onWarning: OnWarning | undefined
  /** Aborts when `once` is closed. */
  readonly closing: AbortSignal
  /** Keeps what nobody waits for until `once` is closed. */
  readonly track: (work: Promise<unknown>) => void
}

export interface RunOptions {
  /** Milliseconds that the lock lives without a heartbeat. Default 300 000. */
  readonly ttl?: number
  /** Milliseconds between heartbeats, or `false` for none. Default: three tenths of the TTL, 90 000. */
  readonly heartbeat?: number | false
  /** After so many attempts that did not end, the job is finished as failed. Default: no limit. */
  readonly maxAttempts?: number | undefined
  /** Asks the work to stop. If it then throws, the job is left for another run. */
  readonly signal?: AbortSignal | undefined
}

/** What the work is told of its job. */
export interface RunningJob {
  readonly id: string
  /** Rises with every attempt: hand it to what the work writes to, so that a late one is refused there. */
  readonly token: number
  /** Counted from 1. Above 1, an earlier worker died, lost its lock, or failed in a way that may pass. */
  readonly attempt: number
  /** Aborts when the lock is lost, the caller's signal aborts, or `once` is closed. */
  readonly signal: AbortSignal
}

export type Work<T> = (job: RunningJob) => T | PromiseLike<T>

export type RunResult<T> =
  | { readonly ran: true; readonly result: T }
  | { readonly ran: false; readonly reason: SkipReason }

const TTL_MS = 300_000
const heartbeatOf = (ttl: number) => Math.floor(ttl * 0.3)

/** Throws for options with which no run can start. A manager that is never asked is the core's own check of them. */
export function checkRunOptions({
  ttl = TTL_MS,
  heartbeat = heartbeatOf(ttl),
  maxAttempts,
}: RunOptions): void {
  expectAttempts(maxAttempts)
  createLeases(new Promise(() => {}), { ttl, heartbeat })
}

export async function runJob<T>(
  context: RunContext,
  id: string,
  work: Work<T>,
  { ttl = TTL_MS, heartbeat = heartbeatOf(ttl), maxAttempts, signal }: RunOptions,
): Promise<RunResult<T>> {
  const { jobs, clock, worker, onEvent, onWarning, closing, track } = context
  expectId(id)
  expectAttempts(maxAttempts)
  if (typeof work !== 'function') refuse('work', 'a function', work)
  expectSignal(signal)
  const lock = jobLock(jobs, id, { worker, maxAttempts })
  const leases = createLeases(lock.store, { clock, ttl, heartbeat, ...(onEvent && { onEvent }) })
  const { signal: stop, unlink } = linkSignals(closing, signal)
  try {
    const lease = await leases.tryAcquire(id, { signal: stop })
    if (!lease) return { ran: false, reason: lock.refusal?.reason ?? 'locked' }
    try {
      return { ran: true, result: await runLocked(lease, lock) }
    } finally {
      await releaseOrWarn(() => lease.release(), `job ${id}`, onWarning)
    }
  } finally {
    unlink()
    track(leases.close())
  }

  async function runLocked(lease: Lease, { grant }: JobLock): Promise<T> {
    const job: RunningJob = {
      id,
      token: lease.token,
      attempt: grant?.attempt ?? 1,
      signal: linkSignals(lease.signal, stop).signal,
    }
    let result: T
    let json: JsonValue
    try {
      result = await work(job)
      json = asJson(result)
    } catch (error) {
      if (!lease.held) throw lost(error)
      // A worker that is told to stop leaves the job to another; that is no failure of the job.
      if (!isRetryable(error) && !stop.aborted) await finish(lease, { error: describe(error) }, error)
      throw error
    }
    try {
      await finish(lease, { result: json })
    } catch (error) {
      // A result that the store will never take must not make the job run for ever.
      if ((error as LeaseError).code === 'store-failed')
        await finish(lease, { error: describe(error) }, error)
      throw error
    }
    return result
  }

  /** Tries until the outcome is written or the lock is lost; the heartbeat goes on meanwhile. */
  async function finish(lease: Lease, outcome: Outcome, cause?: unknown): Promise<void> {
    for (let tries = 1; lease.held; tries++) {
      try {
        if (await answered(clock, lock.finish(lease, outcome), lease.signal)) return
        break
      } catch (error) {
        if (!isRetryable(error)) throw error
        await sleep(clock, backoff(clock, tries), lease.signal)
      }
    }
    throw lost(cause)
  }

  function lost(cause: unknown): LeaseError {
    return new LeaseError('lease-lost', `the lock of job ${id} was lost before its outcome was written`, {
      resource: id,
      cause,
    })
  }
}

/** What the store is given is what it would give back. */
function asJson(result: unknown): JsonValue {
  const text = JSON.stringify(result ?? null)
  if (text === undefined) throw new TypeError(`expected a result that JSON can carry, got a ${typeof result}`)
  return JSON.parse(text)
}

/** Without the stack: others read it. */
function describe(error: unknown): string {
  try {
    return String(error)
  } catch {
    return 'an error that cannot be shown'
  }
}
