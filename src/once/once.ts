import { type Clock, LeaseError, type LeaseListener, systemClock } from '../core/index.ts'
import { expectCallback, expectName, refuse } from './checks.ts'
import type { Job, JobStore } from './job-store.ts'
import { answered } from './patience.ts'
import { type RunContext, type RunOptions, type RunResult, runJob, type Work } from './run.ts'
import type { OnWarning } from './telling.ts'
import { type WaitOptions, waitForJob } from './wait.ts'

export interface OnceOptions {
  /** Stands in a job's record before the id of the run, for whoever looks there: a host, a process. */
  readonly worker?: string
  /** Hears what happens to the locks. */
  readonly onEvent?: LeaseListener
  /** Hears of releases that failed. Default: `console.warn`. */
  readonly onWarning?: OnWarning
  readonly clock?: Clock
}

export interface Once extends AsyncDisposable {
  /**
   * Runs `work` unless the job is finished or another runs it, and writes its outcome if the lock is still held.
   * A skip is no error. Rejects with what `work` throws: an error with `retryable === true` leaves the job for
   * another run, any other is written as its failure. Rejects with `lease-lost` when the outcome was refused.
   *
   * @example
   * const run = await once.run('analysis-42', async ({ token, signal }) => analyse(token, signal))
   * if (!run.ran) console.log(`skipped: ${run.reason}`)
   */
  run<T>(id: string, work: Work<T>, options?: RunOptions): Promise<RunResult<T>>
  /** Resolves with the job when it is finished, whoever finishes it; rejects with `lease-held` after `timeout`. */
  wait(id: string, options?: WaitOptions): Promise<Job>
  /** The job as it is now. */
  read(id: string): Promise<Job | null>
  /** Asks all works to stop, waits until they have, and ends every wait. The store stays open: it is yours. */
  close(): Promise<void>
}

/**
 * Runs each job once, however often it is delivered and to however many workers.
 *
 * @example
 * const once = createOnce(firestoreJobs(new Firestore()))
 * await once.run('analysis-42', async ({ signal }) => analyse(signal))
 */
export function createOnce(jobs: JobStore, options: OnceOptions = {}): Once {
  const { worker, onEvent, onWarning, clock = systemClock } = options
  if (typeof jobs?.acquire !== 'function') refuse('jobs', 'a JobStore', jobs)
  if (worker !== undefined) expectName('worker', worker)
  expectCallback('onEvent', onEvent)
  expectCallback('onWarning', onWarning)
  const closing = new AbortController()
  const underWay = new Set<Promise<unknown>>()
  const context: RunContext = { jobs, clock, worker, onEvent, onWarning, closing: closing.signal, track }

  const once: Once = {
    async run(id, work, runOptions = {}) {
      closing.signal.throwIfAborted()
      return track(runJob(context, id, work, runOptions))
    },
    async wait(id, waitOptions = {}) {
      return waitForJob(context, id, waitOptions)
    },
    async read(id) {
      return answered(clock, jobs.read(id), closing.signal)
    },
    async close() {
      closing.abort(new LeaseError('closed', 'this once was closed'))
      // A run that ends may leave a release behind it.
      while (underWay.size > 0) await Promise.allSettled(underWay)
    },
    [Symbol.asyncDispose]: () => once.close(),
  }
  return once

  function track<T>(work: Promise<T>): Promise<T> {
    underWay.add(work)
    const done = () => underWay.delete(work)
    work.then(done, done)
    return work
  }
}
