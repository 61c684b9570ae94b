import { Firestore, type Settings, type Transaction } from '@google-cloud/firestore'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createAnalysisRepo, createOnce, firestoreJobs, type JobStore } from '../../src/once/index.ts'
import { eventually } from '../eventually.ts'
import type { Transactions } from '../once/describe-completion.ts'
import { describeJobStore } from '../once/describe-job-store.ts'
import { expectServerClock } from '../once/server-clock.ts'
import { pushOnlyClock } from '../push-only-clock.ts'

/** A status code of gRPC: the transaction must run again. */
const ABORTED = 10
const { FIRESTORE_EMULATOR_HOST = '127.0.0.1:8080' } = process.env

describeJobStore('firestore', {
  ttl: 1000,
  completes: true,
  create: async () => {
    const { client, collection, dispose } = open()
    const second = open()
    return {
      jobs: firestoreJobs(client, { collection }),
      peer: firestoreJobs(second.client, { collection }),
      transactions: {
        run: (work) => client.runTransaction(async (tx) => work(tx), { maxAttempts: 1 }),
        outside: [client, client.batch(), client.collection(collection).doc('job')],
      } satisfies Transactions,
      set: async (id: string, field: string, value: string) => {
        await client
          .collection(collection)
          .doc(id)
          .update({ [field]: value })
      },
      dispose: async () => {
        await Promise.all([dispose(), second.dispose()])
      },
    }
  },
})

let client: Firestore
let collection: string
let jobs: JobStore
let dispose: () => Promise<void>
beforeEach(() => {
  ;({ client, collection, dispose } = open())
  jobs = firestoreJobs(client, { collection })
})
afterEach(() => dispose())
const documentOf = (id: string) => client.collection(collection).doc(id)
const fieldsOf = async (id: string) => (await documentOf(id).get()).data()

