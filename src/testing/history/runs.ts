/** One start of the work of a job, and what its worker knows about the end of it. */
export interface JobRun {
  readonly job: string
  readonly worker: string
  readonly token: number
  readonly start: number
  /** When the work returned, or its worker was told to stop or died. `Infinity`: it still runs. */
  workEnd: number
  /** When the outcome was acknowledged. `Infinity`: it was not. */
  finished: number
}

/**
 * One run for each job: no work begins while another one runs or after an acknowledged end, no two outcomes are
 * acknowledged, and tokens rise.
 */
export function runViolations(runs: readonly JobRun[], jobs: readonly string[]): string[] {
  const byJob = Map.groupBy(runs, ({ job }) => job)
  return jobs.flatMap((job) => violationsOf(job, byJob.get(job) ?? []))
}

function violationsOf(job: string, runs: readonly JobRun[]): string[] {
  const found: string[] = []
  const ordered = runs.toSorted((a, b) => a.start - b.start)
  for (const [at, run] of ordered.entries())
    for (const earlier of ordered.slice(0, at)) {
      if (earlier.workEnd > run.start)
        found.push(`${run.worker} began ${job} while ${earlier.worker} worked on it`)
      if (earlier.finished <= run.start)
        found.push(`${run.worker} began ${job}, which ${earlier.worker} had finished`)
      if (earlier.token >= run.token)
        found.push(`${run.worker} began ${job} with token ${run.token}, after ${earlier.token}`)
    }
  const finished = ordered.filter((run) => run.finished < Infinity)
  if (finished.length > 1)
    found.push(
      `${job} was finished ${finished.length} times: by ${finished.map(({ worker }) => worker).join(', ')}`,
    )
  return found
}

/** The lock of a job, as the store knows it. */
export interface JobLockTime {
  readonly job: string
  readonly token: number
  readonly from: number
  /** When it ended: it was released, or its last extension ran out. */
  to: number
}

/** An outcome that was stored: with its job, and with the effect of its transaction. */
export interface JobOutcome {
  readonly job: string
  readonly token: number
  readonly at: number
}

/** One outcome for each job, written by the holder of the last token while its lock was live. */
export function outcomeViolations(locks: readonly JobLockTime[], outcomes: readonly JobOutcome[]): string[] {
  return outcomes.flatMap((outcome, n) => {
    const { job, token, at } = outcome
    const ofJob = locks.filter((lock) => lock.job === job && lock.from <= at)
    const isLive = ofJob.some((lock) => lock.token === token && at <= lock.to)
    const higher = ofJob.find((lock) => lock.token > token)
    const earlier = outcomes.slice(0, n).find((other) => other.job === job)
    return [
      ...(isLive ? [] : [`the outcome of ${job} was written with token ${token}, whose lock was not live`]),
      ...(higher ? [`the outcome of ${job} was written with token ${token} after ${higher.token}`] : []),
      ...(earlier ? [`the outcome of ${job} was written twice: with ${earlier.token} and ${token}`] : []),
    ]
  })
}
