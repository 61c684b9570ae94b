import type { JobStore } from '../../src/once/index.ts'
import { TaskQueue } from './task-queue.ts'
import type { WorkerProcesses } from './worker-processes.ts'

export interface StormSettings {
  readonly jobs: number
  readonly workers: number
  /** After this many jobs, a random worker is killed and another is started. */
  readonly killAfter: number
  /** At these steps of the work, in turn, a worker is killed too: of jobs whose names say so. */
  readonly doomedSteps?: readonly string[]
}

export interface StormReport {
  readonly kills: number
  readonly deliveries: number
  /** Jobs that more than one worker started. */
  readonly recovered: number
  readonly ready: number
}

/** Delivers jobs to workers that are killed at random, until every delivery was answered with success. */
export async function storm(
  processes: WorkerProcesses,
  store: JobStore,
  { jobs, workers, killAfter, doomedSteps = [] }: StormSettings,
): Promise<StormReport> {
  const ids = Array.from({ length: jobs }, (_, n) => {
    const step = n % killAfter === 0 && doomedSteps[(n / killAfter) % doomedSteps.length]
    return step ? `doomed-${step}-${n}` : `job-${n}`
  })
  for (const id of ids) await store.add(id)
  await Promise.all(Array.from({ length: workers }, () => processes.start()))
  const replacements: Promise<unknown>[] = []
  processes.on('message', (message, worker) => {
    // Two of its jobs may be doomed.
    if (message.type !== 'doomed' || !processes.workers.includes(worker)) return
    processes.kill(worker)
    replacements.push(processes.start())
  })
  const delivered = await new TaskQueue(() => processes.workers).deliverAll(ids, {
    lanes: workers * 2,
    after: (done) => {
      if (done % killAfter === 0) replacements.push(processes.replaceOne())
    },
  })
  await Promise.all(replacements)
  const ended = await Promise.all(ids.map((id) => store.read(id)))
  return {
    kills: replacements.length,
    deliveries: delivered.reduce((sum, { times }) => sum + times, 0),
    recovered: ended.filter((job) => (job?.attempts ?? 0) > 1).length,
    ready: ended.filter((job) => job?.status === 'READY').length,
  }
}
