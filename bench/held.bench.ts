/**
 * What it costs to hold thousands of leases: memory and processor time of one manager with its heartbeats. `--most 10000`
 * leases, `--stores redis,etcd`. Memory is the floor: a manager without a server.
 */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import type { Holding } from './held/process.ts'
import { printTable, quantile, spreadOf } from './measure.ts'
import { next, openSubjects } from './pause/subjects.ts'
import type { BenchFlags } from './run.ts'

export async function run({ stores, most = '10000' }: BenchFlags): Promise<void> {
  const rows: string[][] = []
  for await (const [name, { address }] of openSubjects(stores)) {
    const child = fork(join(import.meta.dirname, 'held/process.ts'), [address, most])
    const { acquireMs, lost, megabytes, cpuShares } = await next<Holding>(child)
    rows.push([
      name,
      (acquireMs / 1000).toFixed(1),
      String(lost),
      Math.max(...megabytes).toFixed(0),
      spreadOf(megabytes, 0),
      (quantile(cpuShares, 0.5) * 100).toFixed(1),
      spreadOf(
        cpuShares.map((share) => share * 100),
        1,
      ),
    ])
  }
  printTable(`${most} leases held by one manager, TTL 30 s`, [
    ['', 'acquired, s', 'lost', 'MB at most', 'spread of MB', '% of a core', 'spread of %'],
    ...rows,
  ])
}
