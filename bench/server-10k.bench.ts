/**
 * 10 000 live document locks on one SQLite node, each beating every ten seconds. HOLDFAST_BENCH_SECONDS says for how
 * long, 120 by default.
 */

import { printTable, quantile } from './measure.ts'
import { newSession, startNode } from './server/child.ts'
import { requestText, Wire } from './server/wire.ts'

const LOCKS = 10_000
const SESSIONS = 200
const WIRES = 64
const BEAT_EVERY_MS = 10_000
const TICK_MS = 10

export async function run(): Promise<void> {
  const { HOLDFAST_BENCH_SECONDS: seconds = 120 } = process.env
  using node = await startNode()
  const cookies = await Promise.all(Array.from({ length: SESSIONS }, () => newSession(node.port)))
  const wires = await Promise.all(Array.from({ length: WIRES }, () => Wire.open(node.port)))
  const call = callerOf(wires)
  const headers = (n: number) => ({
    Cookie: cookies[n % SESSIONS] ?? '',
    'X-Holdfast-Client': `tab-${Math.floor(n / SESSIONS)}`,
  })
  const text = (method: string, n: number) => requestText(method, `/api/documents/room-${n}/lock`, headers(n))
  const beats = Array.from({ length: LOCKS }, (_, n) => text('PUT', n))

  const statuses = await Promise.all(beats.map((_, n) => call(text('POST', n))))
  if (statuses.some((status) => status !== 200)) throw new Error('not every room was locked')
  const before = await node.usage()
  const latencies: number[] = []
  const refused: number[] = []
  let largest = before.rss
  const started = performance.now()
  const perTick = (LOCKS * TICK_MS) / BEAT_EVERY_MS
  for (let sent = 0; performance.now() - started < Number(seconds) * 1000; ) {
    const due = Math.floor((performance.now() - started) / TICK_MS) * perTick
    for (; sent < due; sent++) {
      const at = performance.now()
      void call(beats[sent % LOCKS] ?? '').then((status) => {
        latencies.push(performance.now() - at)
        if (status !== 200) refused.push(status)
      })
    }
    if (sent % LOCKS === 0) largest = Math.max(largest, (await node.usage()).rss)
    await new Promise((resolve) => setTimeout(resolve, TICK_MS))
  }
  const after = await node.usage()
  const metrics = await (await fetch(`http://127.0.0.1:${node.port}/metrics`)).text()
  const figure = (name: string) => new RegExp(`^${name} (\\d+)`, 'm').exec(metrics)?.[1] ?? '?'
  const cpu = after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system
  printTable(`Server, ${LOCKS} locks beating every ${BEAT_EVERY_MS / 1000} s for ${seconds} s`, [
    ['', 'figure'],
    ['heartbeats', String(latencies.length)],
    ['refused heartbeats', String(refused.length)],
    ['live at the end', figure('holdfast_live_locks')],
    ['expired', figure('holdfast_expiries_total')],
    ['p50, ms', quantile(latencies, 0.5).toFixed(1)],
    ['p99, ms', quantile(latencies, 0.99).toFixed(1)],
    ['resident, MB', (Math.max(largest, after.rss) / 1e6).toFixed(0)],
    ['of a core', (cpu / 1e6 / Number(seconds)).toFixed(2)],
  ])
  for (const wire of wires) wire.close()
}

/** Sends on whichever connection is free, in order. */
function callerOf(wires: readonly Wire[]): (request: string) => Promise<number> {
  const free = [...wires]
  const waiting: ((wire: Wire) => void)[] = []
  return async (request) => {
    const wire = free.pop() ?? (await new Promise<Wire>((resolve) => waiting.push(resolve)))
    const status = await wire.send(request)
    const next = waiting.shift()
    if (next) next(wire)
    else free.push(wire)
    return status
  }
}
