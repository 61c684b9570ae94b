/** Two nodes of `holdfast serve` on one Redis, which crashes too. Each worker talks to one of the nodes. */
import { join } from 'node:path'
import { Server, startServer } from '../../../scripts/services/index.ts'
import type { ServerKind } from '../../../scripts/services/server.ts'
import type { Bed } from './bed.ts'

const TOKEN = 'a-token-of-a-worker'
const MAIN = join(import.meta.dirname, '../../../src/cli/main.ts')

const KIND: ServerKind<'serve'> = {
  name: 'serve',
  variable: '',
  packages: [],
  advice: '',
  find: async () => undefined,
  address: (port) => `http://127.0.0.1:${port}`,
  async version(address) {
    const { status } = await fetch(`${address}/readyz`)
    if (status !== 200) throw new Error(`${address}/readyz answers ${status}`)
    return 'this one'
  },
}

export async function openServe(hosts: readonly string[]): Promise<Bed> {
  const redis = await startServer('redis')
  const nodes = await Promise.all([1, 2].map(() => startNode(redis.address, hosts)))
  let workers = 0
  return {
    ttl: 1500,
    nodes,
    mayCrash: nodes.length,
    behind: [redis],
    address: (links) => `http://${TOKEN}@${links[workers++ % links.length]}`,
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map((node) => node.stop()))
      await redis.stop()
    },
  }
}

function startNode(store: string, hosts: readonly string[]): Promise<Server> {
  return Server.start(KIND, {
    program: process.execPath,
    command: async (_directory, port) => ({
      file: process.execPath,
      args: [
        ...[MAIN, 'serve', '--port', String(port), '--store', store, '--lease-tokens', TOKEN],
        ...(hosts.length > 0 ? ['--hosts', hosts.join(',')] : []),
      ],
      crashSignal: 'SIGKILL',
    }),
  })
}
