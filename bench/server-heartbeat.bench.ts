/** A heartbeat over HTTP beside an empty route of the same framework, with the same bodies both ways. */

import { type Contender, compareRates, printTable, quantile, rateTable, spreadOf } from './measure.ts'
import { type BenchNode, newSession, startNode } from './server/child.ts'
import { requestText, Wire } from './server/wire.ts'

const BARE = 'empty Hono route'
const HOLDERS = 64
const REQUESTS = 64 * 50
const COST_ROUNDS = 9
const BODY = JSON.stringify({ client_id: 'tab-1' })

export async function run(): Promise<void> {
  using waiting = await startNode('full')
  using buffered = await startNode('normal')
  const contenders = [
    { node: waiting, ...(await contender(BARE, waiting.bare, (n) => `/empty/room-${n}/lock`)) },
    { node: buffered, ...(await heartbeat('heartbeat PUT, synchronous = normal', buffered.port)) },
    { node: waiting, ...(await heartbeat('heartbeat PUT, synchronous = full', waiting.port)) },
  ]
  const rates = await compareRates(contenders, { rounds: 15, roundMs: 300, parallel: HOLDERS })
  printTable('Server, heartbeat on SQLite', rateTable(rates, BARE))
  const costs = contenders.map(() => [] as number[])
  for (let round = 0; round < COST_ROUNDS; round++)
    for (const [n, one] of contenders.entries()) costs[n]?.push(await cpuOf(one.node, one))
  printTable('The same, by processor time: a busy machine does not disturb it', [
    ['', 'µs', 'spread', `× ${BARE}`],
    ...costs.map((micros, n) => {
      const ratios = micros.map((cost, round) => cost / (costs[0]?.[round] ?? Number.NaN))
      const p50 = (values: readonly number[], digits: number) => quantile(values, 0.5).toFixed(digits)
      return [contenders[n]?.name ?? '', p50(micros, 1), spreadOf(micros, 1), p50(ratios, 2)]
    }),
  ])
}

/** Microseconds of the server's processor for one request. */
async function cpuOf(node: BenchNode, { run }: Contender): Promise<number> {
  const before = await node.usage()
  await Promise.all(
    Array.from({ length: HOLDERS }, async () => {
      for (let n = 0; n < REQUESTS / HOLDERS; n++) await run()
    }),
  )
  const { cpu } = await node.usage()
  return (cpu.user + cpu.system - before.cpu.user - before.cpu.system) / REQUESTS
}

async function heartbeat(name: string, port: number): Promise<Contender> {
  const cookies = await Promise.all(Array.from({ length: HOLDERS }, () => newSession(port)))
  const locker = await Wire.open(port)
  for (const [n, cookie] of cookies.entries()) {
    const status = await locker.send(requestText('POST', `/api/documents/room-${n}/lock`, headersOf(cookie)))
    if (status !== 200) throw new Error(`room-${n} was not locked: ${status}`)
  }
  locker.close()
  return contender(name, port, (n) => `/api/documents/room-${n}/lock`, cookies)
}

/** The empty route is sent the same headers, though it looks at none. */
async function contender(
  name: string,
  port: number,
  path: (n: number) => string,
  cookies: readonly string[] = [],
): Promise<Contender> {
  const cookie = (n: number) => cookies[n] ?? `holdfast_session=${'x'.repeat(110)}`
  const lanes = await Promise.all(
    Array.from({ length: HOLDERS }, async (_, n) => ({
      wire: await Wire.open(port),
      request: requestText('PUT', path(n), headersOf(cookie(n)), BODY),
    })),
  )
  return {
    name,
    async run() {
      const lane = lanes.shift()
      if (!lane) throw new Error('more lanes than connections')
      const status = await lane.wire.send(lane.request)
      lanes.push(lane)
      if (status !== 200) throw new Error(`${name}: ${status}`)
    },
  }
}

function headersOf(cookie: string): Record<string, string> {
  return { Cookie: cookie, 'X-Holdfast-Client': 'tab-1', 'Content-Type': 'application/json' }
}
