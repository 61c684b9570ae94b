/**
 * What leases cost the server, on its own processor: one acquire and release, and one renewal. `--stores redis` chooses
 * the stores, `--most 2000` limits the leases that are held.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createLeases } from '../src/core/index.ts'
import { openStore } from '../test/processes/open-store.ts'
import { printTable } from './measure.ts'
import { openSubjects, type Subject } from './pause/subjects.ts'
import type { BenchFlags } from './run.ts'

const PAIRS = 10_000
const LANES = 32
const TTL_MS = 6000
/** Each lease is renewed about five times. */
const HOLD_MS = 10_000
const STORES = 'redis,postgres,mysql,etcd,http'

export async function run({ stores = STORES, most = '2000' }: BenchFlags): Promise<void> {
  const rows: string[][] = []
  for await (const [name, subject] of openSubjects(stores))
    rows.push([name, ...(await costOf(subject, Number(most)))])
  printTable(`Processor time of the server, in µs (${PAIRS} times, and ${most} leases held)`, [
    ['', 'acquire and release', 'renewal', 'renewals'],
    ...rows,
  ])
}

async function costOf({ address, server }: Subject, held: number): Promise<string[]> {
  if (!server) throw new Error(`${address} has no server`)
  const { store, close } = await openStore(address)
  let renewals = 0
  const leases = createLeases(store, {
    ttl: TTL_MS,
    onEvent: ({ type }) => {
      if (type === 'renewed') renewals++
    },
  })
  const cycle = async (name: string) => (await leases.acquire(name)).release()
  await each(PAIRS / 10, (n) => cycle(`warm:${n}`))
  const pair = await timeOf(server, () => each(PAIRS, (n) => cycle(`pair:${n}`)))
  await each(held, async (n) => void (await leases.acquire(`held:${n}`)))
  renewals = 0
  const holding = await timeOf(server, () => sleep(HOLD_MS))
  const counted = renewals
  await leases.close()
  await close()
  return [(pair / PAIRS).toFixed(0), (holding / counted).toFixed(0), String(counted)]
}

/** In microseconds. */
async function timeOf(server: NonNullable<Subject['server']>, work: () => Promise<void>): Promise<number> {
  const before = server.cpuSeconds()
  await work()
  return (server.cpuSeconds() - before) * 1e6
}

async function each(count: number, work: (n: number) => Promise<void>): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => n).values()
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      for (const n of numbers) await work(n)
    }),
  )
}
