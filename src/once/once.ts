import { answerWithin } from '../base/answer-within.ts'
import { expectFunction, hasMethods, refuseClient } from '../base/arguments.ts'
import { backendOf } from '../base/backend-of.ts'
import { LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { expectId } from './job-arguments.ts'
import { JOB_STORE_METHODS, type Job, type JobStore, type SkipReason } from './job-store.ts'
import {
  type CheckedOnceOptions,
  CLOSE_LIMIT_MS,
  checkOnceOptions,
  checkRunOptions,
  type OnceOptions,
  type ResultOptions,
  type RunOptions,
  SWEEP_AT_ONCE,
  SWEEP_EVERY_MS,
  type WaitOptions,
} from './options.ts'
import { resultOf, type StoredResult } from './result.ts'
import { answerOfJobs, type JobWork, type RunContext, type RunResult, runJob } from './run.ts'
import { waitForJob } from './wait.ts'

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
  const checked = checkOnceOptions(options)
  jobs.allow?.(checked.callTimeout)
  const runner = new Runner(jobs, checked)
  const once: Once = {
    add: (id) => runner.add(id),
    run: (id, work, runOptions) => runner.run(id, work, runOptions),
    result: (id, work, resultOptions) => runner.result(id, work, resultOptions),
    sweep: () => runner.sweep(),
    wait: (id, waitOptions) => runner.wait(id, waitOptions),
    read: (id) => runner.read(id),
    close: () => runner.close(),
    [Symbol.asyncDispose]: () => once.close(),
  }
  return once
}

/** Behind an object of functions, which may be called without it: `const { run } = createOnce(jobs)`. */
class Runner {
  readonly #context: RunContext
  readonly #closing = new AbortController()
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #requests = new Set<Promise<unknown>>()
  #nextSweep: number

  constructor(jobs: JobStore, options: CheckedOnceOptions) {
    this.#context = {
      ...options,
      jobs: following(jobs, (request) => addTo(this.#requests, request)),
      closing: this.#closing.signal,
      track: (work) => addTo(this.#underWay, work),
    }
    this.#nextSweep = options.clock.monotonic() + SWEEP_EVERY_MS
  }

  async add(id: string): Promise<void> {
    this.#expectOpen()
    expectId(id)
    return this.#answerOf(this.#context.jobs.add(id), id)
  }

  async run<T>(id: string, work: JobWork<T>, runOptions: RunOptions = {}): Promise<RunResult<T>> {
    this.#expectOpen()
    expectId(id)
    expectFunction('work', work)
    const options = checkRunOptions(runOptions, this.#context.defaults)
    const ended = await addTo(this.#underWay, runJob(this.#context, { id, work, options }))
    if (ended.ran) return { ran: true, result: ended.result }
    const { reason, job } = ended.refusal
    // A skip is not an error, also if the job cannot be read after it.
    return { ran: false, reason: reason as SkipReason, job: job ?? (await this.read(id).catch(() => null)) }
  }

  async result<T>(id: string, work: JobWork<T>, options: ResultOptions = {}): Promise<StoredResult<T>> {
    this.#expectOpen()
    try {
      return await addTo(this.#underWay, resultOf(this.#context, id, work, options))
    } finally {
      this.#sweepSometimes()
    }
  }

  async sweep(): Promise<number> {
    this.#expectOpen()
    const { jobs } = this.#context
    if (!jobs.sweep) return 0
    let total = 0
    for (let swept = SWEEP_AT_ONCE; swept === SWEEP_AT_ONCE; total += swept)
      swept = await this.#answerOf(jobs.sweep(SWEEP_AT_ONCE), '')
    return total
  }

  async wait(id: string, options: WaitOptions = {}): Promise<Job> {
    this.#expectOpen()
    return waitForJob(this.#context, id, options)
  }

  async read(id: string): Promise<Job | null> {
    this.#expectOpen()
    expectId(id)
    return this.#answerOf(this.#context.jobs.read(id), id)
  }

  async close(): Promise<void> {
    const { clock, callTimeout } = this.#context
    this.#closing.abort(new LeaseError('closed', 'this once was closed'))
    // A run that ends may start a release.
    await allEnded(this.#underWay)
    // A client such as Firestore's must not be closed before it has answered.
    const limitMs = Math.max(CLOSE_LIMIT_MS, callTimeout)
    await answerWithin(allEnded(this.#requests), limitMs, { clock }).catch(() => {})
  }

  #expectOpen(): void {
    this.#closing.signal.throwIfAborted()
  }

  #answerOf<T>(answer: Promise<T>, id: string): Promise<T> {
    return answerOfJobs(this.#context, answer, this.#closing.signal, id)
  }

  #sweepSometimes(): void {
    const { clock, onWarning } = this.#context
    if (clock.monotonic() < this.#nextSweep || this.#closing.signal.aborted) return
    this.#nextSweep = clock.monotonic() + SWEEP_EVERY_MS
    const warn = (error: unknown) => notify(onWarning ?? console.warn, 'old jobs could not be deleted', error)
    addTo(this.#underWay, this.sweep().catch(warn))
  }
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
async function allEnded(works: Set<Promise<unknown>>): Promise<void> {
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
