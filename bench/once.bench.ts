/** Jobs on Postgres beside two job queues, and workers that are killed in the midst of a thousand jobs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJobs } from '../examples/job-worker/open-jobs.ts'
import { startServer } from '../scripts/services/index.ts'
import { Effects } from '../test/once/effects.ts'
import { storm } from '../test/once/storm.ts'
import { WorkerProcesses } from '../test/once/worker-processes.ts'
import { printTable, rateTable } from './measure.ts'
import { OURS, openRunners } from './once/runners.ts'

const ROUNDS = 5
const JOBS_A_ROUND = 1000
const LANES = 8
const STORM = { jobs: 1000, workers: 8, killAfter: 25 }

export async function run(): Promise<void> {
  const server = await startServer('postgres')
  try {
    await compareJobRates(server.address)
    await stormOn('Postgres', () => server.address)
    await stormOn('SQLite', (directory) => `sqlite:${join(directory, 'jobs.db')}`)
  } finally {
    await server.stop()
  }
}

async function compareJobRates(url: string): Promise<void> {
  const runners = await openRunners(url, LANES)
  const rates = runners.map(({ name }) => ({ name, rounds: [] as number[] }))
  for (let round = -1; round < ROUNDS; round++) {
    for (const [index, runner] of runners.entries()) {
      await runner.fill(JOBS_A_ROUND)
      const started = performance.now()
      const ran = await runner.drain()
      const seconds = (performance.now() - started) / 1000
      if (ran !== JOBS_A_ROUND) throw new Error(`${runner.name} ran ${ran} of ${JOBS_A_ROUND} jobs`)
      // The first round warms up.
      if (round >= 0) rates[index]?.rounds.push(ran / seconds)
    }
  }
  for (const runner of runners) await runner.close()
  printTable(`Postgres, jobs run to their end, ${LANES} at a time, one by one`, rateTable(rates, OURS))
}

async function stormOn(name: string, urlOf: (directory: string) => string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  const path = join(directory, 'effects.db')
  const url = urlOf(directory)
  const effects = new Effects(path)
  const processes = new WorkerProcesses({ url, table: 'storm', effects: path, ttl: 1000 })
  try {
    await using opened = await openJobs(url, 'storm')
    const { kills, deliveries, recovered, ready } = await storm(processes, opened.jobs, STORM)
    printTable(`${name}, ${STORM.jobs} jobs, ${STORM.workers} workers, killed at random`, [
      ['kills', 'deliveries', 'recovered', 'ready', 'effects', 'late effects refused'],
      [kills, deliveries, recovered, ready, effects.count('effects'), effects.count('refused')].map(String),
    ])
  } finally {
    processes.killAll()
    effects.close()
    rmSync(directory, { recursive: true, force: true })
  }
}
