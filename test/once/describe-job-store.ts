import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createOnce, type JobGrant, type JobStore, memoryJobs, type Outcome } from '../../src/once/index.ts'
import { FakeClock } from '../../src/testing/index.ts'
import { checkProperty } from '../property.ts'
import { type Transactions, testCompletion } from './describe-completion.ts'

export interface JobStoreHarness {
  readonly jobs: JobStore
  /** Another store on the same jobs, as in a second process. */
  readonly peer: JobStore
  /** Sets a field, by its name in documents, without the store. */
  set(id: string, field: 'status' | 'lockOwner' | 'lockExpiresAt', value: string): Promise<void>
  /** Moves all times in the record of the job into the past, as if so many milliseconds had passed. */
  age?(id: string, ms: number): Promise<void>
  /** Absent: the backend has no transactions that could contain an outcome. */
  readonly transactions?: Transactions
  dispose?(): Promise<void>
}

export interface DescribeJobStoreOptions<H extends JobStoreHarness> {
  readonly create: () => Promise<H>
  /** Milliseconds: long for one call, but short enough to wait for. */
  readonly ttl: number
  /** Lets the store's time pass. Default: waits in real time. */
  readonly pass?: (harness: H, ms: number) => Promise<void>
  /** Whether the backend has transactions that contain an outcome. */
  readonly completes?: boolean
  /** The type of the field allows only times. */
  readonly typedTime?: boolean
}

const LONG_MS = 60_000
/** Longer than a lock lives, and shorter than a job is kept whose lock was not finished. */
const AGE_MS = 90_000

const OWNER = fc.constantFrom('a', 'a', 'a', 'b')
const STEPS = fc.array(
  fc.oneof(
    { arbitrary: fc.constantFrom({ what: 'add' }, { what: 'read' }), weight: 1 },
    { arbitrary: fc.constant({ what: 'age' }), weight: 2 },
    {
      arbitrary: fc.record({
        what: fc.constant('acquire'),
        owner: OWNER,
        maxAttempts: fc.constantFrom(undefined, 1, 2),
        fingerprint: fc.constantFrom(undefined, undefined, 'one', 'two'),
      }),
      weight: 3,
    },
    { arbitrary: fc.record({ what: fc.constantFrom('refresh', 'release'), owner: OWNER }), weight: 2 },
    {
      arbitrary: fc.record({
        what: fc.constantFrom('finish', 'complete', 'roll back', 'completed'),
        owner: OWNER,
        // Of the grants so far, counted back from the last one.
        grant: fc.constantFrom(0, 0, 1),
        outcome: fc.constantFrom({ result: [1, { two: null }] }, { result: null }, { error: 'failed' }),
      }),
      weight: 2,
    },
  ),
  { minLength: 16, maxLength: 16 },
)

interface RandomStep {
  readonly what: string
  readonly owner?: string
  readonly maxAttempts?: number | undefined
  readonly fingerprint?: string | undefined
  readonly grant?: number
  readonly outcome?: Outcome
}

/** What two stores on the same jobs answer in turn. Tokens are numbered in the order in which they were granted. */
async function answersOf(
  stores: readonly [JobStore, JobStore],
  transactions: Transactions | undefined,
  age: ((id: string, ms: number) => Promise<void>) | undefined,
  id: string,
  steps: readonly RandomStep[],
): Promise<unknown> {
  const tokens: number[] = []
  const answers: unknown[] = []
  for (const [at, step] of steps.entries()) {
    const { what, owner = '', maxAttempts, fingerprint, grant = 0, outcome = { result: 0 } } = step
    const jobs = stores[at % 2] as JobStore
    const create = fingerprint === undefined ? undefined : { fingerprint, keepMs: LONG_MS }
    // Half of the jobs are created by a request with `create`.
    if (at === 0 && !create) await jobs.add(id)
    if (what === 'add') await jobs.add(id)
    else if (what === 'age') await age?.(id, AGE_MS)
    else if (what === 'read') answers.push({ ...(await jobs.read(id)), id: undefined })
    else if (what === 'refresh') answers.push((await jobs.refresh(id, owner, LONG_MS)) !== null)
    else if (what === 'release') answers.push(await jobs.release(id, owner))
    else if (what !== 'acquire') {
      const holder = { owner, token: tokens.at(-1 - grant) ?? 1 }
      if (what === 'finish' || !transactions)
        answers.push(await jobs.finish(id, holder, { ...outcome, keepMs: LONG_MS }))
      else if (what === 'completed') answers.push(await jobs.completed?.(id, holder))
      else
        await transactions
          .run(async (tx) => {
            const isWritten = await jobs.complete?.(tx, id, holder, { ...outcome, keepMs: LONG_MS })
            answers.push(isWritten)
            if (!isWritten || what === 'roll back') throw new Error('rolled back')
          })
          .catch((error) => expect(error).toMatchObject({ message: 'rolled back' }))
    } else {
      const answer = await jobs.acquire(id, owner, LONG_MS, { maxAttempts, create })
      if (!answer.granted) answers.push([answer.reason, answer.job && { ...answer.job, id: undefined }])
      else {
        if (!tokens.includes(answer.token)) tokens.push(answer.token)
        answers.push([tokens.indexOf(answer.token), answer.attempt])
      }
    }
  }
  return answers
}

