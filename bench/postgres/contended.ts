import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import pg from 'pg'
import { printTable, quantile } from '../measure.ts'
import type { Orders, Report } from './crowd.ts'
import { type Hold, now } from './hold.ts'
import { rivals } from './rivals.ts'

const WAITERS = 50
const ROUNDS = 6

interface Drain {
  readonly ms: number
  readonly handOvers: readonly number[]
  readonly callsEach: number
  readonly outOfOrder: number
}

export async function benchContended(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`create table holdfast_bench.baton (owner text, token bigint not null);
    insert into holdfast_bench.baton values (null, 1)`)
  await client.end()
  for (const processes of [1, 5]) {
    const drains = new Map(Object.keys(rivals).map((name) => [name, [] as Drain[]]))
    for (let round = 0; round < ROUNDS; round++)
      for (const [name, of] of drains) of.push(await drain(name, url, processes))
    const where = processes === 1 ? 'one process' : `${processes} processes`
    printTable(`Postgres, ${WAITERS} waiters in ${where}, 1 ms hold; hand-over from release call to grant`, [
      ['', 'drain ms', 'p50 ms', 'p99 ms', 'calls each', 'out of order'],
      ...[...drains].map(([name, of]) => row(name, of)),
    ])
  }
}

/** One queue of waiters, from the moment at which the resource is given up until all have had their turn. */
async function drain(name: string, url: string, processes: number): Promise<Drain> {
  const opener = await rivals[name]?.({ url, member: processes, members: processes })
  if (!opener) throw new Error(`no rival ${name}`)
  const release = await opener.hold()
  const crowds = Array.from({ length: processes }, (_, member) =>
    crowd({ rival: name, url, member, members: processes, waiters: WAITERS / processes }),
  )
  await Promise.all(crowds.map(({ waiting }) => waiting))
  const start = now()
  await release()
  const reports = await Promise.all(crowds.map(({ done }) => done))
  await opener.close()
  const holds = reports.flatMap((report) => report.holds).sort((a, b) => a.granted - b.granted)
  const calls = reports.reduce((sum, report) => sum + report.calls, 0)
  return { ms: (holds.at(-1)?.released ?? 0) - start, callsEach: calls / WAITERS, ...judge(holds, start) }
}

function judge(holds: readonly Hold[], start: number) {
  return {
    handOvers: holds.map((hold, n) => hold.granted - (holds[n - 1]?.released ?? start)),
    outOfOrder: holds.filter((hold, n) => hold.place < (holds[n - 1]?.place ?? -1)).length,
  }
}

function crowd(orders: Orders) {
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
  const isLease = name === 'leases'
  return [
    name,
    quantile(
      drains.map((drain) => drain.ms),
      0.5,
    ).toFixed(0),
    quantile(handOvers, 0.5).toFixed(2),
    quantile(handOvers, 0.99).toFixed(2),
    isLease
      ? quantile(
          drains.map((drain) => drain.callsEach),
          0.5,
        ).toFixed(2)
      : '',
    isLease ? String(drains.reduce((sum, drain) => sum + drain.outOfOrder, 0)) : '',
  ]
}
