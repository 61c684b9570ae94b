/**
 * A worker whose effect is a row in the database of its jobs, in the transaction that completes the job. Nothing else
 * makes the effect happen once. The first attempt of a job named `doomed-<step>-…` waits at that step to be killed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openJobs } from '../../examples/job-worker/open-jobs.ts'
import { createOnce, createTaskHandler, type RunningJob } from '../../src/once/index.ts'
import { report, serveTasks } from './serve-tasks.ts'
import { openTransactions } from './transactional-effects.ts'

const [url = '', table = '', , name = '', ttl = ''] = process.argv.slice(2)
const { jobs } = await openJobs(url, table)
const transactions = await openTransactions(url, table)
const once = createOnce(jobs, { worker: name })

serveTasks(createTaskHandler(once, { work, authorize: 'everyone', ttl: Number(ttl), retryAfter: 0 }))

async function work({ id, attempt, complete }: RunningJob): Promise<unknown> {
  const step = async (reached: string) => {
    if (attempt > 1 || !id.startsWith(`doomed-${reached}-`)) return
    await report({ type: 'doomed', id })
    await new Promise(() => {})
  }
  await sleep(Math.random() * 4)
  const result = await transactions.run(async (tx, addEffect) => {
    await addEffect(id, name)
    await step('effect')
    const written = await complete(tx, { worker: name, attempt })
    await step('completed')
    return written
  })
  await step('committed')
  await sleep(Math.random() * 4)
  return result
}
