import { answerWithin } from '../base/answer-within.ts'
import { expectFunction, expectOptions, expectText, hasMethods, refuseClient } from '../base/arguments.ts'
import { backendOf } from '../base/backend-of.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { type Duration, expectDuration } from '../base/duration.ts'
import { LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { CALL_TIMEOUT_MS } from '../base/options.ts'
import type { LeaseListener } from '../core/index.ts'
import { expectId } from './job-arguments.ts'
import type { OnWarning } from './job-lock.ts'
import { JOB_STORE_METHODS, type Job, type JobStore, type SkipReason } from './job-store.ts'
import { type ResultOptions, resultOf, type StoredResult } from './result.ts'
import {
  answerOfJobs,
  checkRunOptions,
  type JobWork,
  type RunContext,
  type RunOptions,
  type RunResult,
  runJob,
} from './run.ts'
import { type WaitOptions, waitForJob } from './wait.ts'

/** How long `close` waits at least for requests of which nobody waits for the answer any more. */
const CLOSE_LIMIT_MS = 10_000
/** How often a process that keeps results deletes old ones, and how many with one request. */
const SWEEP_EVERY_MS = 600_000
const SWEEP_AT_ONCE = 1000

export interface OnceOptions {
  /** Written before the id of the run in a job's record, such as a host or a process. */
  readonly worker?: string | undefined
  /** Listens to the events of the locks. */
  readonly onEvent?: LeaseListener | undefined
  /** How long one call to the job store may take. A short TTL does not shorten it. Default 5 s. */
  readonly callTimeout?: Duration | undefined
  /** Called if a lock could not be released. Default: `console.warn`. */
  readonly onWarning?: OnWarning | undefined
  readonly clock?: Clock | undefined
}

export interface Once extends AsyncDisposable {
  /** Adds a job that is to be run. An existing job stays as it is. */
  add(id: string): Promise<void>
  /**
   * Runs `work` unless the job is finished or another worker runs it, and writes its outcome if the lock is still
   * held. A skip is not an error. Rejects with what `work` throws: an error with `retryable === true` leaves the job
   * for another run, any other error is written as the failure of the job. Rejects with `lease-lost` if the lock was
   * lost before the outcome was written.
   *
   * @throws `not-found`, `lease-lost`, `aborted`
   *
   * @example
   * const run = await once.run('invoice-42', async ({ token, signal }) => send(token, signal))
   * if (!run.ran) console.log(`skipped: ${run.reason}`, run.job?.result)
   */
  run<T>(id: string, work: JobWork<T>, options?: RunOptions): Promise<RunResult<T>>
  /**
   * The result of the job: the first caller runs `work`, later ones get its stored result, and callers at the same time
   * wait for it. The job need not be added before. Rejects with `payload-mismatch` if the job was started with another
   * `payload`, with `not-finished` after `wait`, and with `job-failed` if a failure was kept.
   *
   * @throws `payload-mismatch`, `not-finished`, `job-failed`, `lease-lost`, `aborted`
   *
   * @example
   * const { result, ran } = await once.result(`payment:${key}`, () => charge(order), { payload: order })
   */
  result<T>(id: string, work: JobWork<T>, options?: ResultOptions): Promise<StoredResult<T>>
  /**
   * Deletes jobs whose results are no longer kept. Resolves with their number. `result` does that by itself from time
   * to time.
   */
  sweep(): Promise<number>
  /**
   * Resolves with the job when it is finished, by any worker. Rejects with `not-finished` after `wait`.
   *
   * @throws `not-found`, `not-finished`, `aborted`
   */
  wait(id: string, options?: WaitOptions): Promise<Job>
  /** The job as it is now; `null` if it does not exist. */
  read(id: string): Promise<Job | null>
  /**
   * Ends every wait, aborts the signal of every work and waits until all of them have ended. The store stays open:
   * it is yours.
   */
  close(): Promise<void>
}

/**
 * Runs each job once, however often a queue delivers it and to however many workers.
 *
 * @example
 * const once = createOnce(firestoreJobs(new Firestore()))
 * await once.run('invoice-42', async ({ signal }) => send(signal))
 */
export function createOnce(jobs: JobStore, options: OnceOptions = {}): Once {
  if (!hasMethods(jobs, ...JOB_STORE_METHODS))
    refuseClient(
      'jobs',
      `a JobStore such as ${factoryFor(jobs)} (with ${JOB_STORE_METHODS.join(', ')})`,
      jobs,
    )
  expectOptions(options, { worker: 1, callTimeout: 1, onEvent: 1, onWarning: 1, clock: 1 })
  const { worker, onEvent, onWarning, clock = systemClock } = options
  if (worker !== undefined) expectText('worker', worker)
  if (onEvent !== undefined) expectFunction('onEvent', onEvent)
  if (onWarning !== undefined) expectFunction('onWarning', onWarning)
  const callTimeout = expectDuration('callTimeout', options.callTimeout ?? CALL_TIMEOUT_MS, 1)
  jobs.allow?.(callTimeout)
  const closing = new AbortController()
  const underWay = new Set<Promise<unknown>>()
  const requests = new Set<Promise<unknown>>()
  const context: RunContext = {
    jobs: following(jobs, (request) => addTo(requests, request)),
    clock,
    worker,
    callTimeout,
    onEvent,
    onWarning,
    closing: closing.signal,
    track: (work) => addTo(underWay, work),
  }

  async function sweep(): Promise<number> {
    const { jobs } = context
    if (!jobs.sweep) return 0
    let total = 0
    for (let swept = SWEEP_AT_ONCE; swept === SWEEP_AT_ONCE; total += swept)
      swept = await answerOfJobs(context, jobs.sweep(SWEEP_AT_ONCE), closing.signal, '')
    return total
  }

  let nextSweep = clock.monotonic() + SWEEP_EVERY_MS
  function sweepSometimes(): void {
    if (clock.monotonic() < nextSweep || closing.signal.aborted) return
    nextSweep = clock.monotonic() + SWEEP_EVERY_MS
    const warn = (error: unknown) => notify(onWarning ?? console.warn, 'old jobs could not be deleted', error)
    addTo(underWay, sweep().catch(warn))
  }

  const once: Once = {
    async add(id) {
      closing.signal.throwIfAborted()
      expectId(id)
      return answerOfJobs(context, context.jobs.add(id), closing.signal, id)
    },
    async run(id, work, runOptions = {}) {
      closing.signal.throwIfAborted()
      expectId(id)
      expectFunction('work', work)
      const ended = await addTo(underWay, runJob(context, id, work, checkRunOptions(runOptions)))
      if (ended.ran) return { ran: true, result: ended.result }
      const { reason, job } = ended.refusal
      // A skip is not an error, also if the job cannot be read after it.
      return { ran: false, reason: reason as SkipReason, job: job ?? (await once.read(id).catch(() => null)) }
    },
    async result(id, work, resultOptions = {}) {
      closing.signal.throwIfAborted()
      try {
        return await addTo(underWay, resultOf(context, id, work, resultOptions))
      } finally {
        sweepSometimes()
      }
    },
    async sweep() {
      closing.signal.throwIfAborted()
      return sweep()
    },
    async wait(id, waitOptions = {}) {
      closing.signal.throwIfAborted()
      return waitForJob(context, id, waitOptions)
    },
    async read(id) {
      closing.signal.throwIfAborted()
      expectId(id)
      return answerOfJobs(context, context.jobs.read(id), closing.signal, id)
    },
    async close() {
      closing.abort(new LeaseError('closed', 'this once was closed'))
      // A run that ends may start a release.
      await settled(underWay)
      // A client such as Firestore's must not be closed before it has answered.
      await answerWithin(settled(requests), Math.max(CLOSE_LIMIT_MS, callTimeout), { clock }).catch(() => {})
    },
    [Symbol.asyncDispose]: () => once.close(),
  }
  return once
}

/** The same jobs. Each request is passed to `follow`. */
function following(jobs: JobStore, follow: <T>(request: Promise<T>) => Promise<T>): JobStore {
  return {
    kind: jobs.kind,
    add: (...args) => follow(jobs.add(...args)),
    acquire: (...args) => follow(jobs.acquire(...args)),
    refresh: (...args) => follow(jobs.refresh(...args)),
    finish: (...args) => follow(jobs.finish(...args)),
    ...(jobs.complete && { complete: (...args) => (jobs as Required<JobStore>).complete(...args) }),
    ...(jobs.completed && {
      completed: (...args) => follow((jobs as Required<JobStore>).completed(...args)),
    }),
    release: (...args) => follow(jobs.release(...args)),
    read: (...args) => follow(jobs.read(...args)),
    ...(jobs.sweep && { sweep: (...args) => follow((jobs as Required<JobStore>).sweep(...args)) }),
    ...(jobs.watch && { watch: (...args) => (jobs as Required<JobStore>).watch(...args) }),
    allow: (callTimeout) => jobs.allow?.(callTimeout),
    explain: (error) => jobs.explain?.(error) ?? error,
  }
}

/** Also what begins meanwhile: a late answer may be followed by a release. */
async function settled(works: Set<Promise<unknown>>): Promise<void> {
  while (works.size > 0) await Promise.allSettled(works)
}

function addTo<T>(set: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
  set.add(work)
  const done = () => set.delete(work)
  work.then(done, done)
  return work
}

/** How to make a job store of the client, the address or the lease store that was given instead of one. */
function factoryFor(value: unknown): string {
  const { kind = backendOf(value) } = Object(value) as { readonly kind?: string }
  return kind && ['etcd', 'firestore', 'mysql', 'postgres', 'redis', 'sqlite'].includes(kind)
    ? `${kind}Jobs(client)`
    : 'memoryJobs()'
}
