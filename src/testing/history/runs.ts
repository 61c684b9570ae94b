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
