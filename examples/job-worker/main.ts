/** Three worker processes race for the same hundred jobs. If you kill one, another recovers its job. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Board, type Report } from './board.ts'
import { ADDRESSES, openJobs } from './open-jobs.ts'

const HELP = `node examples/job-worker/main.ts [options]

  --store <url>    ${ADDRESSES}   (a fresh SQLite file)
  --table <name>   the table or collection of the jobs, or the beginning of their keys   (a fresh one)
  --jobs <n>       how many jobs                                      (100)
  --workers <n>    how many processes                                 (3)
  --work <ms>      how long a job takes                               (40)
  --ttl <ms>       how long a dead worker's lock lives                (2000)
  --kill           kill the first worker in the middle of a job
`

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    table: { type: 'string', default: `jobs_${Date.now()}` },
    jobs: { type: 'string', default: '100' },
    workers: { type: 'string', default: '3' },
    work: { type: 'string', default: '40' },
    ttl: { type: 'string', default: '2000' },
    kill: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit()
}

const directory = await mkdtemp(join(tmpdir(), 'job-worker-'))
const url = values.store ?? `sqlite:${join(directory, 'jobs.db')}`
const count = wholeNumber('jobs')
const board = new Board(process.stdout, count)

try {
  await using opened = await openJobs(url, values.table)
  const ids = Array.from({ length: count }, (_, n) => `job-${n + 1}`)
  for (const id of ids) await opened.jobs.add(id)

  await Promise.all(Array.from({ length: wholeNumber('workers') }, (_, n) => runWorker(`worker-${n + 1}`)))

  const jobs = await Promise.all(ids.map((id) => opened.jobs.read(id)))
  const ready = jobs.filter((job) => job?.status === 'READY').length
  console.log(`${ready} of ${count} jobs are READY, ${board.recovered} recovered from a dead worker`)
  if (ready < count) process.exitCode = 1
} finally {
  await rm(directory, { recursive: true, force: true })
}

async function runWorker(name: string): Promise<void> {
  const settings = [url, values.table, name, count, wholeNumber('ttl'), wholeNumber('work')].map(String)
  const worker = fork(join(import.meta.dirname, 'worker.ts'), settings, { execArgv: [] })
  board.started(name, worker.pid ?? 0)
  worker.on('message', (report: Report) => {
    board.report(name, report)
    if (values.kill && name === 'worker-1' && report.type === 'started') worker.kill('SIGKILL')
  })
  const [code, signal] = await once(worker, 'exit')
  board.ended(name, signal ? `was killed (${signal})` : code === 0 ? 'is done' : `failed (exit ${code})`)
}

function wholeNumber(option: 'jobs' | 'workers' | 'ttl' | 'work'): number {
  const value = Number(values[option])
  if (Number.isInteger(value) && value > 0) return value
  console.error(`--${option}: expected a whole number from 1, got ${values[option]}\n\n${HELP}`)
  process.exit(2)
}
