/** A heartbeat over HTTP beside an empty route of the same framework, with the same bodies both ways. */

import { compareRates, printTable, rateTable } from './measure.ts'
import { newSession, startNode } from './server/child.ts'
import { requestText, Wire } from './server/wire.ts'

const BARE = 'empty Hono route'
const HOLDERS = 64
const BODY = JSON.stringify({ client_id: 'tab-1' })

export async function run(): Promise<void> {
  using node = await startNode()
  const cookies = await Promise.all(Array.from({ length: HOLDERS }, () => newSession(node.port)))
  const headers = (n: number) => ({
    Cookie: cookies[n] ?? '',
    'X-Holdfast-Client': 'tab-1',
    'Content-Type': 'application/json',
  })
  const locker = await Wire.open(node.port)
  for (let n = 0; n < HOLDERS; n++) {
    const status = await locker.send(requestText('POST', `/api/documents/room-${n}/lock`, headers(n)))
    if (status !== 200) throw new Error(`room-${n} was not locked: ${status}`)
  }
  locker.close()

  const contender = async (name: string, port: number, path: (n: number) => string) => {
    const wires = await Promise.all(Array.from({ length: HOLDERS }, () => Wire.open(port)))
    const lanes = wires.map((wire, n) => ({ wire, request: requestText('PUT', path(n), headers(n), BODY) }))
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
  const bare = await contender(BARE, node.bare, (n) => `/empty/room-${n}/lock`)
  const beat = await contender('heartbeat PUT', node.port, (n) => `/api/documents/room-${n}/lock`)
  const rates = await compareRates([bare, beat], { rounds: 15, roundMs: 300, parallel: HOLDERS })
  printTable('Server, heartbeat on SQLite (synchronous = full)', rateTable(rates, BARE))
}
