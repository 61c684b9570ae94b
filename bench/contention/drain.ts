import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { printTable, quantile, spreadOf } from '../measure.ts'
import type { Orders, Report } from './crowd.ts'
import { HOLD_MS, type Hold, now, type OpenRival, WAITERS } from './rival.ts'

interface Drain {
  readonly ms: number
  readonly handoffs: readonly number[]
  readonly callsEach: number | null
  /** Grants to one who stood behind another that was still waiting; `null` where there is no line. */
  readonly outOfOrder: number | null
}

export interface Contest {
  /** What the table is about, such as `Redis`. */
  readonly title: string
  readonly url: string
  /** The module that exports `openRival`, as a URL. */
  readonly rivals: string
  /** Ours is the first. */
  readonly names: readonly string[]
  /** Those that poll take seconds for a round. */
  readonly roundsOf: (name: string) => number
}

/** Lets every rival drain a line of waiters, in one process and in five. */
export async function compareDrains(contest: Contest): Promise<void> {
  const { openRival } = (await import(contest.rivals)) as { openRival: OpenRival }
  for (const processes of [1, 5]) {
    const drains = new Map<string, Drain[]>()
    const most = Math.max(...contest.names.map(contest.roundsOf))
    for (let round = 0; round < most; round++) {
      for (const name of contest.names.filter((name) => round < contest.roundsOf(name))) {
        const drained = await drain(contest, openRival, name, processes).catch((error: unknown) => {
          if (name === contest.names[0]) throw error
          // Other packages give up, such as after a deadlock in their own table.
          console.error(`${contest.title}, ${name}: a round failed`, error)
        })
        if (drained) drains.set(name, [...(drains.get(name) ?? []), drained])
      }
    }
    const where = processes === 1 ? 'one process' : `${processes} processes`
    printTable(
      `${contest.title}, ${WAITERS} waiters in ${where}, ${HOLD_MS} ms hold; handoff from release call to grant`,
      [
        [
          '',
          'drain ms',
          'spread',
          'p50 ms',
          'spread of p50',
          'p99 ms',
          'spread of p99',
          'calls each',
          'out of order',
        ],
        ...[...drains].map(([name, of]) => row(name, of)),
      ],
    )
  }
}

/** One line of waiters, from the moment at which the resource is given up until all have had their turn. */
async function drain(
  { url, rivals }: Contest,
  openRival: OpenRival,
  name: string,
  processes: number,
): Promise<Drain | undefined> {
  const opener = await openRival(name, { url, member: processes, members: processes })
  if (!opener) return undefined
  const release = await opener.hold()
  const crowds = Array.from({ length: processes }, (_, member) =>
    startCrowd({ rivals, name, url, member, members: processes, waiters: WAITERS / processes }),
  )
  await Promise.all(crowds.map(({ waiting }) => waiting))
  const start = now()
  await release()
  const reports = await Promise.all(crowds.map(({ done }) => done))
  await opener.close()
  const holds = reports.flatMap((report) => report.holds).sort((a, b) => a.granted - b.granted)
  const calls = reports.map((report) => report.calls)
  return {
    ms: (holds.at(-1)?.released ?? 0) - start,
    handoffs: holds.map((hold, n) => hold.granted - (holds[n - 1]?.released ?? start)),
    callsEach: calls.includes(null) ? null : sum(calls) / WAITERS,
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
  const failed = new AbortController()
  child.once('exit', (code) => {
    if (code !== 0) failed.abort(new Error(`a process with waiters of ${orders.name} ended with ${code}`))
  })
  const report = async <T extends Report['type']>(type: T): Promise<Report & { type: T }> => {
    for (;;) {
      const [message] = (await once(child, 'message', { signal: failed.signal })) as [Report]
      if (message.type === type) return message as Report & { type: T }
    }
  }
  return { waiting: report('waiting'), done: report('done') }
}

function row(name: string, drains: readonly Drain[]): string[] {
  const times = drains.map(({ ms }) => ms)
  const handoffs = drains.flatMap((drain) => drain.handoffs)
  const ofRounds = (q: number) => drains.map((drain) => quantile(drain.handoffs, q))
  const calls = drains.map((drain) => drain.callsEach)
  const outOfOrder = drains.map((drain) => drain.outOfOrder)
  return [
    name,
    quantile(times, 0.5).toFixed(0),
    spreadOf(times, 0),
    quantile(handoffs, 0.5).toFixed(2),
    spreadOf(ofRounds(0.5)),
    quantile(handoffs, 0.99).toFixed(2),
    spreadOf(ofRounds(0.99)),
    calls.includes(null) ? '' : (sum(calls) / calls.length).toFixed(2),
    outOfOrder.includes(null) ? '' : String(sum(outOfOrder)),
  ]
}

function sum(numbers: readonly (number | null)[]): number {
  return numbers.reduce<number>((total, number) => total + (number ?? 0), 0)
}
