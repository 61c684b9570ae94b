import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { freePort } from './free-port.ts'
import { KeptProcess } from './kept-process.ts'
import { redis } from './redis.ts'
import { obtain } from './tools.ts'

/** A replica that has been without its primary for more than ten times as long is not promoted. */
const DOWN_AFTER_MS = 2000
const START_LIMIT_MS = 60_000
const PROBE_EVERY_MS = 20

/** A primary and a replica under the name `mymaster`, and one sentinel that replaces the primary by the replica. */
export class SentinelGroup implements AsyncDisposable {
  readonly sentinelPort: number
  readonly #primary: { readonly port: number; readonly pid: number }
  readonly #processes: AsyncDisposableStack

  private constructor(
    sentinelPort: number,
    primary: { port: number; pid: number },
    processes: AsyncDisposableStack,
  ) {
    this.sentinelPort = sentinelPort
    this.#primary = primary
    this.#processes = processes
  }

  static async start(): Promise<SentinelGroup> {
    const [launch] = await obtain([redis])
    const processes = new AsyncDisposableStack()
    const start = async (config: readonly string[], ...args: string[]) => {
      const [node, port] = await Promise.all([KeptProcess.prepare('redis-sentinel'), freePort()])
      processes.use(node)
      const file = join(node.directory, 'redis.conf')
      const lines = [`port ${port}`, 'bind 127.0.0.1', `dir ${node.directory}`, ...config]
      await writeFile(file, `${lines.join('\n')}\n`)
      const command = { file: launch?.program ?? '', args: [file, ...args], crashSignal: 'SIGKILL' as const }
      return { port, pid: await node.start(command) }
    }
    try {
      const primary = await start(['save ""', 'repl-diskless-sync-delay 0'])
      const replica = await start(['save ""', `replicaof 127.0.0.1 ${primary.port}`])
      await using client = nodeAt(replica.port)
      await until('the replica follows its primary', async () =>
        (await client.redis.info('replication')).includes('master_link_status:up'),
      )
      const sentinel = await start(
        [
          `sentinel monitor mymaster 127.0.0.1 ${primary.port} 1`,
          `sentinel down-after-milliseconds mymaster ${START_LIMIT_MS}`,
        ],
        '--sentinel',
      )
      await using watcher = nodeAt(sentinel.port)
      await until('the sentinel knows the replica', async () => {
        const replicas = await watcher.redis.call('SENTINEL', 'REPLICAS', 'mymaster')
        return Array.isArray(replicas) && replicas.length === 1
      })
      return new SentinelGroup(sentinel.port, primary, processes)
    } catch (error) {
      await processes.disposeAsync()
      throw error
    }
  }

  /** Resolves when the replica has all that was written until now. */
  async waitForReplica(): Promise<void> {
    await using primary = nodeAt(this.#primary.port)
    // `WAIT` counts the writes of its own connection.
    await primary.redis.set('waited', '')
    if ((await primary.redis.wait(1, START_LIMIT_MS)) !== 1) throw new Error('the replica has not followed')
  }

  /** From now on the replica receives no more writes. */
  async stopReplication(): Promise<void> {
    await using primary = nodeAt(this.#primary.port)
    await primary.redis.call('ACL', 'SETUSER', 'default', '-psync', '-sync')
    await primary.redis.call('CLIENT', 'KILL', 'TYPE', 'REPLICA')
  }

  /** Until now the sentinel was patient, so that a busy machine does not cause an earlier failover. */
  async killPrimary(): Promise<void> {
    process.kill(this.#primary.pid, 'SIGKILL')
    await using sentinel = nodeAt(this.sentinelPort)
    await sentinel.redis.call('SENTINEL', 'SET', 'mymaster', 'down-after-milliseconds', DOWN_AFTER_MS)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#processes.disposeAsync()
  }
}

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + START_LIMIT_MS
  while (!(await check())) {
    if (performance.now() > giveUpAt) throw new Error(`expected within ${START_LIMIT_MS} ms that ${what}`)
    await sleep(PROBE_EVERY_MS)
  }
}

function nodeAt(port: number) {
  const client = new Redis({ port, retryStrategy: () => 20, maxRetriesPerRequest: null })
  client.on('error', () => {})
  return { redis: client, [Symbol.asyncDispose]: async () => client.disconnect() }
}
