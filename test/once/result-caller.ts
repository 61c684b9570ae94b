/** Asks for one result when it is told to, and reports what it got. Its work would have another result in each process. */
import { once as nextEvent } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { openJobs } from '../../examples/job-worker/open-jobs.ts'
import { createOnce } from '../../src/once/index.ts'

const [url = '', table = ''] = process.argv.slice(2)
await using opened = await openJobs(url, table)
await using once = createOnce(opened.jobs, { callTimeout: '1m' })
await once.read('warm up')
process.send?.('ready')
await nextEvent(process, 'message')
const work = async () => {
  await sleep(300)
  return { by: process.pid, at: performance.now() }
}
const answer = await once
  .result('shared', work, { payload: { amount: 1990 }, wait: Number.POSITIVE_INFINITY, ttl: '10m' })
  .catch((error) => ({ error: String(error) }))
await new Promise((resolve) => process.send?.(answer, resolve))
process.disconnect()
