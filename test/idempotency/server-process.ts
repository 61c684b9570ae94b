/** `node server-process.ts <jobs> <ttl>`: a protected route whose first run never ends, in a process of its own. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { openJobs } from '../../examples/job-worker/open-jobs.ts'
import { idempotencyOf, idempotent } from '../../src/idempotency/index.ts'

const [url = '', ttl = ''] = process.argv.slice(2)
const { jobs } = await openJobs(url)

const charge = idempotent(
  async (request) => {
    const { attempt } = idempotencyOf(request) ?? {}
    process.send?.({ attempt })
    if (attempt === 1) await new Promise(() => {})
    return Response.json({ attempt }, { status: 201 })
  },
  { jobs, principal: 'everyone', ttl: Number(ttl) },
)

const server = createServer(getRequestListener(charge))
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
