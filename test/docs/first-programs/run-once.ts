import { DatabaseSync } from 'node:sqlite'
import { createOnce, sqliteJobs } from 'holdfast/once'

interface Invoice {
  pages: number
}
const once = createOnce(sqliteJobs(new DatabaseSync('./app.db')), { ttl: '1m' })
let deliveries = 0

async function deliver() {
  const run = await once.run(
    'invoice-42',
    async ({ signal }): Promise<Invoice> => {
      signal.throwIfAborted()
      deliveries++
      return { pages: 12 }
    },
    { add: true, heartbeat: '20s' },
  )
  return run.ran ? `made ${run.result.pages} pages` : `${run.reason}: ${JSON.stringify(run.job?.result)}`
}
console.log(await deliver())
console.log(await deliver())
const job = await once.wait('invoice-42', { wait: '5s' })
console.log(job.status, deliveries)
await once.close()
