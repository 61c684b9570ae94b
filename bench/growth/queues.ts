import { fork } from 'node:child_process'
import { on } from 'node:events'
import { join } from 'node:path'
import { printTable, quantile } from '../measure.ts'
import type { Orders, Report } from './crowd.ts'

const MB = 1_000_000

/** Long queues: how long it takes to join them, and to hand the lease through them. */
export async function benchQueues(
  title: string,
  address: string,
  counts: readonly number[],
  crowds: readonly number[],
): Promise<void> {
  for (const processes of crowds) {
    const rows: string[][] = []
    const where = processes === 1 ? 'one process' : `${processes} processes`
    for (const waiters of counts) {
      console.log(`  ${title}: ${waiters} waiters in ${where} …`)
      rows.push(await drain(address, waiters, processes))
    }
    printTable(`${title}, one resource, ${where}`, [
      ['waiters', 'join ms', 'drain ms', 'handoff p50 ms', 'p99 ms', 'calls each', 'MB'],
      ...rows,
    ])
  }
}

async function drain(address: string, waiters: number, processes: number): Promise<string[]> {
  const members = Array.from({ length: processes }, (_, n) =>
    start({ address, waiters: waiters / processes, holds: n === 0 }),
  )
  await Promise.all(members.map((member) => member.report('ready')))
  const joined = await Promise.all(members.map((member) => member.goOn('waiting')))
  const drained = await Promise.all(members.map((member) => member.goOn('done')))
  const turns = drained.flatMap((report) => report.turns).sort(([a], [b]) => a - b)
  const handoffs = turns.slice(1).map(([granted], n) => granted - (turns[n]?.[1] ?? 0))
  const sum = (of: (report: (typeof joined)[number]) => number) =>
    joined.reduce((total, report) => total + of(report), 0)
  return [
    String(waiters),
    Math.max(...joined.map(({ ms }) => ms)).toFixed(0),
    ((turns.at(-1)?.[1] ?? 0) - (turns[0]?.[0] ?? 0)).toFixed(0),
    quantile(handoffs, 0.5).toFixed(2),
    quantile(handoffs, 0.99).toFixed(2),
    (drained.reduce((total, { calls }) => total + calls, 0) / waiters).toFixed(1),
    (sum(({ bytes }) => bytes) / MB).toFixed(0),
  ]
}

function start(orders: Orders) {
  const child = fork(join(import.meta.dirname, 'crowd.ts'), { execArgv: ['--expose-gc'] })
  const messages = on(child, 'message', { close: ['exit'] })
  child.send(orders)
  async function report<T extends Report['type']>(type: T): Promise<Report & { type: T }> {
    const { value } = await messages.next()
    const [message] = (value ?? []) as Report[]
    if (message?.type !== type) throw new Error(`expected ${type}, got ${JSON.stringify(message)}`)
    return message as Report & { type: T }
  }
  return {
    report,
    goOn<T extends Report['type']>(type: T) {
      child.send('go on')
      return report(type)
    },
  }
}
