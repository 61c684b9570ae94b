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
  const hearts = new Hearts(call, (n) => text('PUT', n))
  await Promise.all(
    Array.from({ length: LOCKS }, async (_, n) => {
      if ((await call(text('POST', n))) !== 200) throw new Error(`room-${n} was not locked`)
      hearts.start(n)
    }),
  )
  const before = await node.usage()
  hearts.forget()
  let largest = before.rss
  for (let second = 0; second < Number(seconds); second++) {
    await new Promise((resolve) => setTimeout(resolve, 1000))
    largest = Math.max(largest, (await node.usage()).rss)
  }
  const after = await node.usage()
  const metrics = await (await fetch(`http://127.0.0.1:${node.port}/metrics`)).text()
  const figure = (name: string) => new RegExp(`^${name} (\\d+)`, 'm').exec(metrics)?.[1] ?? '?'
  const cpu = after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system
  const { latencies, refused } = hearts
  printTable(`Server, ${LOCKS} locks beating every ${BEAT_EVERY_MS / 1000} s for ${seconds} s`, [
    ['', 'figure'],
    ['heartbeats', String(latencies.length)],
    ['refused heartbeats', String(refused)],
    ['live at the end', figure('holdfast_live_locks')],
    ['expired', figure('holdfast_expiries_total')],
    ['p50, ms', quantile(latencies, 0.5).toFixed(1)],
    ['p99, ms', quantile(latencies, 0.99).toFixed(1)],
    ['resident, MB', (largest / 1e6).toFixed(0)],
    ['of a core', (cpu / 1e6 / Number(seconds)).toFixed(2)],
  ])
  hearts.stop()
  for (const wire of wires) wire.close()
}

/** Each lock beats for itself, from its grant on; since all wait equally long, the next one is always the first in line. */
class Hearts {
  readonly #call: (request: string) => Promise<number>
  readonly #beat: (n: number) => string
  readonly #line: { readonly n: number; readonly due: number }[] = []
  readonly #timer = setInterval(() => this.#tick(), TICK_MS)
  latencies: number[] = []
  refused = 0

  constructor(call: (request: string) => Promise<number>, beat: (n: number) => string) {
    this.#call = call
    this.#beat = beat
  }

  start(n: number): void {
    this.#line.push({ n, due: performance.now() + BEAT_EVERY_MS })
  }

  /** What was before does not count. */
  forget(): void {
    this.latencies = []
    this.refused = 0
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    const now = performance.now()
    let due = 0
    while ((this.#line[due]?.due ?? Infinity) <= now) due++
    for (const { n } of this.#line.splice(0, due)) {
      this.start(n)
      void this.#call(this.#beat(n)).then((status) => {
        this.latencies.push(performance.now() - now)
        if (status !== 200) this.refused++
      })
    }
  }
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
