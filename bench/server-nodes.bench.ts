/**
 * 1, 2 and 4 nodes on Postgres and on Redis: heartbeats, lock changes (a lock and its unlock) and events to sockets
 * per second, and the processor time of all nodes for each. The load runs in this process, on the same machine.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { startServer } from '../scripts/services/index.ts'
import { printTable } from './measure.ts'
import { newSession } from './server/child.ts'
import { requestText, Wire } from './server/wire.ts'

const NODES = [1, 2, 4]
const HOLDERS = 64
const SOCKETS = 200
const ROUND_MS = 3000

interface Node extends Disposable {
  readonly port: number
  /** Microseconds of its processor so far. */
  cpu(): Promise<number>
}

export async function run(): Promise<void> {
  for (const backend of ['postgres', 'redis'] as const) {
    const database = await startServer(backend)
    const rows: string[][] = []
    try {
      for (const count of NODES) rows.push([`${count}`, ...(await measure(database.address, count))])
    } finally {
      await database.stop()
    }
    printTable(`Several nodes on ${backend}, per second (µs of all nodes each)`, [
      ['nodes', 'heartbeats', 'lock changes', `events to ${SOCKETS} sockets`],
      ...rows,
    ])
  }
}

async function measure(url: string, count: number): Promise<string[]> {
  using stack = new DisposableStack()
  const nodes: Node[] = []
  for (let n = 0; n < count; n++) nodes.push(stack.use(await startNode(url)))
  const portOf = (n: number) => nodes[n % count]?.port ?? 0
  const lanes = await Promise.all(
    Array.from({ length: HOLDERS }, async (_, n) => {
      const wire = stack.adopt(await Wire.open(portOf(n)), (opened) => opened.close())
      const headers = { Cookie: await newSession(portOf(n)), 'Content-Type': 'application/json' }
      return (method: string) =>
        wire.send(requestText(method, `/api/documents/room-${count}-${n}/lock`, headers))
    }),
  )
  await Promise.all(lanes.map((send) => send('POST')))
  const heartbeats = await rate(nodes, lanes, async (send) => expectOk(await send('PUT')))
  const changes = await rate(nodes, lanes, async (send) => {
    expectOk(await send('DELETE'))
    expectOk(await send('POST'))
  })
  let heard = 0
  for (let n = 0; n < SOCKETS; n++) {
    const socket = stack.adopt(
      new WebSocket(`ws://127.0.0.1:${portOf(n)}/app/holdfast?protocol=7`),
      (opened) => opened.terminate(),
    )
    await once(socket, 'message')
    socket.send(JSON.stringify({ event: 'pusher:subscribe', data: { channel: `document.room-${count}-0` } }))
    await once(socket, 'message')
    socket.on('message', () => heard++)
  }
  const [first] = lanes
  const fanOut = await rate(nodes, first ? [first] : [], async (send) => {
    const before = heard
    expectOk(await send('DELETE'))
    expectOk(await send('POST'))
    // The next change begins when every socket has heard of both.
    while (heard < before + 2 * SOCKETS) await new Promise((resolve) => setImmediate(resolve))
  })
  return [heartbeats(1), changes(1), fanOut(2 * SOCKETS)]
}

type Lane = (method: string) => Promise<number>

/** Returns a function that formats the result if each run does so many things. */
async function rate(nodes: readonly Node[], lanes: readonly Lane[], once: (lane: Lane) => Promise<void>) {
  const cpuOfAll = async () => (await Promise.all(nodes.map((node) => node.cpu()))).reduce((a, b) => a + b, 0)
  const before = await cpuOfAll()
  const start = performance.now()
  let runs = 0
  await Promise.all(
    lanes.map(async (lane) => {
      while (performance.now() - start < ROUND_MS) {
        await once(lane)
        runs++
      }
    }),
  )
  const seconds = (performance.now() - start) / 1000
  const cpu = (await cpuOfAll()) - before
  return (each: number) => `${Math.round((runs * each) / seconds)} (${(cpu / (runs * each)).toFixed(1)})`
}

function expectOk(status: number): void {
  if (status !== 200) throw new Error(`the server answered ${status}`)
}

async function startNode(url: string): Promise<Node> {
  const child = fork(join(import.meta.dirname, 'server/cluster-node.ts'), [url])
  const [port] = await once(child, 'message')
  return {
    port,
    async cpu() {
      child.send('usage')
      const [{ user, system }] = await once(child, 'message')
      return user + system
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}
