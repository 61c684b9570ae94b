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
import { WorkForce } from '../once/work-force.ts'

const { HOLDFAST_TEST_POSTGRES_URL: postgresUrl = '', FIRESTORE_EMULATOR_HOST: emulator } = process.env
/** A worker that lives has this long for a heartbeat. */
const BEATING_TTL_MS = 6000
/** A worker may finish the job after the queue has stopped to wait for its answer. */
const CONTENT = { status: expect.stringMatching(/^(done|already_finished)$/) }

describe.each([
  ['sqlite', 1000, 200],
  ['postgres', 1000, 200],
  // A client that is killed within a transaction keeps the emulator's writers waiting for a minute.
  ['firestore', 2500, 0],
])('workers of real processes on %s', (kind, ttl, jobsInStorm) => {
  let directory: string
  let jobs: JobStore
  let effects: Effects
  let force: WorkForce
  let queue: TaskQueue
  let dispose: () => Promise<void>
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'holdfast-once-'))
    const path = join(directory, 'effects.db')
    const table = `jobs_${crypto.randomUUID().slice(0, 8)}`
    if (kind === 'firestore' && !emulator) throw new Error('expected an emulator')
    const url =
      { sqlite: `sqlite:${join(directory, 'jobs.db')}`, postgres: postgresUrl }[kind] ?? 'firestore:holdfast'
    const opened = await openJobs(url, table)
    jobs = opened.jobs
    dispose = async () => opened[Symbol.asyncDispose]()
    effects = new Effects(path)
    force = new WorkForce({ url, table, effects: path, ttl })
    queue = new TaskQueue(() => force.workers)
  })
  afterEach(async () => {
    queue.stop()
    await force.dismiss()
    effects.close()
    await dispose()
    await rm(directory, { recursive: true, force: true })
  })

  it('one is killed by kill -9 in mid-job, and another finishes the job, once', async () => {
    await Promise.all([force.hire(), force.hire()])
    await jobs.add('hang-1')
    const started = force.heard((message) => message.type === 'started')
    const delivered = queue.deliver('hang-1')
    force.kill(await started)
    expect(await delivered).toMatchObject(CONTENT)
    const job = await jobs.read('hang-1')
    expect(job).toMatchObject({ status: 'READY', result: { attempt: job?.attempts } })
    expect(job?.attempts).toBeGreaterThan(1)
    expect(effects.count('effects')).toBe(1)
    const patient = new TaskQueue(() => force.workers, { deadlineMs: HANG_MS })
    expect(await patient.deliver('hang-1')).toMatchObject({ times: 1, status: 'already_finished' })
  })

  it('one is stopped past its TTL, and its late result and effect are refused', async () => {
    await Promise.all([force.hire(), force.hire()])
    await jobs.add('late-1')
    const started = force.heard((message) => message.type === 'started')
    const delivered = queue.deliver('late-1')
    const stopped = await started
    expect(await delivered).toMatchObject(CONTENT)
    const rejected = force.heard((message) => message.type === 'rejected' && message.code === 'lease-lost')
    stopped.process.kill('SIGCONT')
    expect((await rejected).name).toBe(stopped.name)
    expect(await jobs.read('late-1')).toMatchObject({ result: { allowed: true } })
    expect([effects.count('effects'), effects.count('refused')]).toEqual([1, 1])
  })

  it('beat for work that takes longer than the TTL, which nobody else starts', async () => {
    const ttl = BEATING_TTL_MS
    await Promise.all([force.hire({ ttl }), force.hire({ ttl })])
    await jobs.add('hang-2')
    const started = force.heard((message) => message.type === 'started')
    queue.deliver('hang-2')
    await started
    await sleep(ttl * 1.3)
    expect(await jobs.acquire('hang-2', 'another', ttl)).toMatchObject({ reason: 'locked' })
    expect(await jobs.read('hang-2')).toMatchObject({ attempts: 1 })
  })

  if (jobsInStorm === 0) return
  it('are killed at random, and every effect comes once, none is lost', async () => {
    const report = await storm(force, jobs, { jobs: jobsInStorm, workers: 8, killAfter: 20 })
    expect(report).toMatchObject({ kills: jobsInStorm / 20, ready: jobsInStorm })
    expect(effects.count('effects')).toBe(jobsInStorm)
  })
})
