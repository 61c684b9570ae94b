import { onAbort, Stop } from '../base/abort.ts'
import { answerWithin } from '../base/answer-within.ts'
import { expectBoolean, expectOptions, expectSignal } from '../base/arguments.ts'
import type { Clock } from '../base/clock.ts'
import { type Duration, expectDuration, expectHeartbeat, expectTtl } from '../base/duration.ts'
import { isRetryable, LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { backoffMs, pauseUntilAborted } from '../base/pause.ts'
import type { JsonValue } from '../base/records.ts'
import { createLeases, type Lease, type LeaseListener } from '../core/index.ts'
import { expectAttempts } from './job-arguments.ts'
import { jobLock, type OnWarning, releaseOrWarn } from './job-lock.ts'
import type { Job, JobRefusal, JobStore, KeptResult, Outcome, SkipReason } from './job-store.ts'

/** Shared by all runs of one `once`. */
export interface RunContext {
  readonly jobs: JobStore
  readonly clock: Clock
  readonly worker: string | undefined
  /** Milliseconds. */
  readonly callTimeout: number
  readonly onEvent: LeaseListener | undefined
  readonly onWarning: OnWarning | undefined
  /** Aborts when `once` is closed. */
  readonly closing: AbortSignal
  /** `once.close()` waits for this work. */
  readonly track: (work: Promise<unknown>) => void
}

export interface RunOptions {
  /** How long the lock lives without a heartbeat. Default 300 s. */
  readonly ttl?: Duration | undefined
  /** The time between heartbeats, or `false` for none. Default: three tenths of the TTL, which is 90 s. */
  readonly heartbeat?: Duration | false | undefined
  /** How long one call to the job store may take. Default: that of `createOnce`. */
  readonly callTimeout?: Duration | undefined
  /** After this many attempts that did not finish, the job is finished as failed. Default: no limit. */
  readonly maxAttempts?: number | undefined
  /** Adds the job first, if it does not exist. Default false: a job that does not exist is `not-found`. */
  readonly add?: boolean | undefined
  /** Asks the work to stop. If the work then throws, the job is left for another run. */
  readonly signal?: AbortSignal | undefined
}

/** What the work gets to know about its job. */
export interface RunningJob {
  readonly id: string
  /** Rises with every attempt. Pass it to what the work writes to, so that a late write is refused there. */
  readonly token: number
  /** Counted from 1. Above 1, an earlier worker died, lost its lock, or threw a retryable error. */
  readonly attempt: number
  /** Aborts when the lock is lost, the caller's signal aborts, or `once` is closed. */
  readonly signal: AbortSignal
  /**
   * Writes the result of the job in your own database transaction, so that your effect and the result are stored
   * together or not at all. Rejects with `lease-lost` if the lock is not live any more: let the transaction fail then.
   * Resolves with `result`. Its transaction is a client of `pg`, the `sql` of `sql.begin`, a connection of `mysql2`, a
   * database of `node:sqlite` (where it throws at once) or the transaction of Firestore.
   *
   * @example
   * await sql.begin(async (tx) => {
   *   await tx`insert into payments (amount) values (${amount})`
   *   await complete(tx, { paid: amount })
   * })
   */
  complete<R>(tx: object, result: R): Promise<R>
}

export type JobWork<T> = (job: RunningJob) => T | PromiseLike<T>

export type RunResult<T> =
  | { readonly ran: true; readonly result: T }
  /** `job`: as it is stored, with its result or error; `null` if it could not be read. */
  | { readonly ran: false; readonly reason: SkipReason; readonly job: Job | null }

const TTL_MS = 300_000
const MAX_ERROR_LENGTH = 10_000

/** `RunOptions` with every default filled in and every value checked. Times in milliseconds. */
export interface CheckedRunOptions extends RunOptions {
  readonly ttl: number
  readonly heartbeat: number | false
  readonly callTimeout: number | undefined
}

/** `others`: more names of options that are allowed, and not checked here. */
export function checkRunOptions(options: RunOptions, others: Record<string, 1> = {}): CheckedRunOptions {
  const known = { ttl: 1, heartbeat: 1, maxAttempts: 1, signal: 1, callTimeout: 1, add: 1 } as const
  expectOptions(options, { ...known, ...others })
  const { maxAttempts, signal, callTimeout, add = false } = options
  const ttl = expectTtl(options.ttl ?? TTL_MS)
  const heartbeat = options.heartbeat ?? Math.floor(ttl * 0.3)
  expectAttempts(maxAttempts)
  if (signal !== undefined) expectSignal('signal', signal)
  expectBoolean('add', add)
  return {
    ttl,
    heartbeat: heartbeat === false ? false : expectHeartbeat(heartbeat, ttl),
    callTimeout: callTimeout === undefined ? undefined : expectDuration('callTimeout', callTimeout, 1),
    maxAttempts,
    signal,
    add,
  }
}

/** How a run of `once.result` differs from one of `once.run`. */
export interface ResultTerms {
  readonly create: KeptResult
  /** An error of the work is the outcome of the job. Otherwise the job is left for another run. */
  readonly keepsFailures: boolean
}

/** What became of a run. `json`: the result as it is stored. */
export type Ended<T> =
  | { readonly ran: true; readonly result: T; readonly json: JsonValue }
  | { readonly ran: false; readonly refusal: JobRefusal }

export async function runJob<T>(
  context: RunContext,
  id: string,
  work: JobWork<T>,
  options: CheckedRunOptions,
  terms?: ResultTerms,
): Promise<Ended<T>> {
  const { jobs, clock, worker, onEvent, onWarning, closing, track } = context
  const { ttl, heartbeat, maxAttempts, signal, add, callTimeout = context.callTimeout } = options
  jobs.allow?.(callTimeout)
  const lock = jobLock(jobs, id, { worker, maxAttempts, create: terms?.create })
  const leases = createLeases(lock.store, { clock, ttl, heartbeat, callTimeout, onEvent })
  const stop = new AbortController()
  // Not `AbortSignal.any`, which would leave a trace of each run in a signal that outlives it.
  const follow = (source?: AbortSignal) => onAbort(source, () => stop.abort(source?.reason))
  const unfollow = [follow(closing), follow(signal)]
  try {
    if (add) await ask(jobs.add(id))
    const lease = await acquire()
    if (!lease) return { ran: false, refusal: lock.refusal ?? { granted: false, reason: 'locked' } }
    try {
      follow(lease.signal)
      return { ran: true, ...(await runLocked(lease)) }
    } finally {
      await releaseOrWarn(() => lease.release(), `job ${id}`, onWarning)
    }
  } finally {
    for (const end of unfollow) end()
    track(leases.close())
  }

  function ask<Answer>(answer: Promise<Answer>): Promise<Answer> {
    return answerOfJobs({ jobs, clock, callTimeout }, answer, stop.signal, id)
  }

  async function acquire(): Promise<Lease | null> {
    try {
      return await leases.tryAcquire(id, { signal: stop.signal })
    } catch (error) {
      if ((error as LeaseError).code === 'aborted') closing.throwIfAborted()
      throw error
    }
  }

  async function runLocked(lease: Lease): Promise<{ result: T; json: JsonValue }> {
    const attempt = lock.grant?.attempt ?? 1
    /** What the work has written in its transaction, if it has. */
    let written: { result: T; json: JsonValue } | undefined
    let result: T
    let json: JsonValue
    try {
      result = await work({ id, token: lease.token, attempt, signal: stop.signal, complete })
      json = written ? null : asJson(result)
    } catch (error) {
      if (written && (await isCommitted(lease, error))) {
        notify(onWarning ?? console.warn, `the work of job ${id} threw after its result was committed`, error)
        return written
      }
      if (!lease.held) throw lost(error)
      // The transaction has failed, not the job.
      if (written) throw error
      // A worker that was asked to stop leaves the job to another one. That is not a failure of the job.
      const isFailure = !isRetryable(error) && !stop.signal.aborted && terms?.keepsFailures !== false
      if (isFailure) await finish(lease, { error: textOf(error) }, error)
      throw error
    }
    if (written) {
      if (await isCommitted(lease)) return written
      throw lease.held ? notCommitted() : lost(undefined)
    }
    try {
      await finish(lease, { result: json })
    } catch (error) {
      // A result that the store never accepts must not make the job run again and again.
      if ((error as LeaseError).code === 'store-failed') await finish(lease, { error: textOf(error) }, error)
      throw error
    }
    return { result, json }

    function complete<R>(tx: object, given: R): Promise<R> {
      if (!lease.held) throw lost(undefined)
      const outcome = { result: asJson(given) }
      const accept = (isWritten: boolean) => {
        if (!isWritten) throw lost(undefined)
        written = { result: given as unknown as T, json: outcome.result }
        return given
      }
      const answer = lock.complete(tx, lease, outcome)
      // At once for a synchronous transaction, which is to fail before it is committed.
      return typeof answer === 'boolean' ? Promise.resolve(accept(answer)) : answer.then(accept)
    }
  }

  /**
   * Whether the transaction of the application was committed. Only the record can tell: its COMMIT may have succeeded
   * although its answer was lost. Retries while the lock lives.
   */
  async function isCommitted(lease: Lease, cause?: unknown): Promise<boolean> {
    const { signal: never } = new AbortController()
    const answerOf = (answer: Promise<boolean>) =>
      answerOfJobs({ jobs, clock, callTimeout }, answer, never, id)
    for (let tries = 1; ; tries++) {
      try {
        if (await answerOf(lock.completed(lease))) return true
        // If the lock is in the record, the transaction is rolled back: this waits for one that is still open.
        if (await answerOf(lock.release(lease))) return false
        return await answerOf(lock.completed(lease))
      } catch (error) {
        if (!lease.held || !isRetryable(error))
          throw new LeaseError(
            'outcome-unknown',
            `job ${id}: its result was written in a transaction, and the store does not say whether that was committed`,
            { resource: id, cause: cause ?? error },
          )
      }
      await pauseUntilAborted(clock, backoffMs(clock, tries), lease.signal).catch(() => {})
    }
  }

  /** Retries until the outcome is written or the lock is lost. Heartbeats continue meanwhile. */
  async function finish(lease: Lease, outcome: Outcome, cause?: unknown): Promise<void> {
    for (let tries = 1; lease.held; tries++) {
      try {
        const finishing = lock.finish(lease, outcome)
        if (await answerOfJobs({ jobs, clock, callTimeout }, finishing, lease.signal, id)) return
        break
      } catch (error) {
        if (lease.held && !isRetryable(error)) throw error
      }
      await pauseUntilAborted(clock, backoffMs(clock, tries), lease.signal).catch(() => {})
    }
    throw lost(cause)
  }

  function notCommitted(): LeaseError {
    return new LeaseError(
      'not-finished',
      `job ${id}: the transaction of complete was not committed when the work ended, so the job is left for another run`,
      { resource: id },
    )
  }

  function lost(cause: unknown): LeaseError {
    return new LeaseError('lease-lost', `the lock of job ${id} was lost before its outcome was written`, {
      resource: id,
      cause,
    })
  }
}

/** The answer of the job store. If there is none, the error says why, as far as the store knows. */
export function answerOfJobs<T>(
  { jobs, clock, callTimeout }: Pick<RunContext, 'jobs' | 'clock' | 'callTimeout'>,
  answer: Promise<T>,
  signal: AbortSignal,
  resource: string,
): Promise<T> {
  const stop = new Stop()
  const unlisten = onAbort(signal, () => stop.abort(signal.reason))
  return answerWithin(answer, callTimeout, { clock, store: jobs }, resource, stop).finally(unlisten)
}

/** A copy, as the store would return it. */
function asJson(result: unknown): JsonValue {
  const text = JSON.stringify(result ?? null)
  if (text === undefined) throw new TypeError(`expected a result that JSON can carry, got a ${typeof result}`)
  return JSON.parse(text)
}

/**
 * Without the stack, because others can read it. Every store must be able to store it, because a job whose failure
 * cannot be written would run again and again: Postgres has no NUL, Firestore and etcd have limits.
 */
function textOf(error: unknown): string {
  try {
    return String(error).slice(0, MAX_ERROR_LENGTH).toWellFormed().replaceAll('\0', '\ufffd')
  } catch {
    return 'an error that cannot be shown'
  }
}
