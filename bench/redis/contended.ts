import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { printTable, quantile } from '../measure.ts'
import type { Orders, Report } from './crowd.ts'
import { FLOOR, HOLD_MS, type Hold, LEASES, now, openRival, rivalNames } from './rivals.ts'

const WAITERS = 50
/** Those that poll take seconds for a round. */
const ROUNDS: Record<string, number> = { [LEASES]: 8, [FLOOR]: 8 }

interface Drain {
  readonly ms: number
  readonly handOvers: readonly number[]
  readonly commandsEach: number
  /** Grants to one who stood behind another that was still waiting; `null` where there is no line. */
  readonly outOfOrder: number | null
}

export async function benchContended(url: string): Promise<void> {
  for (const processes of [1, 5]) {
    const rows: string[][] = []
    for (const name of rivalNames) {
      const drains: Drain[] = []
      for (let round = 0; round < (ROUNDS[name] ?? 1); round++) {
        const drained = await drain(name, url, processes)
        if (drained) drains.push(drained)
      }
      if (drains.length > 0) rows.push(row(name, drains))
    }
    const where = processes === 1 ? 'one process' : `${processes} processes`
    printTable(
      `Redis, ${WAITERS} waiters in ${where}, ${HOLD_MS} ms hold; hand-over from release call to grant`,
      [['', 'drain ms', 'p50 ms', 'p99 ms', 'commands each', 'out of order'], ...rows],
    )
  }
}

/** One queue of waiters, from the moment at which the resource is given up until all have had their turn. */
async function drain(name: string, url: string, processes: number): Promise<Drain | undefined> {
  const opener = await openRival(name, url)
  if (!opener) return undefined
  const release = await opener.hold()
  const crowds = Array.from({ length: processes }, () =>
    startCrowd({ rival: name, url, waiters: WAITERS / processes }),
  )
  await Promise.all(crowds.map(({ waiting }) => waiting))
  const start = now()
  await release()
  const reports = await Promise.all(crowds.map(({ done }) => done))
  await opener.close()
  const holds = reports.flatMap((report) => report.holds).sort((a, b) => a.granted - b.granted)
  const commands = reports.reduce((sum, report) => sum + report.commands, 0)
  return {
    ms: (holds.at(-1)?.released ?? 0) - start,
    handOvers: holds.map((hold, n) => hold.granted - (holds[n - 1]?.released ?? start)),
    commandsEach: commands / WAITERS,
    outOfOrder: countOutOfOrder(holds),
  }
}

function countOutOfOrder(holds: readonly Hold[]): number | null {
  if (holds.some(({ place }) => place < 0)) return null
  return holds.filter((hold, n) => hold.place < (holds[n - 1]?.place ?? -1)).length
}

function startCrowd(orders: Orders) {
  const child = fork(join(import.meta.dirname, 'crowd.ts'))
  child.send(orders)
  const report = async <T extends Report['type']>(type: T): Promise<Report & { type: T }> => {
    for (;;) {
      const [message] = (await once(child, 'message')) as [Report]
      if (message.type === type) return message as Report & { type: T }
    }
  }
  return { waiting: report('waiting'), done: report('done') }
}

function row(name: string, drains: readonly Drain[]): string[] {
  const handOvers = drains.flatMap((drain) => drain.handOvers)
  const median = (of: (drain: Drain) => number) => quantile(drains.map(of), 0.5)
  const outOfOrder = drains.map((drain) => drain.outOfOrder)
  return [
    name,
    median(({ ms }) => ms).toFixed(0),
    quantile(handOvers, 0.5).toFixed(2),
    quantile(handOvers, 0.99).toFixed(2),
    median(({ commandsEach }) => commandsEach).toFixed(2),
    outOfOrder.includes(null) ? '' : String(outOfOrder.reduce<number>((sum, n) => sum + (n ?? 0), 0)),
  ]
}