/** What every job store guarantees. The first five tests have the names of the design. */
export function describeJobStore<H extends JobStoreHarness>(
  name: string,
  {
    create,
    ttl,
    pass = (_harness, ms) => sleep(ms),
    completes = false,
    typedTime = false,
  }: DescribeJobStoreOptions<H>,
): void {
  const ttls = [ttl, 4 * ttl, 16 * ttl]

  describe(`${name}: a job store`, () => {
    const test = (title: string, run: (harness: H) => Promise<void>) =>
      it(title, async () => {
        const harness = await create()
        try {
          await harness.jobs.add('job')
          await run(harness)
        } finally {
          await harness.dispose?.()
        }
      })

    if (completes) testCompletion<H>(test as never, pass, ttl)
    else
      test('complete is refused by name, because the backend has no transactions for it', async ({
        jobs,
      }) => {
        await using once = createOnce(jobs)
        const run = once.run('job', ({ complete }) => complete({}, 1))
        await expect(run).rejects.toMatchObject({
          code: 'invalid-argument',
          message: expect.stringContaining(`the job store ${jobs.kind} cannot take part in a transaction`),
        })
      })

    test('初回取得成功: the first request is granted', async ({ jobs }) => {
      const grant = await jobs.acquire('job', 'a', LONG_MS)
      expect(grant).toMatchObject({ granted: true, attempt: 1 })
      expect((grant as JobGrant).remaining).toBeGreaterThan(LONG_MS / 2)
      expect((grant as JobGrant).remaining).toBeLessThanOrEqual(LONG_MS)
    })

    test('同時2リクエストで片方のみ成功: of two requests at once, one is granted', async ({ jobs, peer }) => {
      const answers = await Promise.all([
        jobs.acquire('job', 'a', LONG_MS),
        peer.acquire('job', 'b', LONG_MS),
      ])
      expect(answers.filter(({ granted }) => granted)).toHaveLength(1)
      expect(answers.find(({ granted }) => !granted)).toMatchObject({ reason: 'locked' })
    })

    test('a job whose work throws is failed, whatever the text of the error is', async ({ jobs }) => {
      const error = new Error(`a\0b\ud800${'long'.repeat(1_000_000)}`)
      await expect(createOnce(jobs).run('job', () => Promise.reject(error))).rejects.toBe(error)
      expect(await jobs.read('job')).toMatchObject({
        status: 'FAILED',
        error: expect.stringMatching(/^Error: a\ufffdb\ufffd(long)+/),
      })
    })

    test('TTL 切れ後の再取得成功: an expired lock is granted again, with a higher token', async (harness) => {
      const { jobs, peer } = harness
      await whileLive(jobs, ttls, async (id, liveMs) => {
        const first = await grab(jobs, 'a', liveMs, id)
        expect(await peer.acquire(id, 'b', ttl)).toMatchObject({ granted: false, reason: 'locked' })
        return async () => {
          await pass(harness, liveMs + 20)
          const second = await grab(peer, 'b', LONG_MS, id)
          expect(second.token).toBeGreaterThan(first.token)
          expect(second.attempt).toBe(2)
        }
      })
    })

    test('READY/FAILED のとき必ず取得失敗: a finished job is never granted', async ({ jobs, peer }) => {
      for (const [id, outcome] of [
        ['done', { result: 1 }],
        ['broken', { error: 'no' }],
      ] as const) {
        await jobs.add(id)
        const { token } = await grab(jobs, 'a', LONG_MS, id)
        expect(await jobs.finish(id, { owner: 'a', token }, outcome)).toBe(true)
        for (const owner of ['a', 'b'])
          expect(await peer.acquire(id, owner, LONG_MS)).toEqual({
            granted: false,
            reason: 'already_finished',
            job: await jobs.read(id),
          })
      }
    })

    test('owner 不一致で release しても lock が消えない: a release by another owner changes nothing', async ({
      jobs,
      peer,
    }) => {
      await grab(jobs, 'a', LONG_MS)
      expect(await peer.release('job', 'b')).toBe(false)
      expect(await peer.acquire('job', 'b', LONG_MS)).toMatchObject({ reason: 'locked' })
      expect(await jobs.refresh('job', 'a', LONG_MS)).not.toBeNull()
    })

    test('of fifty requests at once, one is granted', async ({ jobs, peer }) => {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => (n % 2 ? jobs : peer).acquire('job', `owner-${n}`, LONG_MS)),
      )
      expect(answers.filter(({ granted }) => granted)).toHaveLength(1)
      expect(await jobs.read('job')).toMatchObject({ attempts: 1 })
    })

    test('of fifty requests at once, one recovers a stale lock', async (harness) => {
      const { jobs, peer } = harness
      const { token } = await grab(jobs, 'dead', ttl)
      await pass(harness, ttl + 20)
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => (n % 2 ? jobs : peer).acquire('job', `owner-${n}`, LONG_MS)),
      )
      const granted = answers.filter((answer): answer is JobGrant => answer.granted)
      expect(granted).toMatchObject([{ attempt: 2 }])
      expect(granted[0]?.token).toBeGreaterThan(token)
    })

    test('a repeated request of the live owner is granted again: same token, same attempt', async ({
      jobs,
    }) => {
      const first = await grab(jobs, 'a', LONG_MS / 2)
      const again = await grab(jobs, 'a', LONG_MS)
      expect(again).toMatchObject({ token: first.token, attempt: 1 })
      expect(again.expiresAt).toBeGreaterThan(first.expiresAt)
    })

    test('a released job is granted to the next request at once', async ({ jobs, peer }) => {
      const { token } = await grab(jobs, 'a', LONG_MS)
      expect(await jobs.release('job', 'a')).toBe(true)
      expect(await jobs.release('job', 'a')).toBe(false)
      const next = await grab(peer, 'b', LONG_MS)
      expect(next).toMatchObject({ attempt: 2 })
      expect(next.token).toBeGreaterThan(token)
    })

    test('a refresh extends the lock, and never shortens it', async (harness) => {
      const { jobs, peer } = harness
      await whileLive(jobs, ttls, async (id, liveMs) => {
        await grab(jobs, 'a', liveMs, id)
        expect((await jobs.refresh(id, 'a', LONG_MS))?.remaining).toBeGreaterThan(liveMs)
        return async () => {
          expect((await jobs.refresh(id, 'a', 1))?.remaining).toBeGreaterThan(ttl)
          await pass(harness, liveMs + 20)
          expect(await peer.acquire(id, 'b', ttl)).toMatchObject({ reason: 'locked' })
        }
      })
    })

    test('a refresh by another owner, of an expired, lost or finished lock is refused', async (harness) => {
      const { jobs, peer } = harness
      await grab(jobs, 'a', ttl)
      expect(await peer.refresh('job', 'b', LONG_MS)).toBeNull()
      await pass(harness, ttl + 20)
      expect(await jobs.refresh('job', 'a', LONG_MS)).toBeNull()
      const { token } = await grab(peer, 'b', LONG_MS)
      expect(await jobs.refresh('job', 'a', LONG_MS)).toBeNull()
      await peer.finish('job', { owner: 'b', token }, { result: null })
      expect(await peer.refresh('job', 'b', LONG_MS)).toBeNull()
    })

    test('the holder finishes the job, and may repeat the request', async ({ jobs, peer }) => {
      const { token } = await grab(jobs, 'a', LONG_MS)
      const result = { score: 1.5, tags: ['x', 'ü', '日本'], none: null, deep: { list: [{ a: 1 }] } }
      expect(await jobs.finish('job', { owner: 'a', token }, { result })).toBe(true)
      expect(await jobs.finish('job', { owner: 'a', token }, { result })).toBe(true)
      expect(await peer.read('job')).toEqual({
        id: 'job',
        status: 'READY',
        finished: true,
        result,
        error: null,
        attempts: 1,
      })
    })

    test('a failure is kept with its error', async ({ jobs, peer }) => {
      const { token } = await grab(jobs, 'a', LONG_MS)
      expect(await jobs.finish('job', { owner: 'a', token }, { error: 'Error: no' })).toBe(true)
      expect(await peer.read('job')).toMatchObject({ status: 'FAILED', finished: true, error: 'Error: no' })
    })

    test('a late result is refused: after the expiry, and with the token of an earlier grant', async (harness) => {
      const { jobs, peer } = harness
      const { token } = await grab(jobs, 'a', ttl)
      await pass(harness, ttl + 20)
      expect(await jobs.finish('job', { owner: 'a', token }, { result: 'late' })).toBe(false)
      const again = await grab(peer, 'a', LONG_MS)
      expect(await jobs.finish('job', { owner: 'a', token }, { result: 'late' })).toBe(false)
      expect(await peer.finish('job', { owner: 'a', token: again.token }, { result: 'new' })).toBe(true)
      expect(await jobs.finish('job', { owner: 'a', token }, { result: 'late' })).toBe(false)
      expect(await jobs.read('job')).toMatchObject({ result: 'new' })
    })

    test('a final status of another program is not changed', async ({ jobs, peer, set }) => {
      const { token } = await grab(jobs, 'a', LONG_MS)
      await set('job', 'status', 'FAILED')
      expect(await jobs.refresh('job', 'a', LONG_MS)).toBeNull()
      expect(await jobs.finish('job', { owner: 'a', token }, { result: 1 })).toBe(false)
      expect(await peer.read('job')).toMatchObject({ status: 'FAILED', result: null })
    })

    test('with maxAttempts, a job that keeps killing its worker becomes failed', async (harness) => {
      const { jobs, peer } = harness
      const first = await grab(jobs, 'a', ttl)
      await pass(harness, ttl + 20)
      expect(await peer.acquire('job', 'b', LONG_MS, { maxAttempts: 1 })).toEqual({
        granted: false,
        reason: 'too_many_attempts',
      })
      expect(await peer.read('job')).toMatchObject({ status: 'FAILED', finished: true, attempts: 1 })
      expect((await peer.read('job'))?.error).toMatch('1 attempt')
      const late = { owner: 'a', token: first.token }
      expect(await jobs.finish('job', late, { error: 'late' })).toBe(false)
      expect(await jobs.acquire('job', 'c', ttl)).toMatchObject({ reason: 'already_finished' })
    })

    test('maxAttempts does not affect a live lock', async ({ jobs, peer }) => {
      await grab(jobs, 'a', LONG_MS)
      const limit = { maxAttempts: 1 }
      expect(await peer.acquire('job', 'b', LONG_MS, limit)).toMatchObject({ reason: 'locked' })
      expect(await jobs.acquire('job', 'a', LONG_MS, limit)).toMatchObject({ granted: true, attempt: 1 })
    })

    test('a job that does not exist is not-found', async ({ jobs }) => {
      const notFound = expect.objectContaining({ code: 'not-found', retryable: false })
      await expect(jobs.acquire('nobody', 'a', LONG_MS)).rejects.toEqual(notFound)
      await expect(jobs.refresh('nobody', 'a', LONG_MS)).rejects.toEqual(notFound)
      await expect(jobs.release('nobody', 'a')).rejects.toEqual(notFound)
      await expect(jobs.finish('nobody', { owner: 'a', token: 1 }, { result: 1 })).rejects.toEqual(notFound)
      expect(await jobs.read('nobody')).toBeNull()
    })

    test('adding a job again leaves it as it is', async ({ jobs, peer }) => {
      expect(await jobs.read('job')).toMatchObject({ status: 'PENDING', finished: false, attempts: 0 })
      const { token } = await grab(jobs, 'a', LONG_MS)
      await peer.add('job')
      expect(await jobs.finish('job', { owner: 'a', token }, { result: 1 })).toBe(true)
      await peer.add('job')
      expect(await jobs.read('job')).toMatchObject({ status: 'READY', attempts: 1 })
    })

    test('jobs do not disturb each other', async ({ jobs, peer }) => {
      const ids = ['x', 'X', 'x y', 'ü', '日本', `it's "quoted"`]
      for (const id of ids) await jobs.add(id)
      const answers = await Promise.all(ids.map((id) => peer.acquire(id, `owner of ${id}`, LONG_MS)))
      expect(answers.every(({ granted }) => granted)).toBe(true)
    })

    test('invalid arguments are refused', async ({ jobs }) => {
      const invalid = expect.objectContaining({ code: 'invalid-argument' })
      const holder = { owner: 'a', token: 1 }
      await expect(jobs.acquire('job', '', LONG_MS)).rejects.toEqual(invalid)
      await expect(jobs.acquire('job', 'a', 0)).rejects.toEqual(invalid)
      await expect(jobs.acquire('job', 'a', Number.NaN)).rejects.toEqual(invalid)
      await expect(jobs.acquire('job', 'a', LONG_MS, { maxAttempts: 0 })).rejects.toEqual(invalid)
      await expect(jobs.acquire('', 'a', LONG_MS)).rejects.toEqual(invalid)
      await expect(jobs.add(10n as never)).rejects.toEqual(invalid)
      await expect(jobs.acquire('job', 10n as never, LONG_MS)).rejects.toEqual(invalid)
      await expect(jobs.acquire('job', 'a', 10n as never)).rejects.toEqual(invalid)
      await expect(jobs.acquire('job', 'a', LONG_MS, null as never)).rejects.toEqual(invalid)
      await expect(jobs.refresh('job', 'a', '30s' as never)).rejects.toEqual(invalid)
      await expect(jobs.refresh('job', Symbol('a') as never, LONG_MS)).rejects.toEqual(invalid)
      await expect(jobs.release('job', null as never)).rejects.toEqual(invalid)
      await expect(jobs.finish('job', null as never, { result: 1 })).rejects.toEqual(invalid)
      await expect(jobs.finish('job', holder, 10n as never)).rejects.toEqual(invalid)
      await expect(jobs.read(Object.create(null))).rejects.toEqual(invalid)
      expect(await jobs.read('job')).toMatchObject({ status: 'PENDING', attempts: 0 })
    })

    test('with create, a missing job is added, and another payload is refused', async ({ jobs, peer }) => {
      const create = { fingerprint: 'one', keepMs: LONG_MS }
      const other = { ...create, fingerprint: 'two' }
      const acquire = (store: JobStore, owner: string, terms = create) =>
        store.acquire('new', owner, LONG_MS, { create: terms })
      const answers = await Promise.all([acquire(jobs, 'a'), acquire(peer, 'b'), acquire(peer, 'c')])
      const [grant, ...others] = answers.filter(({ granted }) => granted) as JobGrant[]
      expect([grant?.attempt, others]).toEqual([1, []])
      const owner = ['a', 'b', 'c'][answers.indexOf(grant as JobGrant)] as string
      expect(await acquire(peer, 'd')).toMatchObject({ reason: 'locked' })
      expect(await acquire(peer, 'd', other)).toEqual({ granted: false, reason: 'payload_mismatch' })
      const holder = { owner, token: grant?.token ?? 0 }
      expect(await jobs.finish('new', holder, { result: [1, 'ü'], keepMs: LONG_MS })).toBe(true)
      expect(await acquire(peer, 'd', other)).toMatchObject({ reason: 'payload_mismatch' })
      expect(await acquire(peer, 'd')).toMatchObject({
        reason: 'already_finished',
        job: { id: 'new', finished: true, result: [1, 'ü'], error: null, attempts: 1 },
      })
    })

    test('with create, a job that was added before is locked whatever its payload', async ({
      jobs,
      peer,
    }) => {
      const create = { fingerprint: 'one', keepMs: Infinity }
      expect(await jobs.acquire('job', 'a', LONG_MS, { create })).toMatchObject({ granted: true })
      const other = { ...create, fingerprint: 'two' }
      expect(await peer.acquire('job', 'b', LONG_MS, { create: other })).toMatchObject({
        reason: 'payload_mismatch',
      })
    })

    test('a job begins anew when its result is no longer kept, and a sweep deletes it', async (harness) => {
      const { jobs, peer } = harness
      const create = { fingerprint: 'one', keepMs: ttl }
      const finishAs = async (id: string, keepMs: number) => {
        const grant = await jobs.acquire(id, 'a', LONG_MS, { create: { ...create, keepMs } })
        if (!grant.granted) throw new Error(grant.reason)
        expect(await jobs.finish(id, { owner: 'a', token: grant.token }, { result: id, keepMs })).toBe(true)
        return grant.token
      }
      const token = await finishAs('short', ttl)
      await finishAs('long', LONG_MS)
      await finishAs('forever', Infinity)
      await jobs.acquire('locked', 'a', LONG_MS, { create })
      await pass(harness, ttl + 20)
      const again = { create: { ...create, fingerprint: 'two' } }
      const second = (await peer.acquire('short', 'b', ttl, again)) as JobGrant
      expect(second).toMatchObject({ granted: true, attempt: 1 })
      expect(second.token).toBeGreaterThan(token)
      expect(await peer.read('short')).toMatchObject({ finished: false, result: null, error: null })
      expect(
        await peer.finish('short', { owner: 'b', token: second.token }, { result: 2, keepMs: ttl }),
      ).toBe(true)
      await pass(harness, ttl + 20)
      await jobs.sweep?.(10)
      expect(await peer.read('short')).toBe(null)
      expect(await peer.read('long')).toMatchObject({ result: 'long' })
      expect(await peer.read('forever')).toMatchObject({ result: 'forever' })
      expect(await jobs.refresh('locked', 'a', LONG_MS)).not.toBe(null)
      expect(await peer.read('job')).toMatchObject({ status: 'PENDING' })
    })

    test('of ten callers at once, one runs the work, and all get its result', async ({ jobs, peer }) => {
      await using first = createOnce(jobs)
      await using second = createOnce(peer)
      let runs = 0
      const work = async () => ({ run: ++runs })
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          (n % 2 ? first : second).result('shared', work, { payload: { n: 1 }, wait: '1m' }),
        ),
      )
      expect(results.map(({ result }) => result)).toEqual(Array(10).fill({ run: 1 }))
      expect(results.filter(({ ran }) => ran)).toHaveLength(1)
      await expect(second.result('shared', work, { payload: { n: 2 } })).rejects.toMatchObject({
        code: 'payload-mismatch',
      })
    })

    test('random requests are answered as in memory', async ({ jobs, peer, transactions, age }) => {
      let runs = 0
      const property = fc.asyncProperty(STEPS, async (steps) => {
        const clock = new FakeClock()
        const model = memoryJobs({ clock })
        const ofModel = transactions && { run: model.transaction, outside: [] }
        expect(await answersOf([jobs, peer], transactions, age, `job ${++runs}`, steps)).toEqual(
          await answersOf([model, model], ofModel, age && ((_, ms) => clock.advance(ms)), 'job', steps),
        )
      })
      await checkProperty(property, { numRuns: 60 })
    })

    if (!typedTime)
      test('an unparsable lockExpiresAt counts as live for a TTL after the last update', async (harness) => {
        const { jobs, peer, set } = harness
        await whileLive(jobs, ttls, async (id, liveMs) => {
          await grab(jobs, 'a', LONG_MS, id)
          await set(id, 'lockExpiresAt', 'tomorrow')
          expect(await peer.acquire(id, 'b', liveMs)).toMatchObject({ granted: false, reason: 'locked' })
          return async () => {
            await pass(harness, liveMs + 20)
            expect(await peer.acquire(id, 'b', liveMs)).toMatchObject({ granted: true, attempt: 2 })
          }
        })
      })
  })
}

/**
 * Runs steps for which the lock must be live, and then the function that they return. If the steps fail after the
 * lock may have expired, that proves nothing: they run again, with another job and a longer TTL.
 */
async function whileLive(
  jobs: JobStore,
  ttls: readonly number[],
  steps: (id: string, liveMs: number) => Promise<() => Promise<void>>,
): Promise<void> {
  const [liveMs = 0, ...longer] = ttls
  const id = `job with ${liveMs} ms`
  await jobs.add(id)
  const started = performance.now()
  const rest = await steps(id, liveMs).catch((error) => {
    if (performance.now() - started < liveMs || longer.length === 0) throw error
    return () => whileLive(jobs, longer, steps)
  })
  await rest()
}

async function grab(jobs: JobStore, owner: string, ttlMs: number, id = 'job'): Promise<JobGrant> {
  const answer = await jobs.acquire(id, owner, ttlMs)
  if (!answer.granted) throw new Error(`${owner} was refused: ${answer.reason}`)
  return answer
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
