import { once } from 'node:events'
import { request } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createServer, type HoldfastServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { FakeClock } from '../../src/testing/index.ts'
import { SECRETS } from './service-bed.ts'

const POLL_MS = 100
const LAG_MS = 1000

/** Accepts connections and passes each on to the next node of its list, which is a second old. */
class LaggingBalancer {
  readonly refused: string[] = []
  readonly #ports: readonly number[]
  #inUse: readonly number[]
  readonly #history: (readonly number[])[] = []
  readonly #server = createTcpServer((client) => {
    const port = this.#inUse[this.#turn++ % this.#inUse.length] ?? 0
    const node = connect(port, '127.0.0.1')
    client.on('close', () => node.destroy())
    node.on('close', () => client.destroy())
    client.on('error', () => {})
    node.on('error', ({ message }) => this.refused.push(message))
    client.pipe(node).pipe(client)
  })
  #turn = 0

  constructor(ports: readonly number[]) {
    this.#ports = ports
    this.#inUse = ports
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return (this.#server.address() as AddressInfo).port
  }

  /** One probe of each node. What it finds counts a second of the clock later. */
  async probe(): Promise<void> {
    const statuses = await Promise.all(this.#ports.map((port) => statusOf(port, '/readyz').catch(() => 0)))
    this.#history.push(this.#ports.filter((_, n) => statuses[n] === 200))
    if (this.#history.length > LAG_MS / POLL_MS) this.#inUse = this.#history.shift() ?? []
  }

  close(): void {
    this.#server.close()
  }
}

/** The status of a request on a connection of its own. */
function statusOf(port: number, path: string, method = 'GET'): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, path, method, agent: false }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', reject)
    sent.end()
  })
}

/** Restarts one node after the other while clients call. Resolves with every answer, and what was refused. */
async function rollingRestart(drain: number) {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const start = (port: number) =>
    createServer({ store, clock, log: () => {}, settings: { ...SECRETS, port, drain, rate: 0 } })
  const nodes: HoldfastServer[] = [await start(0), await start(0)]
  const balancer = new LaggingBalancer(nodes.map(({ port }) => port))
  const entry = await balancer.listen()
  onTestFinished(async () => {
    balancer.close()
    for (const node of nodes) {
      const closing = node.close()
      await clock.advance(drain)
      await closing
    }
  })
  const statuses = new Set<number>()
  const step = async () => {
    await clock.advance(POLL_MS)
    await balancer.probe()
    const calls = Array.from({ length: 4 }, (_, n) => statusOf(entry, `/api/documents/room-${n}/lock`))
    for (const { status, value } of (await Promise.allSettled(calls)).map((call) => ({ value: 0, ...call })))
      statuses.add(status === 'fulfilled' ? value : 0)
  }
  const steps = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += POLL_MS) await step()
  }
  await steps(2 * LAG_MS)
  for (const [n, node] of nodes.entries()) {
    let isClosed = false
    const closing = node.close().then(() => {
      isClosed = true
    })
    for (let passed = 0; !isClosed && passed < 60_000; passed += POLL_MS) await step()
    await closing
    await steps(500)
    nodes[n] = await start(node.port)
    await steps(2 * LAG_MS)
  }
  return { statuses: [...statuses], refused: balancer.refused }
}

it('a rolling restart of two nodes behind a balancer that lags a second refuses no connection', async () => {
  expect(await rollingRestart(3000)).toEqual({ statuses: [200], refused: [] })
})

it('without a drain, the balancer sends connections to a port that is closed', async () => {
  const { refused } = await rollingRestart(0)
  expect(refused).toContainEqual(expect.stringMatching(/ECONNREFUSED/))
})

it('a node that drains answers requests, closes their connections, and then ends', async () => {
  const clock = new FakeClock()
  const server = await createServer({
    store: memoryStore({ clock }),
    clock,
    log: () => {},
    settings: { ...SECRETS, port: 0, drain: '5s' },
  })
  const closing = server.close()
  const [ready, lock] = await Promise.all(
    ['/readyz', '/api/documents/draft/lock'].map((path) => fetch(server.url + path)),
  )
  expect([ready?.status, lock?.status, lock?.headers.get('connection')]).toEqual([503, 200, 'close'])
  await clock.advance(4999)
  expect(await statusOf(server.port, '/healthz')).toBe(200)
  await clock.advance(1)
  await closing
  await expect(statusOf(server.port, '/healthz')).rejects.toThrow('ECONNREFUSED')
})
