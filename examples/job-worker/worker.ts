/** One worker. It takes the jobs in random order, skips those that others run or have run, and reports to its parent. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createOnce, type RunningJob } from '../../src/once/index.ts'
import type { Report } from './board.ts'
import { openJobs } from './open-jobs.ts'

const [url = '', table = '', name = '', count = '', ttl = '', workMs = ''] = process.argv.slice(2)

await using opened = await openJobs(url, table)
await using once = createOnce(opened.jobs, { worker: name })
process.once('SIGTERM', () => once.close())

let open = shuffled(Array.from({ length: Number(count) }, (_, n) => `job-${n + 1}`))
while (open.length > 0) {
  const left: string[] = []
  for (const id of open) {
    const run = await once.run(id, work, { ttl: Number(ttl) }).catch((error) => {
      send({ type: 'failed', id, error: String(error) })
      return { ran: false, reason: 'locked' } as const
    })
    if (!run.ran) send({ type: 'skipped', id, reason: run.reason })
    if (!run.ran && run.reason === 'locked') left.push(id)
  }
  open = left
  // Other workers run the rest. If one of them died, its lock expires.
  if (open.length > 0) await sleep(Number(ttl) / 10)
}
process.disconnect?.()

async function work({ id, attempt, signal }: RunningJob): Promise<{ by: string }> {
  send({ type: 'started', id, attempt })
  await sleep(Number(workMs) * (0.5 + Math.random()), null, { signal })
  send({ type: 'ran', id, attempt })
  return { by: name }
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, key: Math.random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item)
}

function send(report: Report): void {
  process.send?.(report)
}