describe('a job in a document of Firestore', () => {
  const mine = { title: 'mine', nested: { list: [1, { a: null }] }, lockedBefore: true }

  it('a job in a document of Firestore keeps all other fields', async () => {
    await documentOf('job').set({ status: 'QUEUED', ...mine })
    const once = createOnce(jobs, { worker: 'worker-1' })
    await once.run('job', async () => {
      expect(await fieldsOf('job')).toEqual({
        status: 'QUEUED',
        ...mine,
        lockOwner: expect.stringMatching(/^worker-1\//),
        lockExpiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        lockHeartbeatAt: expect.stringMatching(/Z$/),
        lockToken: expect.any(Number),
        attempts: 1,
      })
      return { score: 1 }
    })
    expect(await fieldsOf('job')).toMatchObject({
      status: 'READY',
      ...mine,
      result: { score: 1 },
      lockOwner: null,
      lockExpiresAt: null,
    })
  })

  it('a job in a document of Firestore is locked by the clock of the server, not of the worker', () =>
    expectServerClock(jobs))

  it('a job in a document of Firestore counts one attempt even if the transaction ran twice', async () => {
    let runs = 0
    const runTransaction = (body: (transaction: Transaction) => Promise<unknown>) =>
      client.runTransaction(async (transaction) => {
        const answer = await body(transaction)
        if (runs++ === 0) throw Object.assign(new Error('contention'), { code: ABORTED })
        return answer
      })
    const contended: Firestore = Object.assign(Object.create(client), { runTransaction })
    const rerunning = firestoreJobs(contended, { collection })
    await jobs.add('job')
    expect(await rerunning.acquire('job', 'a', 60_000)).toMatchObject({ granted: true, attempt: 1 })
    expect(await fieldsOf('job')).toMatchObject({ lockOwner: 'a', attempts: 1 })
    expect(runs).toBe(2)
  })

  it('a job in a document of Firestore can have a Timestamp that another program wrote', async () => {
    const soon = new Date(Date.now() + 60_000)
    await documentOf('job').set({ status: 'QUEUED', lockOwner: 'other', lockExpiresAt: soon })
    expect(await jobs.acquire('job', 'a', 60_000)).toMatchObject({ reason: 'locked' })
    await documentOf('job').update({ lockExpiresAt: new Date(Date.now() - 60_000) })
    expect(await jobs.acquire('job', 'a', 60_000)).toMatchObject({ granted: true })
  })

  it('a job in a document of Firestore has the field names and statuses of the options', async () => {
    const named = firestoreJobs(client, {
      collection,
      fields: { status: 'state', lockOwner: 'runner' },
      statuses: { ready: 'done', alsoFinal: ['cancelled'] },
    })
    await documentOf('job').set({ state: 'new', status: 'READY' })
    await createOnce(named).run('job', async () => {
      expect(await fieldsOf('job')).toMatchObject({ runner: expect.any(String), state: 'new' })
    })
    expect(await fieldsOf('job')).toMatchObject({ state: 'done', status: 'READY' })
    await documentOf('gone').set({ state: 'cancelled' })
    expect(await named.acquire('gone', 'a', 1000)).toMatchObject({ reason: 'already_finished' })
  })

  it('a job in a document of Firestore wakes a waiter through a snapshot listener', async () => {
    await jobs.add('job')
    const read = vi.spyOn(jobs, 'read')
    const once = createOnce(jobs, { clock: pushOnlyClock })
    const waiting = once.wait('job')
    await eventually(() => expect(read).toHaveBeenCalled())
    await createOnce(firestoreJobs(client, { collection })).run('job', () => 'done')
    expect(await waiting).toMatchObject({ result: 'done' })
  })

  it('a job in a document of Firestore is run once by a client that reads integers as BigInt', async () => {
    const { client: reader, dispose: end } = open({ useBigInt: true })
    const other = firestoreJobs(reader, { collection })
    await other.add('job')
    const retryable = Object.assign(new Error('later'), { retryable: true })
    await expect(createOnce(other).run('job', () => Promise.reject(retryable))).rejects.toBe(retryable)
    const run = await createOnce(other).run('job', ({ attempt }) => attempt)
    await end()
    expect(run).toEqual({ ran: true, result: 2 })
    expect(await jobs.read('job')).toMatchObject({ finished: true, result: 2, attempts: 2 })
  })

  it('a job in a document of Firestore becomes FAILED if Firestore cannot store its result', async () => {
    await jobs.add('job')
    await expect(createOnce(jobs).run('job', () => [[1]])).rejects.toMatchObject({ code: 'store-failed' })
    expect(await jobs.read('job')).toMatchObject({ status: 'FAILED' })
  })

  it.each([2, 20])(
    'a job in a document of Firestore becomes FAILED if its result has %i MB, and the lock ends',
    async (megabytes) => {
      await jobs.add('job')
      const run = createOnce(jobs).run('job', () => 'x'.repeat(megabytes * 1_000_000))
      await expect(run).rejects.toMatchObject({ code: 'store-failed' })
      expect(await jobs.read('job')).toMatchObject({ status: 'FAILED' })
      expect(await fieldsOf('job')).toMatchObject({ lockOwner: null })
    },
  )

  it('a job in a document of Firestore of a collection that Firestore refuses is store-failed', async () => {
    const broken = firestoreJobs(client, { collection: 'even/number' })
    const failed = { code: 'store-failed', resource: 'job' }
    await expect(broken.add('job')).rejects.toMatchObject(failed)
    await expect(broken.read('job')).rejects.toMatchObject(failed)
    await expect(broken.acquire('job', 'a', 1000)).rejects.toMatchObject(failed)
    expect(() => broken.watch?.('job', () => {})).toThrow(expect.objectContaining(failed))
  })

  it('a job in a document of Firestore needs a Firestore client and valid options', () => {
    for (const none of [null, {}, 10n, 'my-project'])
      expect(() => firestoreJobs(none as never)).toThrow('firestore: expected a Firestore client, got ')
    expect(() => firestoreJobs(client, null as never)).toThrow('options: expected an object, got null')
    expect(() => firestoreJobs(client, { fields: { status: 1n as never } })).toThrow(
      'fields.status: expected a non-empty string, got 1n',
    )
    expect(() => firestoreJobs(client, { fields: { status: 'result' } })).toThrow(
      'fields: expected different names',
    )
  })

  it('a job in a document of Firestore must have an id that Firestore allows', async () => {
    for (const id of ['a/b', '..', '__x__'])
      await expect(jobs.acquire(id, 'a', 1000)).rejects.toMatchObject({
        code: 'invalid-argument',
        resource: id,
      })
  })
})

describe('the lock of an analysis', () => {
  const set = (fields: object) => documentOf('42').set(fields)
  const repo = (onWarning = vi.fn()) => createAnalysisRepo(client, { collection, onWarning })

  it('the lock of an analysis is stored in analyses/{analysisId}, for five minutes by default', async () => {
    const id = crypto.randomUUID()
    const document = client.collection('analyses').doc(id)
    await document.set({ status: 'PROCESSING' })
    expect(await createAnalysisRepo(client).acquireAnalysisLock(id, 'run-1')).toEqual({ acquired: true })
    const { lockOwner, lockExpiresAt, lockHeartbeatAt } = (await document.get()).data() ?? {}
    expect(lockOwner).toBe('run-1')
    expect(Date.parse(lockExpiresAt) - Date.parse(lockHeartbeatAt)).toBeGreaterThanOrEqual(300_000)
    expect(Date.parse(lockExpiresAt) - Date.parse(lockHeartbeatAt)).toBeLessThanOrEqual(300_001)
  })

  it('the lock of an analysis is refused with a reason', async () => {
    await set({ status: 'PROCESSING' })
    await repo().acquireAnalysisLock('42', 'run-1', 60)
    expect(await repo().acquireAnalysisLock('42', 'run-2')).toEqual({ acquired: false, reason: 'locked' })
    for (const status of ['READY', 'FAILED']) {
      await set({ status })
      const answer = await repo().acquireAnalysisLock('42', 'run-2')
      expect(answer).toEqual({ acquired: false, reason: 'already_finished' })
    }
    await expect(repo().acquireAnalysisLock('none', 'run-1')).rejects.toMatchObject({ code: 'not-found' })
  })

  it('the lock of an analysis is granted if it has expired, and if it has no owner', async () => {
    await set({ status: 'PROCESSING', lockOwner: 'dead', lockExpiresAt: '2020-01-01T00:00:00.000Z' })
    expect(await repo().acquireAnalysisLock('42', 'run-1')).toEqual({ acquired: true })
    await set({ status: 'PROCESSING', lockOwner: '', lockExpiresAt: '2999-01-01T00:00:00.000Z' })
    expect(await repo().acquireAnalysisLock('42', 'run-2')).toEqual({ acquired: true })
  })

  it('the lock of an analysis is refreshed for its owner only', async () => {
    await set({ status: 'PROCESSING' })
    await repo().acquireAnalysisLock('42', 'run-1', 60)
    await repo().refreshAnalysisLock('42', 'run-1')
    const { lockExpiresAt } = (await fieldsOf('42')) ?? {}
    expect(Date.parse(lockExpiresAt)).toBeGreaterThan(Date.now() + 200_000)
    await expect(repo().refreshAnalysisLock('42', 'run-2')).rejects.toMatchObject({ code: 'lease-lost' })
    await repo().releaseAnalysisLock('42', 'run-1')
    await expect(repo().refreshAnalysisLock('42', 'run-1')).rejects.toMatchObject({ code: 'lease-lost' })
  })

  it('the lock of an analysis is released for its owner only', async () => {
    await set({ status: 'PROCESSING' })
    await repo().acquireAnalysisLock('42', 'run-1')
    await repo().releaseAnalysisLock('42', 'run-2')
    expect(await fieldsOf('42')).toMatchObject({ lockOwner: 'run-1' })
    await repo().releaseAnalysisLock('42', 'run-1')
    expect(await fieldsOf('42')).toMatchObject({ lockOwner: null })
    expect(await repo().acquireAnalysisLock('42', 'run-2')).toEqual({ acquired: true })
  })

  it('the lock of an analysis is granted again to its live owner, and extended', async () => {
    await set({ status: 'PROCESSING' })
    await repo().acquireAnalysisLock('42', 'run-1', 60)
    expect(await repo().acquireAnalysisLock('42', 'run-1', 300)).toEqual({ acquired: true })
    const { lockExpiresAt, attempts } = (await fieldsOf('42')) ?? {}
    expect(Date.parse(lockExpiresAt)).toBeGreaterThan(Date.now() + 200_000)
    expect(attempts).toBe(1)
  })

  it('the lock of an analysis causes only a warning if it cannot be released', async () => {
    const onWarning = vi.fn()
    await repo(onWarning).releaseAnalysisLock('none', 'run-1')
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(
      expect.stringContaining('analysis none'),
      expect.objectContaining({ code: 'not-found' }),
    )
  })

  it('the lock of an analysis refuses invalid arguments', async () => {
    await set({ status: 'PROCESSING' })
    const invalid = (message: string) => ({
      code: 'invalid-argument',
      message: expect.stringContaining(message),
    })
    for (const ttlSec of [0, -1, Number.NaN, Infinity, 10n, '30s', '300', null] as number[]) {
      const expected = invalid('ttlSec: expected seconds above 0, up to a year')
      await expect(repo().acquireAnalysisLock('42', 'run-1', ttlSec)).rejects.toMatchObject(expected)
      await expect(repo().refreshAnalysisLock('42', 'run-1', ttlSec)).rejects.toMatchObject(expected)
    }
    const none = Symbol('none') as never
    await expect(repo().acquireAnalysisLock('42', none)).rejects.toMatchObject(invalid('lockOwner: '))
    await expect(repo().refreshAnalysisLock('42', none)).rejects.toMatchObject(invalid('lockOwner: '))
    await expect(repo().refreshAnalysisLock(none, 'run-1')).rejects.toMatchObject(invalid('id: '))
    const onWarning = vi.fn()
    await repo(onWarning).releaseAnalysisLock(none, none)
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(
      expect.stringContaining('analysis Symbol(none)'),
      expect.objectContaining({ code: 'invalid-argument' }),
    )
  })
})

function open(settings: Settings = {}) {
  vi.stubEnv('FIRESTORE_EMULATOR_HOST', FIRESTORE_EMULATOR_HOST)
  vi.stubEnv('METADATA_SERVER_DETECTION', 'none')
  try {
    const opened = new Firestore({ projectId: 'holdfast-test', ...settings })
    return {
      client: opened,
      collection: `jobs-${crypto.randomUUID()}`,
      dispose: async () => {
        await opened.terminate()
      },
    }
  } finally {
    vi.unstubAllEnvs()
  }
}
