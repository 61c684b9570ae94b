/** Many processes that have just started ask for one job of Firestore, as containers do that a queue has woken. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openJobs } from '../examples/job-worker/open-jobs.ts'
import { startServer } from '../scripts/services/index.ts'
import { printTable, quantile } from './measure.ts'

const PROCESSES = 20
const ROUNDS = 2
const CHILD = join(import.meta.dirname, 'once/cold-process.ts')

interface Outcome {
  readonly outcome: string
  readonly ms: number
}

export async function run(): Promise<void> {
  const server = await startServer('firestore')
  process.env['FIRESTORE_EMULATOR_HOST'] = server.address
  try {
    const rows = [['round', 'ran', 'skipped', 'failed', 'median', 'slowest']]
    for (let round = 1; round <= ROUNDS; round++)
      rows.push([String(round), ...(await runRound(`job-${round}`))])
    printTable(`Firestore, ${PROCESSES} cold processes on one job`, rows)
  } finally {
    await server.stop()
  }
}

async function runRound(id: string): Promise<string[]> {
  const [url, collection] = ['firestore:holdfast-bench', 'cold']
  await using opened = await openJobs(url, collection)
  await opened.jobs.add(id)
  const outcomes = await Promise.all(
    Array.from({ length: PROCESSES }, async (): Promise<Outcome> => {
      const { stdout } = await promisify(execFile)(process.execPath, [CHILD, url, collection, id])
      return JSON.parse(stdout)
    }),
  )
  for (const { outcome } of outcomes) if (outcome.startsWith('failed')) console.log(outcome)
  const count = (matches: (outcome: string) => boolean) =>
    String(outcomes.filter(({ outcome }) => matches(outcome)).length)
  const times = outcomes.map(({ ms }) => ms)
  return [
    count((outcome) => outcome === 'ran'),
    count((outcome) => outcome === 'locked' || outcome === 'already_finished'),
    count((outcome) => outcome.startsWith('failed')),
    `${quantile(times, 0.5).toFixed(0)} ms`,
    `${Math.max(...times).toFixed(0)} ms`,
  ]
}
