import { expect } from 'vitest'
import { createOnce, type JobGrant, type JobHolder, type JobStore } from '../../src/once/index.ts'

/** The transactions of a backend, as an application opens them. */
export interface Transactions {
  /** Commits, or rolls back and rejects if the work rejects. */
  run(work: (tx: object) => unknown): Promise<unknown>
  /** Connections without an open transaction, and pools. */
  readonly outside: readonly object[]
}

interface CompletionHarness {
  readonly jobs: Required<Pick<JobStore, 'complete' | 'completed'>> & JobStore
  readonly peer: JobStore
  readonly transactions: Transactions
}

type Test<H> = (title: string, run: (harness: H & CompletionHarness) => Promise<void>) => void

const LONG_MS = 60_000
const DONE = { result: { score: [1, 'ü'] } }

/** What `complete` guarantees, on every backend with transactions. */
export function testCompletion<H>(
  test: Test<H>,
  pass: (harness: H, ms: number) => Promise<void>,
  ttl: number,
): void {
  test('an outcome in a transaction is stored when that is committed, and ends the lock', async (harness) => {
    const { jobs, peer, transactions } = harness
    const holder = await grab(jobs)
    await transactions.run(async (tx) => {
      expect(await jobs.complete(tx, 'job', holder, DONE)).toBe(true)
    })
    expect(await peer.read('job')).toMatchObject({ status: 'READY', ...DONE, error: null, attempts: 1 })
    expect(await jobs.completed('job', holder)).toBe(true)
    expect(await jobs.completed('job', { ...holder, token: holder.token - 1 })).toBe(false)
    expect(await jobs.release('job', 'a')).toBe(false)
  })

  test('an outcome in a transaction is kept for as long as the job says', async ({ jobs, transactions }) => {
    const create = { fingerprint: 'one', keepMs: LONG_MS }
    const { token } = (await jobs.acquire('new', 'a', LONG_MS, { create })) as JobGrant
    await transactions.run((tx) =>
      jobs.complete(tx, 'new', { owner: 'a', token }, { error: 'no', keepMs: ttl }),
    )
    expect(await jobs.read('new')).toMatchObject({ status: 'FAILED', error: 'no', result: null })
  })

  test('an outcome in a transaction that is rolled back is not stored, and the lock lives on', async (harness) => {
    const { jobs, peer, transactions } = harness
    const holder = await grab(jobs)
    const undone = transactions.run(async (tx) => {
      expect(await jobs.complete(tx, 'job', holder, DONE)).toBe(true)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await jobs.completed('job', holder)).toBe(false)
    expect(await peer.read('job')).toMatchObject({ finished: false, result: null })
    expect(await peer.acquire('job', 'b', LONG_MS)).toMatchObject({ reason: 'locked' })
    await transactions.run((tx) => jobs.complete(tx, 'job', holder, DONE))
    expect(await peer.read('job')).toMatchObject(DONE)
  })

  test('an outcome in a transaction is refused to everybody but the live holder of the last token', async (harness) => {
    const { jobs, peer, transactions } = harness
    const refused = async (id: string, holder: JobHolder) =>
      transactions
        .run(async (tx) => {
          expect(await jobs.complete(tx, id, holder, DONE)).toBe(false)
          throw new Error('refused')
        })
        .catch((error) => expect(error).toMatchObject({ message: 'refused' }))
    const holder = await grab(jobs, ttl)
    await refused('job', { ...holder, owner: 'b' })
    await refused('job', { ...holder, token: holder.token + 1 })
    await refused('nobody', holder)
    await pass(harness, ttl + 20)
    await refused('job', holder)
    const next = await grab(peer, LONG_MS, 'b')
    await refused('job', holder)
    await refused('job', { ...next, owner: 'a' })
    expect(await peer.read('job')).toMatchObject({ finished: false })
    await transactions.run((tx) => jobs.complete(tx, 'job', next, DONE))
    // Also to the holder itself, whose transaction may be a repetition: its effect must not be stored twice.
    await refused('job', next)
    expect(await jobs.completed('job', next)).toBe(true)
    expect(await jobs.completed('job', holder)).toBe(false)
  })

  test('an outcome is refused outside of an open transaction', async ({ jobs, transactions }) => {
    const holder = await grab(jobs)
    for (const tx of [...transactions.outside, {}, { query: 1 }]) {
      const refusal = (async () => jobs.complete(tx, 'job', holder, DONE))()
      await expect(refusal).rejects.toMatchObject({
        code: 'invalid-argument',
        message: expect.stringMatching(/^tx/),
      })
    }
    expect(await jobs.read('job')).toMatchObject({ finished: false, result: null })
    expect(await jobs.refresh('job', 'a', LONG_MS)).not.toBeNull()
  })

  test('a final status of another program is not changed by a transaction', async (harness) => {
    const { jobs, peer, transactions } = harness
    const holder = await grab(jobs)
    await (harness as unknown as { set(...args: string[]): Promise<void> }).set('job', 'status', 'FAILED')
    const refused = transactions.run(async (tx) => {
      if (!(await jobs.complete(tx, 'job', holder, DONE))) throw new Error('refused')
    })
    await expect(refused).rejects.toThrow('refused')
    expect(await jobs.completed('job', holder)).toBe(false)
    expect(await peer.read('job')).toMatchObject({ status: 'FAILED', result: null })
  })

  test('work that completes its job in a transaction writes its outcome once', async (harness) => {
    const { jobs, peer, transactions } = harness
    await using once = createOnce(jobs)
    const work = async (complete: (tx: object, result: number) => Promise<number>) => {
      let result = 0
      await transactions.run(async (tx) => {
        result = await complete(tx, 42)
      })
      return result
    }
    expect(await once.run('job', ({ complete }) => work(complete))).toEqual({ ran: true, result: 42 })
    expect(await peer.read('job')).toMatchObject({ status: 'READY', result: 42, attempts: 1 })
    expect(await once.result('other', ({ complete }) => work(complete))).toEqual({ ran: true, result: 42 })
    expect(await once.result('other', () => 0)).toEqual({ ran: false, result: 42 })
  })
}

async function grab(jobs: JobStore, ttlMs = LONG_MS, owner = 'a'): Promise<JobHolder> {
  const answer = await jobs.acquire('job', owner, ttlMs)
  if (!answer.granted) throw new Error(answer.reason)
  return { owner, token: answer.token }
}
