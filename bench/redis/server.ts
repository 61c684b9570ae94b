import { randomInt } from 'node:crypto'
import { Redis } from 'ioredis'
import { KeptProcess } from '../../scripts/services/kept-process.ts'
import { redis } from '../../scripts/services/redis.ts'
import { obtain } from '../../scripts/services/tools.ts'

/** A server that keeps nothing on disk: it is the calls that are measured. */
export interface BenchServer extends AsyncDisposable {
  readonly url: string
  /** Stops it as it is: connections stay open, nothing is answered. */
  freeze(): void
  thaw(): void
}

export async function startBenchServer(): Promise<BenchServer> {
  const [launch] = await obtain([redis])
  const server = await KeptProcess.prepare('redis-bench')
  const port = randomInt(20_000, 30_000)
  const options = { port, bind: '127.0.0.1', dir: server.directory, save: '', appendonly: 'no' }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
  const pid = await server.start({ file: launch?.program ?? '', args, crashSignal: 'SIGKILL' })
  const url = `redis://127.0.0.1:${port}`
  await answers(url)
  return {
    url,
    freeze: () => process.kill(pid, 'SIGSTOP'),
    thaw: () => process.kill(pid, 'SIGCONT'),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

async function answers(url: string): Promise<void> {
  const client = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: 500 })
  client.on('error', () => {})
  await client.ping()
  client.disconnect()
}
