import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openJobs } from '../../examples/job-worker/open-jobs.ts'
import type { JobStore } from '../../src/once/index.ts'
import { HANG_MS } from '../hang-limit.ts'
import { Effects } from '../once/effects.ts'
import { storm } from '../once/storm.ts'
import { TaskQueue } from '../once/task-queue.ts'
import { openTransactions } from '../once/transactional-effects.ts'
import { WorkerProcesses } from '../once/worker-processes.ts'

const { HOLDFAST_TEST_POSTGRES_URL: postgresUrl = '', FIRESTORE_EMULATOR_HOST: emulator } = process.env
const { HOLDFAST_STORM_JOBS: stormJobs } = process.env
/** Only of a longer storm than usual. */
const stormLimit = stormJobs ? 30 * HANG_MS : undefined
/** Long enough for heartbeats on a busy machine. */
const HEARTBEAT_TTL_MS = 6000
/** A worker may finish the job after the queue has stopped waiting for its answer. */
const SUCCESS = { status: expect.stringMatching(/^(done|already_finished)$/) }

describe.each([
  ['sqlite', 1000, 200],
  ['postgres', 1000, 200],
  // The storm passes here too, but workers with this client take seconds to start.
  ['firestore', 2500, 0],
])('worker processes on %s', (kind, ttl, jobsInStorm) => {
  let directory: string
  let url: string
  let jobs: JobStore
  let effects: Effects
  let processes: WorkerProcesses
  let queue: TaskQueue
  let dispose: () => Promise<void>
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'holdfast-once-'))
    const path = join(directory, 'effects.db')
    const table = `jobs_${crypto.randomUUID().slice(0, 8)}`
    if (kind === 'firestore' && !emulator) throw new Error('expected an emulator')
    url =
      { sqlite: `sqlite:${join(directory, 'jobs.db')}`, postgres: postgresUrl }[kind] ?? 'firestore:holdfast'
    const opened = await openJobs(url, table)
    jobs = opened.jobs
    dispose = async () => opened[Symbol.asyncDispose]()
    effects = new Effects(path)
    processes = new WorkerProcesses({ url, table, effects: path, ttl })
    queue = new TaskQueue(() => processes.workers)
  })
  afterEach(async () => {
    queue.stop()
    await processes.killAll()
    effects.close()
    await dispose()
    await rm(directory, { recursive: true, force: true })
  })

  it('one is killed in the middle of a job, and another finishes the job, once', async () => {
    await Promise.all([processes.start(), processes.start()])
    await jobs.add('hang-1')
    const started = processes.senderOf((message) => message.type === 'started')
    const delivered = queue.deliver('hang-1')
    processes.kill(await started)
    expect(await delivered).toMatchObject(SUCCESS)
    const job = await jobs.read('hang-1')
    expect(job).toMatchObject({ status: 'READY', result: { attempt: job?.attempts } })
    expect(job?.attempts).toBeGreaterThan(1)
    expect(effects.count('effects')).toBe(1)
    const patient = new TaskQueue(() => processes.workers, { deadlineMs: HANG_MS })
    expect(await patient.deliver('hang-1')).toMatchObject({ times: 1, status: 'already_finished' })
  })

  it('one is stopped for longer than its TTL, and its late result and effect are refused', async () => {
    await Promise.all([processes.start(), processes.start()])
    await jobs.add('late-1')
    const started = processes.senderOf((message) => message.type === 'started')
    const delivered = queue.deliver('late-1')
    const stopped = await started
    expect(await delivered).toMatchObject(SUCCESS)
    const rejected = processes.senderOf(
      (message) => message.type === 'rejected' && message.code === 'lease-lost',
    )
    stopped.process.kill('SIGCONT')
    expect((await rejected).name).toBe(stopped.name)
    expect(await jobs.read('late-1')).toMatchObject({ result: { allowed: true } })
    expect([effects.count('effects'), effects.count('refused')]).toEqual([1, 1])
  })

  it('keep the lock of work that takes longer than the TTL', async () => {
    const ttl = HEARTBEAT_TTL_MS
    await Promise.all([processes.start({ ttl }), processes.start({ ttl })])
    await jobs.add('hang-2')
    const started = processes.senderOf((message) => message.type === 'started')
    queue.deliver('hang-2')
    await started
    await sleep(ttl * 1.3)
    expect(await jobs.acquire('hang-2', 'another', ttl)).toMatchObject({ reason: 'locked' })
    expect(await jobs.read('hang-2')).toMatchObject({ attempts: 1 })
  })

  if (jobsInStorm === 0) return
  it(
    'are killed at random and at each step of their transactions, and every effect happens once without being idempotent',
    async () => {
      const table = `paid_${crypto.randomUUID().slice(0, 8)}`
      const killed = new WorkerProcesses({ url, table, effects: '', ttl, program: 'transactional-worker.ts' })
      await using opened = await openJobs(url, table)
      await using transactions = await openTransactions(url, table)
      try {
        const count = Number(stormJobs ?? jobsInStorm)
        const doomedSteps = ['effect', 'completed', 'committed']
        const report = await storm(killed, opened.jobs, {
          jobs: count,
          workers: 8,
          killAfter: 25,
          doomedSteps,
        })
        if (stormJobs) console.log(kind, report)
        expect(report).toMatchObject({ ready: count })
        expect(report.kills).toBeGreaterThanOrEqual(count / 25)
        const counts = await transactions.counts()
        expect([...counts.values()]).toEqual(Array(count).fill(1))
      } finally {
        await killed.killAll()
      }
    },
    stormLimit,
  )

  it('are killed at random, and every effect happens once', async () => {
    const report = await storm(processes, jobs, { jobs: jobsInStorm, workers: 8, killAfter: 20 })
    expect(report).toMatchObject({ kills: jobsInStorm / 20, ready: jobsInStorm })
    expect(effects.count('effects')).toBe(jobsInStorm)
  })
})
