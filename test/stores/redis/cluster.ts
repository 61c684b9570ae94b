import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { freePort } from '../../../scripts/services/free-port.ts'
import { KeptProcess } from '../../../scripts/services/kept-process.ts'
import { redis } from '../../../scripts/services/redis.ts'
import { obtain } from '../../../scripts/services/tools.ts'
import { eventually } from '../../eventually.ts'

const SLOTS = 16384
/** Nodes talk to each other on a second port, which is higher by this number. */
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
      const [node, port] = await Promise.all([KeptProcess.prepare('redis-node'), freePort(BUS_OFFSET)])
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

  /** A client that is connected to this node only. */
  node(index: number): Redis {
    const port = this.ports[index] ?? 0
    const client = new Redis({ port, retryStrategy: () => 20, maxRetriesPerRequest: null })
    client.on('error', () => {})
    return client
  }

  /** Moves the slot of a key, with all that is in it, to the next node, while the cluster works. */
  async moveSlotOf(key: string): Promise<void> {
    const nodes = this.ports.map((_, index) => this.node(index))
    const ids = await Promise.all(nodes.map((node) => node.call('CLUSTER', 'MYID').then(String)))
    const slot = Number(await nodes[0]?.call('CLUSTER', 'KEYSLOT', key))
    const from = Math.floor(slot / Math.ceil(SLOTS / nodes.length))
    const to = (from + 1) % nodes.length
    const [source, target] = [nodes[from], nodes[to]]
    await target?.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', ids[from] ?? '')
    await source?.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', ids[to] ?? '')
    for (;;) {
      const keys = (await source?.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[]
      if (keys.length === 0) break
      await source?.call('MIGRATE', '127.0.0.1', this.ports[to] ?? 0, '', 0, 5000, 'KEYS', ...keys)
    }
    for (const node of [target, source, ...nodes])
      await node?.call('CLUSTER', 'SETSLOT', slot, 'NODE', ids[to] ?? '')
    for (const node of nodes) node.disconnect()
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
      await eventually(async () => expect(await node.call('CLUSTER', 'INFO')).toMatch(joined))
    for (const node of nodes) node.disconnect()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node[Symbol.asyncDispose]()))
  }
}
