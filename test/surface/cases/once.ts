import assert from 'node:assert/strict'
import { LeaseError, systemClock } from 'holdfast'
import {
  analysisJobs,
  createOnce,
  createTaskHandler,
  idOf,
  type JobFields,
  type JobStore,
  type JobWork,
  type ResultOptions,
} from 'holdfast/once'
import { unique } from './backend.ts'
import { idempotencyCase } from './idempotency.ts'

/** Other names for everything, as a table or collection of your own may have. */
export const FIELDS: JobFields = {
  ...{ status: 'state', result: 'outcome', error: 'problem', attempts: 'tries' },
  ...{ lockOwner: 'owner', lockExpiresAt: 'expires', lockHeartbeatAt: 'beat', lockToken: 'fence' },
  ...{ fingerprint: 'print', keptUntil: 'kept' },
}

export const STATUSES = { pending: 'NEW', ready: 'DONE', failed: 'BROKEN', alsoFinal: ['CANCELLED'] }

/** Commits, or rolls back if the work rejects. */
export type InTransaction = <T>(work: (tx: object) => Promise<T>) => Promise<T>

/** Jobs with default names, then with names of your own. */
export async function onceCase(
  jobs: JobStore,
  renamed: JobStore,
  inTransaction?: InTransaction,
): Promise<void> {
  await runsOnce(jobs)
  await runsWithOptions(renamed)
  for (const each of [jobs, renamed]) await givesOneResult(each)
  await answersTasks(jobs)
  await locksAlone(jobs)
  for (const each of [jobs, renamed])
    await (inTransaction ? completesIn(each, inTransaction) : cannotComplete(each))
  await idempotencyCase(jobs)
}

async function runsOnce(jobs: JobStore): Promise<void> {
  const id = `${unique}-once`
  await using once = createOnce(jobs)
  await once.add(id)
  const waiting = once.wait(id)
  assert.deepEqual(await once.run(id, ({ attempt }) => ({ attempt })), { ran: true, result: { attempt: 1 } })
  assert.deepEqual((await waiting).result, { attempt: 1 })
  const again = await once.run(id, () => 'never')
  assert(!again.ran)
  assert.deepEqual(again.job?.result, { attempt: 1 })
  assert.equal((await once.read(id))?.status, 'READY')
  await once.close()
}

export async function completesIn(jobs: JobStore, inTransaction: InTransaction): Promise<void> {
  const id = `${unique}-completed`
  await using once = createOnce(jobs)
  const work: JobWork<unknown> = ({ complete }) => inTransaction((tx) => complete(tx, { paid: 1 }))
  const run = await once.run(id, work, { add: true })
  assert.deepEqual(run, { ran: true, result: { paid: 1 } })
  assert.deepEqual(await once.result(`${id}-kept`, work), run)
  const { complete, completed } = jobs
  assert(complete && completed)
  for (const [alone, kept] of [
    [`${id}-alone`, {}],
    [`${id}-alone-kept`, { keepMs: 60_000 }],
  ] as const) {
    await jobs.add(alone)
    const grant = await jobs.acquire(alone, 'run-5', 60_000)
    assert(grant.granted)
    const holder = { owner: 'run-5', token: grant.token }
    const outcome = { result: 1, ...kept }
    assert(await inTransaction(async (tx) => complete(tx, alone, holder, outcome)))
    assert(await completed(alone, holder))
  }
}

async function cannotComplete(jobs: JobStore): Promise<void> {
  await using once = createOnce(jobs)
  const run = once.run(`${unique}-incomplete`, ({ complete }) => complete({}, 1), { add: true })
  await assert.rejects(run, { code: 'invalid-argument' })
}

async function runsWithOptions(jobs: JobStore): Promise<void> {
  const id = `${unique}-options`
  const { signal } = new AbortController()
  await using once = createOnce(jobs, {
    ...{ worker: 'surface', onEvent: () => {}, callTimeout: '30s', onWarning: () => {}, clock: systemClock },
    ...{ ttl: '5m', heartbeat: '90s', maxAttempts: 3 },
  })
  const run = await once.run(id, ({ token }) => token, {
    ...{ ttl: '5m', heartbeat: '90s', callTimeout: '30s', maxAttempts: 3, signal, add: true },
  })
  assert(run.ran)
  assert.equal((await once.wait(id, { wait: '1m', signal })).status, 'DONE')
  assert.equal((await once.wait(id, { timeout: '1m' })).status, 'DONE')
}

