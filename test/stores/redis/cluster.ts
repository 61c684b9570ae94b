import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { Redis } from 'ioredis'
import { expect, vi } from 'vitest'
import { KeptProcess } from '../../../scripts/services/kept-process.ts'
import { redis } from '../../../scripts/services/redis.ts'
import { obtain } from '../../../scripts/services/tools.ts'

const SLOTS = 16384
/** Nodes talk to each other on a second port, so much higher. */
const BUS_OFFSET = 10_000

/** Masters without replicas, each with its share of the slots. */
export class TestCluster implements AsyncDisposable {
  readonly ports: readonly number[]
  readonly #nodes: readonly KeptProcess[]

  private constructor(ports: readonly number[], nodes: readonly KeptProcess[]) {
    this.ports = ports
    this.#nodes = nodes
  }

  static async start(size: number): Promise<TestCluster> {
    const [launch] = await obtain([redis])
    const starts = Array.from({ length: size }, async () => {
      const [node, port] = await Promise.all([KeptProcess.prepare('redis-node'), freePort()])
      const options = { port, bind: '127.0.0.1', dir: node.directory, save: '', 'cluster-enabled': 'yes' }
      const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
      await node.start({ file: launch?.program ?? '', args, crashSignal: 'SIGKILL' })
      return { node, port }
    })
    const started = await Promise.all(starts)
    const cluster = new TestCluster(
      started.map(({ port }) => port),
      started.map(({ node }) => node),
    )
    await cluster.#join()
    return cluster
  }

  /** A plain connection to one of the nodes. */
  node(index: number): Redis {
    const client = new Redis({ port: this.ports[index] ?? 0, retryStrategy: () => 20 })
    client.on('error', () => {})
    return client
  }

  async #join(): Promise<void> {
    const nodes = this.ports.map((_, index) => this.node(index))
    const share = Math.ceil(SLOTS / nodes.length)
    for (const [index, node] of nodes.entries()) {
      const last = Math.min(share * (index + 1), SLOTS) - 1
      await node.call('CLUSTER', 'ADDSLOTSRANGE', share * index, last)
      for (const port of this.ports) await node.call('CLUSTER', 'MEET', '127.0.0.1', port)
    }
    const joined = new RegExp(`cluster_state:ok[^]*cluster_known_nodes:${nodes.length}\\b`)
    for (const node of nodes)
      await vi.waitFor(async () => expect(await node.call('CLUSTER', 'INFO')).toMatch(joined), 20_000)
    for (const node of nodes) node.disconnect()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node[Symbol.asyncDispose]()))
  }
}

async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 30_000)
    if ((await isFree(port)) && (await isFree(port + BUS_OFFSET))) return port
  }
}

function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
