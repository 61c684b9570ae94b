/** A process that has just started runs one job, and prints how that ended. `argv`: the store, its table, the job. */
import { openJobs } from '../../examples/job-worker/open-jobs.ts'
import { createOnce } from '../../src/once/index.ts'

const WORK_MS = 3000

const [, , url = '', table = '', id = ''] = process.argv
const { jobs } = await openJobs(url, table)
const started = performance.now()
const outcome = await createOnce(jobs)
  .run(id, () => new Promise((resolve) => setTimeout(resolve, WORK_MS, 'done')))
  .then(
    (run) => (run.ran ? 'ran' : run.reason),
    (error) => `failed: ${error.message}`,
  )
process.stdout.write(JSON.stringify({ outcome, ms: performance.now() - started }), () => process.exit())