async function givesOneResult(jobs: JobStore): Promise<void> {
  const payload = { number: 42, note: 'ü' }
  const id = await idOf(payload, { prefix: `${unique}-`, fields: ['number'] })
  const { signal } = new AbortController()
  const options: ResultOptions = {
    ...{ payload, keep: '1h', wait: '30s', failures: 'keep', ttl: '5m', heartbeat: '90s' },
    ...{ callTimeout: '30s', maxAttempts: 3, signal },
  }
  await using once = createOnce(jobs)
  let runs = 0
  const work = () => ({ run: ++runs })
  assert.deepEqual(await once.result(id, work, options), { ran: true, result: { run: 1 } })
  assert.deepEqual(await once.result(id, work, { payload }), { ran: false, result: { run: 1 } })
  await assert.rejects(once.result(id, work, { payload: 1 }), { code: 'payload-mismatch' })
  assert.deepEqual(await once.result(`${unique}-${await idOf(payload)}`, () => 1), { ran: true, result: 1 })
  assert(Number.isInteger(await once.sweep()))
  assert(jobs.sweep === undefined || Number.isInteger(await jobs.sweep(10)))
  const create = { fingerprint: 'any', keepMs: 60_000 }
  const grant = await jobs.acquire(`${id}-alone`, 'run-4', 60_000, { create })
  assert(grant.granted)
  assert(
    await jobs.finish(`${id}-alone`, { owner: 'run-4', token: grant.token }, { result: 1, keepMs: 60_000 }),
  )
}

async function answersTasks(jobs: JobStore): Promise<void> {
  await using once = createOnce(jobs)
  const handle = createTaskHandler(once, {
    ...{
      work: () => ({ pages: 12 }),
      authorize: () => true,
      onLocked: 'retry',
      lockedStatus: 429,
      add: true,
    },
    ...{
      retryAfter: '10s',
      path: '/tasks',
      idOf: async (request) => (await request.json()).id,
      onError: () => {},
    },
    ...{ ttl: '5m', heartbeat: '90s', callTimeout: '30s', maxAttempts: 3 },
  })
  const id = `${unique}-task`
  await jobs.add(id)
  const body = JSON.stringify({ id })
  const response = await handle(new Request('http://localhost/tasks', { method: 'POST', body }))
  assert.deepEqual(await response.json(), { status: 'done' })
  const analyses = createTaskHandler(once, { ...analysisJobs.tasks, work: () => 1, authorize: 'everyone' })
  const request = new Request('http://localhost/internal/tasks/analysis', {
    method: 'POST',
    body: JSON.stringify({ analysisId: id }),
  })
  assert.deepEqual(await (await analyses(request)).json(), { status: 'already_finished' })
}

/** The functions of a store of jobs, without `createOnce`. */
async function locksAlone(jobs: JobStore): Promise<void> {
  const [first, second] = [`${unique}-alone`, `${unique}-failed`]
  jobs.allow?.(30_000)
  await jobs.add(first)
  const stop = jobs.watch?.(first, () => {})
  const grant = await jobs.acquire(first, 'run-1', 60_000)
  assert(grant.granted)
  assert(await jobs.refresh(first, 'run-1', 60_000))
  assert.equal(await jobs.release(first, 'run-1'), true)
  const next = await jobs.acquire(first, 'run-2', 60_000, { maxAttempts: 5 })
  assert(next.granted)
  assert.equal(await jobs.finish(first, { owner: 'run-2', token: next.token }, { result: 1 }), true)
  stop?.()
  await jobs.add(second)
  const failing = await jobs.acquire(second, 'run-3', 60_000)
  assert(failing.granted)
  await jobs.finish(second, { owner: 'run-3', token: failing.token }, { error: 'it failed' })
  assert.equal((await jobs.read(second))?.status, 'FAILED')
  assert(jobs.explain === undefined || jobs.explain(new LeaseError('closed', 'closed')) instanceof Error)
}
