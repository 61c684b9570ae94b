/**
 * A worker behind HTTP, as a queue sees it. The id of a job decides what its first attempt does: `hang` never ends,
 * `late` stops the process and ends when the process continues, others take a few milliseconds.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openJobs } from '../../examples/job-worker/open-jobs.ts'
import { createOnce, createTaskHandler, type RunningJob } from '../../src/once/index.ts'
import { Effects } from './effects.ts'
import { report, serveTasks } from './serve-tasks.ts'

const [url = '', table = '', effectsPath = '', name = '', ttl = ''] = process.argv.slice(2)
const { jobs } = await openJobs(url, table)
const effects = new Effects(effectsPath)
const once = createOnce(jobs, { worker: name })

const handle = createTaskHandler(once, {
  work,
  authorize: 'everyone',
  ttl: Number(ttl),
  retryAfter: 0,
  onError: (error, id) => report({ type: 'rejected', id, code: String((error as { code?: string }).code) }),
})

serveTasks(handle)

async function work({ id, token, attempt }: RunningJob): Promise<object> {
  await report({ type: 'started', id, attempt })
  if (attempt === 1 && id.startsWith('hang')) await new Promise(() => {})
  // The process stops itself: a signal from outside could come before or after the work.
  if (attempt === 1 && id.startsWith('late')) process.kill(process.pid, 'SIGSTOP')
  else await sleep(Math.random() * 4)
  const allowed = effects.apply(id, token, name)
  await sleep(Math.random() * 4)
  return { worker: name, attempt, allowed }
}
