/** Ten thousand acquisitions of different resources at once, beside the bare client, while one lease is held. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { startServer } from '../scripts/services/index.ts'
import { type DelayingProxy, delayingProxy } from './burst/delaying-proxy.ts'
import type { Burst } from './burst/process.ts'
import { printTable } from './measure.ts'
import { startBenchServer } from './redis/server.ts'

const COUNT = 10_000
const DELAYS_MS = [0, 10]

export async function run(): Promise<void> {
  const rows: string[][] = []
  for (const [kind, start] of Object.entries({ postgres, redis, http })) {
    const server = await start()
    for (const delayMs of DELAYS_MS) {
      await using proxy = delayMs > 0 ? await delayingProxy(Number(server.url.port), delayMs) : undefined
      rows.push(rowOf(`${kind}, ${delayMs} ms each way`, await burst(kind, server.url, proxy)))
    }
    await server.stop()
  }
  const head = ['', 'seconds', '× bare', 'attempts', 'failed', 'lost', 'MB', 'release all, s']
  printTable(`${COUNT} acquisitions at once, one lease held`, [head, ...rows])
}

interface Running {
  readonly url: URL
  stop(): unknown
}

async function postgres(): Promise<Running> {
  const server = await startServer('postgres')
  return { url: new URL(server.address), stop: () => server.stop() }
}

async function redis(): Promise<Running> {
  const server = await startBenchServer()
  return { url: new URL(server.url), stop: () => server[Symbol.asyncDispose]() }
}

async function http(): Promise<Running> {
  const child = fork(join(import.meta.dirname, 'burst/server.ts'))
  const [port] = await once(child, 'message')
  return { url: new URL(`http://127.0.0.1:${port}`), stop: () => child.kill() }
}

async function burst(kind: string, url: URL, proxy: DelayingProxy | undefined): Promise<Burst> {
  const through = new URL(url)
  if (proxy) through.port = String(proxy.port)
  const child = fork(join(import.meta.dirname, 'burst/process.ts'), [
    kind,
    through.href.replace(/\/$/, ''),
    String(COUNT),
  ])
  const exited = once(child, 'exit').then(() =>
    Promise.reject(new Error(`the burst on ${kind} ended without a result`)),
  )
  const [result] = await Promise.race([once(child, 'message'), exited])
  return result
}

function rowOf(name: string, burst: Burst): string[] {
  const { leasesMs, bareMs, attempts, failed, lost, megabytes, releaseMs } = burst
  return [
    name,
    (leasesMs / 1000).toFixed(1),
    (leasesMs / bareMs).toFixed(1),
    String(attempts),
    String(failed),
    String(lost),
    megabytes.toFixed(0),
    (releaseMs / 1000).toFixed(1),
  ]
}
