import { onAbort, Stop } from '../base/abort.ts'
import { answerWithin } from '../base/answer-within.ts'
import { isRetryable, LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { backoffMs, pauseUntilAborted } from '../base/pause.ts'
import type { JsonValue } from '../base/records.ts'
import { createLeases, type Lease, type Leases } from '../core/index.ts'
import { JobLock, releaseOrWarn } from './job-lock.ts'
import type { Job, JobRefusal, JobStore, KeptResult, Outcome, SkipReason } from './job-store.ts'
import { type CheckedOnceOptions, type CheckedRunOptions, MAX_ERROR_LENGTH } from './options.ts'

/** Shared by all runs of one `once`. */
export interface RunContext extends CheckedOnceOptions {
  readonly jobs: JobStore
  /** Aborts when `once` is closed. */
  readonly closing: AbortSignal
  /** `once.close()` waits for this work. */
  readonly track: (work: Promise<unknown>) => void
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

/** One run of a job. */
export interface JobToRun<T> {
  readonly id: string
  readonly work: JobWork<T>
  readonly options: CheckedRunOptions
  readonly terms?: ResultTerms
}

export function runJob<T>(context: RunContext, job: JobToRun<T>): Promise<Ended<T>> {
  return new JobRun(context, job).run()
}

interface Finished<T> {
  readonly result: T
  readonly json: JsonValue
}

class JobRun<T> {
  readonly #context: RunContext
  readonly #job: JobToRun<T>
  readonly #callTimeout: number
  readonly #lock: JobLock
  readonly #stop = new AbortController()
  /** What the work has written in its transaction, if it has. */
  #written: Finished<T> | undefined

  constructor(context: RunContext, job: JobToRun<T>) {
    const { jobs, worker } = context
    const { id, options, terms } = job
    this.#context = context
    this.#job = job
    this.#callTimeout = options.callTimeout ?? context.callTimeout
    this.#lock = new JobLock(jobs, id, { worker, maxAttempts: options.maxAttempts, create: terms?.create })
  }

  async run(): Promise<Ended<T>> {
    const { jobs, clock, onEvent, onWarning, closing, track } = this.#context
    const { id, options } = this.#job
    const callTimeout = this.#callTimeout
    jobs.allow?.(callTimeout)
    const { ttl, heartbeat } = options
    const leases = createLeases(this.#lock, { clock, ttl, heartbeat, callTimeout, onEvent })
    const unfollow = [this.#follow(closing), this.#follow(options.signal)]
    try {
      const lease = await this.#acquire(leases)
      if (!lease) return { ran: false, refusal: this.#lock.refusal ?? { granted: false, reason: 'locked' } }
      try {
        this.#follow(lease.signal)
        return { ran: true, ...(await this.#runLocked(lease)) }
      } finally {
        await releaseOrWarn(() => lease.release(), `job ${id}`, onWarning)
      }
    } finally {
      for (const end of unfollow) end()
      track(leases.close())
    }
  }

  /** Not `AbortSignal.any`, which would leave a trace of each run in a signal that outlives it. */
  #follow(source: AbortSignal | undefined): () => void {
    return onAbort(source, () => this.#stop.abort(source?.reason))
  }

  #ask<Answer>(answer: Promise<Answer>, signal: AbortSignal): Promise<Answer> {
    const { jobs, clock } = this.#context
    return answerOfJobs({ jobs, clock, callTimeout: this.#callTimeout }, answer, signal, this.#job.id)
  }

  async #acquire(leases: Leases): Promise<Lease | null> {
    const { jobs, closing } = this.#context
    const { id, options } = this.#job
    const { signal } = this.#stop
    try {
      if (options.add) await this.#ask(jobs.add(id), signal)
      return await leases.tryAcquire(id, { signal })
    } catch (error) {
      if (signal.aborted) closing.throwIfAborted()
      if (!signal.aborted || error !== signal.reason) throw error
      throw new LeaseError('aborted', `job ${id} was not started: its signal aborted`, {
        resource: id,
        cause: error,
      })
    }
  }

  async #runLocked(lease: Lease): Promise<Finished<T>> {
    const { id, work } = this.#job
    const { signal } = this.#stop
    const attempt = this.#lock.grant?.attempt ?? 1
    const complete = <R>(tx: object, result: R) => this.#complete(lease, tx, result)
    let finished: Finished<T>
    try {
      const result = await work({ id, token: lease.token, attempt, signal, complete })
      finished = { result, json: this.#written ? null : asJson(result) }
    } catch (error) {
      return this.#afterError(lease, error)
    }
    if (this.#written) {
      if (await this.#isCommitted(lease)) return this.#written
      throw lease.held ? this.#notCommitted() : this.#lost(undefined)
    }
    try {
      await this.#finish(lease, { result: finished.json })
    } catch (error) {
      // A result that the store never accepts must not make the job run again and again.
      if ((error as LeaseError).code === 'store-failed')
        await this.#finish(lease, { error: textOf(error) }, error)
      throw error
    }
    return finished
  }

  /** The work has thrown. Resolves only if its result was committed before. */
  async #afterError(lease: Lease, error: unknown): Promise<Finished<T>> {
    const { onWarning } = this.#context
    const { id, terms } = this.#job
    if (this.#written && (await this.#isCommitted(lease, error))) {
      notify(onWarning ?? console.warn, `the work of job ${id} threw after its result was committed`, error)
      return this.#written
    }
    if (!lease.held) throw this.#lost(error)
    // The transaction has failed, not the job.
    if (this.#written) throw error
    // A worker that was asked to stop leaves the job to another one. That is not a failure of the job.
    const isFailure = !isRetryable(error) && !this.#stop.signal.aborted && terms?.keepsFailures !== false
    if (isFailure) await this.#finish(lease, { error: textOf(error) }, error)
    throw error
  }

  #complete<R>(lease: Lease, tx: object, given: R): Promise<R> {
    if (!lease.held) throw this.#lost(undefined)
    const outcome = { result: asJson(given) }
    const accept = (isWritten: boolean) => {
      if (!isWritten) throw this.#lost(undefined)
      this.#written = { result: given as unknown as T, json: outcome.result }
      return given
    }
    const answer = this.#lock.complete(tx, lease, outcome)
    // At once for a synchronous transaction, which is to fail before it is committed.
    return typeof answer === 'boolean' ? Promise.resolve(accept(answer)) : answer.then(accept)
  }

  /**
   * Whether the transaction of the application was committed. Only the record can tell: its COMMIT may have succeeded
   * although its answer was lost. Retries while the lock lives.
   */
  async #isCommitted(lease: Lease, cause?: unknown): Promise<boolean> {
    const { clock } = this.#context
    const { id } = this.#job
    const { signal: never } = new AbortController()
    for (let tries = 1; ; tries++) {
      try {
        if (await this.#ask(this.#lock.completed(lease), never)) return true
        // If the lock is in the record, the transaction is rolled back: this waits for one that is still open.
        if (await this.#ask(this.#lock.remove(lease), never)) return false
        return await this.#ask(this.#lock.completed(lease), never)
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
  async #finish(lease: Lease, outcome: Outcome, cause?: unknown): Promise<void> {
    const { clock } = this.#context
    for (let tries = 1; lease.held; tries++) {
      try {
        if (await this.#ask(this.#lock.finish(lease, outcome), lease.signal)) return
        break
      } catch (error) {
        if (lease.held && !isRetryable(error)) throw error
      }
      await pauseUntilAborted(clock, backoffMs(clock, tries), lease.signal).catch(() => {})
    }
    throw this.#lost(cause)
  }

  #notCommitted(): LeaseError {
    const { id } = this.#job
    return new LeaseError(
      'not-finished',
      `job ${id}: the transaction of complete was not committed when the work ended, so the job is left for another run`,
      { resource: id },
    )
  }

  #lost(cause: unknown): LeaseError {
    const { id } = this.#job
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
