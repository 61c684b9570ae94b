/** Thousands of acquisitions of different resources at once, beside the bare client, while leases are held. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { startServer } from '../scripts/services/index.ts'
import { type DelayingProxy, delayingProxy } from './burst/delaying-proxy.ts'
import type { Burst } from './burst/process.ts'
import { startHoldfast } from './holdfast-server.ts'
import { printTable } from './measure.ts'
import { startBenchServer } from './redis/server.ts'
import type { BenchFlags } from './run.ts'

const DELAYS_MS = [0, 10]
const STARTERS: Readonly<Record<string, () => Promise<Running>>> = { postgres, redis, nats, http }

export async function run({ stores, most = '10000' }: BenchFlags): Promise<void> {
  const rows: string[][] = []
  for (const kind of stores?.split(',') ?? Object.keys(STARTERS)) {
    const server = await STARTERS[kind]?.()
    if (!server) throw new Error(`no store ${kind}; there are ${Object.keys(STARTERS).join(', ')}`)
    for (const delayMs of DELAYS_MS)
      for (const held of ['1', most]) {
        const name = `${kind}, ${delayMs} ms each way, ${held} held`
        console.log(`  ${name} …`)
        await using proxy = delayMs > 0 ? await delayingProxy(Number(server.url.port), delayMs) : undefined
        rows.push(rowOf(name, await burst(kind, server.url, proxy, most, held)))
      }
    await server.stop()
  }
  const head = ['', 'seconds', '× bare', 'attempts', 'failed', 'lost', 'MB', 'release all, s']
  printTable(`${most} acquisitions at once, while leases are held`, [head, ...rows])
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

async function nats(): Promise<Running> {
  const server = await startServer('nats')
  return { url: new URL(server.address), stop: () => server.stop() }
}

async function http(): Promise<Running> {
  const { url, stop } = await startHoldfast()
  return { url: new URL(url), stop }
}

async function burst(
  kind: string,
  url: URL,
  proxy: DelayingProxy | undefined,
  ...counts: readonly string[]
): Promise<Burst> {
  const through = new URL(url)
  if (proxy) through.port = String(proxy.port)
  const child = fork(join(import.meta.dirname, 'burst/process.ts'), [
    kind,
    through.href.replace(/\/$/, ''),
    ...counts,
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
