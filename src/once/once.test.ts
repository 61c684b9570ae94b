import { getEventListeners } from 'node:events'
import { Etcd3 } from 'etcd3'
import { createPool } from 'mysql2'
import { afterAll, afterEach, beforeEach, describe, expect, it, type Mock, vi } from 'vitest'
import { LeaseError } from '../base/errors.ts'
import type { LeaseEvent } from '../core/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock } from '../testing/index.ts'
import type { JobStore } from './job-store.ts'
import { memoryJobs } from './memory-jobs.ts'
import { createOnce, type Once } from './once.ts'
import type { OnWarning } from './options.ts'
import type { RunningJob } from './run.ts'

let clock: FakeClock
let jobs: JobStore
let events: LeaseEvent[]
let onWarning: Mock<OnWarning>
let once: Once
let another: Once
beforeEach(async () => {
  clock = new FakeClock()
  jobs = memoryJobs({ clock })
  events = []
  onWarning = vi.fn()
  once = createOnce(jobs, { clock, worker: 'me', onEvent: (event) => events.push(event), onWarning })
  another = createOnce(jobs, { clock })
  await jobs.add('job')
})
afterEach(async () => {
  const closing = Promise.all([once.close(), another.close()])
  // For requests that are never answered.
  await clock.advance(10_000)
  await closing
})

const down = async () => {
  throw new LeaseError('store-unavailable', 'away')
}
const retryable = (message: string) => Object.assign(new Error(message), { retryable: true })

describe('a run', () => {
  it('a run runs the work, keeps its result and ends the lock', async () => {
    const work = vi.fn(async ({ id, attempt }: RunningJob) => ({ id, attempt }))
    expect(await once.run('job', work)).toEqual({ ran: true, result: { id: 'job', attempt: 1 } })
    expect(await once.read('job')).toMatchObject({ status: 'READY', result: { id: 'job', attempt: 1 } })
    expect(events.map(({ type }) => type)).toEqual(['attempt', 'acquired', 'released'])
    expect(clock.pending).toBe(0)
  })

  it('a run has the TTL, the heartbeat and the attempts of createOnce, unless its own options name others', async () => {
    const own = createOnce(jobs, { clock, ttl: '1m', heartbeat: '20s', maxAttempts: 2 })
    const acquire = vi.spyOn(jobs, 'acquire')
    const refresh = vi.spyOn(jobs, 'refresh')
    const working = own.run('job', () => new Promise<void>((resolve) => clock.setTimer(resolve, 70_000)))
    await clock.advance(70_000)
    await working
    expect(acquire.mock.lastCall?.[2]).toBe(60_000)
    expect(refresh).toHaveBeenCalledTimes(3)

    for (const id of ['other', 'third']) await jobs.add(id)
    await own.run('other', () => {}, { ttl: '2m', heartbeat: undefined, maxAttempts: undefined })
    expect(acquire.mock.lastCall?.slice(2)).toMatchObject([120_000, { maxAttempts: 2 }])
    await own.result('third', () => 1)
    expect(acquire.mock.lastCall?.slice(2)).toMatchObject([60_000, { maxAttempts: 2 }])
    for (const wrong of [{ ttl: 5 }, { heartbeat: '5m' }, { maxAttempts: 0 }] as const)
      expect(() => createOnce(jobs, wrong)).toThrow(new RegExp(`^${Object.keys(wrong)[0]}: expected`))
    await own.close()
  })

  it('a run is skipped when the job is finished, and when another runs it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const running = once.run('job', () => promise)
    await clock.advance(0)
    expect(await another.run('job', vi.fn())).toMatchObject({
      ran: false,
      reason: 'locked',
      job: { finished: false },
    })
    resolve()
    expect(await running).toEqual({ ran: true, result: undefined })
    const work = vi.fn()
    expect(await another.run('job', work)).toMatchObject({
      ran: false,
      reason: 'already_finished',
      job: { finished: true },
    })
    expect(work).not.toHaveBeenCalled()
  })

  it('a run runs the work once if there are fifty runs at the same time', async () => {
    const work = vi.fn(async () => 'done')
    const runs = await Promise.all(Array.from({ length: 50 }, () => once.run('job', work)))
    expect(work).toHaveBeenCalledTimes(1)
    expect(runs.filter(({ ran }) => ran)).toHaveLength(1)
  })

  it('a run beats every 90 s on a TTL of 300 s', async () => {
    const refresh = vi.spyOn(jobs, 'refresh')
    const { promise, resolve } = Promise.withResolvers<void>()
    const running = once.run('job', () => promise)
    await clock.advance(3_600_000)
    expect(refresh).toHaveBeenCalledTimes(40)
    expect(refresh).toHaveBeenLastCalledWith('job', expect.stringMatching(/^me\/[\w-]{36}$/), 300_000)
    resolve()
    await running
  })

  it('a run has a token that rises with every attempt', async () => {
    const tokens: number[] = []
    for (let attempt = 1; attempt <= 3; attempt++)
      await once
        .run('job', (job) => {
          tokens.push(job.token)
          expect(job.attempt).toBe(attempt)
          throw retryable('again')
        })
        .catch(() => {})
    expect(tokens).toHaveLength(3)
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b))
  })

  it('a run writes FAILED if the work throws, and rejects with the same error', async () => {
    const error = new TypeError('no such thing')
    await expect(once.run('job', () => Promise.reject(error))).rejects.toBe(error)
    expect(await once.read('job')).toMatchObject({ status: 'FAILED', error: 'TypeError: no such thing' })
    expect(await another.run('job', vi.fn())).toMatchObject({
      ran: false,
      reason: 'already_finished',
      job: { finished: true },
    })
  })

  it('a run leaves the job to the next run at once if the work throws a retryable error', async () => {
    await expect(once.run('job', () => Promise.reject(retryable('busy')))).rejects.toThrow('busy')
    expect(await once.read('job')).toMatchObject({ status: 'PENDING', error: null })
    expect(await another.run('job', ({ attempt }) => attempt)).toEqual({ ran: true, result: 2 })
  })

  it('a run fails if JSON cannot carry the result', async () => {
    await expect(once.run('job', () => 1n)).rejects.toThrow(TypeError)
    expect(await once.read('job')).toMatchObject({ status: 'FAILED' })
    await jobs.add('function')
    await expect(once.run('function', () => () => 1)).rejects.toThrow('a result that JSON can carry')
  })

  it('rejects with not-found if the job does not exist', async () => {
    await expect(once.run('nobody', vi.fn())).rejects.toMatchObject({ code: 'not-found' })
  })

  it('a run makes the job FAILED after too many attempts', async () => {
    const work = vi.fn(() => Promise.reject(retryable('busy')))
    const runs = [1, 2, 3, 4].map(() => () => once.run('job', work, { maxAttempts: 2 }))
    await expect(runs[0]?.()).rejects.toThrow('busy')
    await expect(runs[1]?.()).rejects.toThrow('busy')
    expect(await runs[2]?.()).toMatchObject({
      ran: false,
      reason: 'too_many_attempts',
      job: { status: 'FAILED' },
    })
    expect(await runs[3]?.()).toMatchObject({
      ran: false,
      reason: 'already_finished',
      job: { finished: true },
    })
    expect(work).toHaveBeenCalledTimes(2)
    expect(await once.read('job')).toMatchObject({ status: 'FAILED' })
  })

  it('a run accepts durations as text', async () => {
    const refresh = vi.spyOn(jobs, 'refresh')
    const { promise, resolve } = Promise.withResolvers<void>()
    const running = once.run('job', () => promise, { ttl: '1m', heartbeat: '20s' })
    await clock.advance(61_000)
    expect(refresh).toHaveBeenCalledTimes(3)
    expect(refresh).toHaveBeenLastCalledWith('job', expect.any(String), 60_000)
    resolve()
    await running
  })
})

describe('invalid arguments', () => {
  const invalid = (message: string) => ({
    code: 'invalid-argument',
    message: expect.stringContaining(message),
  })
  const work = () => {}

  it.each<[string, (once: Once) => Promise<unknown>, string]>([
    ['an empty id', (once) => once.run('', work), 'id: expected '],
    ['a BigInt as the id', (once) => once.run(10n as never, work), 'got 10n'],
    ['a symbol as the id', (once) => once.read(Symbol('job') as never), 'got Symbol(job)'],
    ['no work', (once) => once.run('job', null as never), 'work: expected a function, got null'],
    ['null as the options', (once) => once.run('job', work, null as never), 'options: expected an object'],
    ['a short ttl', (once) => once.run('job', work, { ttl: 1 }), 'ttl: expected '],
    ['a BigInt as the ttl', (once) => once.run('job', work, { ttl: 300n as never }), 'got 300n'],
    ['a text as the ttl', (once) => once.run('job', work, { ttl: 'soon' as never }), 'ttl: expected '],
    ['a long heartbeat', (once) => once.run('job', work, { heartbeat: '5m' }), 'heartbeat: expected '],
    ['a foreign signal', (once) => once.run('job', work, { signal: {} as never }), 'signal: expected '],
    ['half an attempt', (once) => once.run('job', work, { maxAttempts: 0.5 }), 'maxAttempts: expected '],
    ['too many attempts', (once) => once.run('job', work, { maxAttempts: 2 ** 31 }), 'from 1 to 2147483647'],
    [
      'null as the options of a wait',
      (once) => once.wait('job', null as never),
      'options: expected an object',
    ],
    ['an object as the id of a wait', (once) => once.wait({} as never), 'id: expected '],
    ['a negative wait', (once) => once.wait('job', { wait: -1 }), 'wait: expected '],
    ['a BigInt as the wait', (once) => once.wait('job', { wait: 1n as never }), 'got 1n'],
  ])('reject the call: %s', async (_, call, message) => {
    await expect(call(once)).rejects.toMatchObject(invalid(message))
  })

  const etcd = new Etcd3()
  afterAll(() => etcd.close())

  it.each([
    ['null', null, 'memoryJobs()', 'null'],
    ['a lease store', memoryStore(), 'memoryJobs()', 'an object'],
    ['a pool of Postgres', { connect() {} }, 'postgresJobs(client)', 'an object'],
    ['a pool of MySQL', createPool({}), 'mysqlJobs(client)', 'a Pool'],
    ['a promise pool of MySQL', createPool({}).promise(), 'mysqlJobs(client)', 'a PromisePool'],
    ['a connection of MySQL', { execute() {}, connect() {} }, 'mysqlJobs(client)', 'an object'],
    ['a client of etcd', etcd, 'etcdJobs(client)', 'an Etcd3'],
    ['a namespace of etcd', etcd.namespace('app/'), 'etcdJobs(client)', 'a Namespace'],
    ['the URL of MySQL', 'mysql://localhost/app', 'mysqlJobs(client)', 'a string'],
    ['a client of Redis', { sendCommand() {} }, 'redisJobs(client)', 'an object'],
    ['a lease store of MySQL', { kind: 'mysql' }, 'mysqlJobs(client)', 'an object'],
    ['a URL, which is not shown', 'postgres://user:secret@host', 'postgresJobs(client)', 'a string'],
    ['a promise', Promise.resolve(), 'memoryJobs()', 'a Promise'],
    ['a function', () => {}, 'memoryJobs()', 'a function'],
    ['an object without prototype', Object.create(null), 'memoryJobs()', 'an object'],
  ])('invalid arguments of createOnce throw: %s instead of a job store', (_, jobs, factory, shown) => {
    const methods = 'add, acquire, refresh, finish, release, read'
    const message = `jobs: expected a JobStore such as ${factory} (with ${methods}), got ${shown}`
    expect(() => createOnce(jobs as never)).toThrow(expect.objectContaining(invalid(message)))
  })

  it.each([
    [null, 'options: expected an object, got null'],
    [{ worker: '' }, 'worker: expected a non-empty string'],
    [{ onEvent: 5 }, 'onEvent: expected a function, got 5'],
    [{ onWarning: 5n }, 'onWarning: expected a function, got 5n'],
  ])('invalid arguments of createOnce throw: options %#', (options, message) => {
    expect(() => createOnce(jobs, options as never)).toThrow(expect.objectContaining(invalid(message)))
  })
})

describe('a lost lock', () => {
  it('a lost lock aborts the work, and the late result is not written', async () => {
    let signal: AbortSignal | undefined
    const running = once.run('job', async (job) => {
      signal = job.signal
      await new Promise((resolve) => clock.setTimer(() => resolve(null), 400_000))
      return 'late'
    })
    const rejected = expect(running).rejects.toMatchObject({ code: 'lease-lost', resource: 'job' })
    await clock.advance(0)
    vi.spyOn(jobs, 'refresh').mockImplementation(down)
    await clock.advance(299_000)
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toHaveProperty('code', 'lease-lost')
    await clock.advance(2000)
    expect(await another.run('job', () => 'in time')).toEqual({ ran: true, result: 'in time' })
    await clock.advance(200_000)
    await rejected
    expect(await once.read('job')).toMatchObject({ status: 'READY', result: 'in time' })
  })

  it('a lost lock keeps a late result out even if the worker has not noticed the loss', async () => {
    const finish = vi.spyOn(jobs, 'finish')
    const running = once.run('job', async ({ id }) => {
      // Another worker took the job over, as if this process had been stopped: no timer has fired here.
      vi.spyOn(jobs, 'refresh').mockResolvedValue(null)
      const owner = (await ownerOf(id)) ?? ''
      await jobs.release(id, owner)
      await another.run(id, () => 'the successor')
      return 'late'
    })
    await expect(running).rejects.toMatchObject({ code: 'lease-lost' })
    expect(await finish.mock.results.at(-1)?.value).toBe(false)
    expect(await once.read('job')).toMatchObject({ result: 'the successor' })
  })

  it('rejects with lease-lost and the error of the work as its cause', async () => {
    const error = new Error('stopped')
    const running = once.run(
      'job',
      ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(error))),
    )
    const rejected = expect(running).rejects.toMatchObject({ code: 'lease-lost', cause: error })
    await clock.advance(0)
    vi.spyOn(jobs, 'refresh').mockResolvedValue(null)
    await clock.advance(90_000)
    await rejected
    expect(await once.read('job')).toMatchObject({ status: 'PENDING' })
  })

  async function ownerOf(id: string): Promise<string | undefined> {
    const acquired = events.find((event) => event.type === 'acquired' && event.resource === id)
    return acquired && `me/${acquired.leaseId}`
  }
})

describe('a failing store', () => {
  it('a failing store rejects the run with a retryable error if it fails at the start', async () => {
    vi.spyOn(jobs, 'acquire').mockImplementationOnce(down)
    const work = vi.fn()
    await expect(once.run('job', work)).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })
    expect(work).not.toHaveBeenCalled()
    expect(await another.run('job', () => 1)).toEqual({ ran: true, result: 1 })
  })

  it('a failing store gets the outcome again as long as the lock is held', async () => {
    const finish = jobs.finish
    vi.spyOn(jobs, 'finish').mockImplementation(down)
    const running = once.run('job', () => 'worth keeping')
    await clock.advance(120_000)
    jobs.finish = finish
    await clock.advance(2500)
    expect(await running).toEqual({ ran: true, result: 'worth keeping' })
  })

  it('a failing store causes lease-lost if it fails until the lock has ended', async () => {
    vi.spyOn(jobs, 'finish').mockImplementation(down)
    vi.spyOn(jobs, 'refresh').mockImplementation(down)
    const rejected = expect(once.run('job', () => 1)).rejects.toMatchObject({
      code: 'lease-lost',
      message: 'the lock of job job was lost before its outcome was written',
    })
    await clock.advance(300_000)
    await rejected
  })

  it('a failing store causes lease-lost if it answers nothing until the lock has ended', async () => {
    vi.spyOn(jobs, 'finish').mockReturnValue(new Promise(() => {}))
    vi.spyOn(jobs, 'refresh').mockReturnValue(new Promise(() => {}))
    const rejected = expect(once.run('job', () => 1)).rejects.toMatchObject({
      code: 'lease-lost',
      message: 'the lock of job job was lost before its outcome was written',
    })
    await clock.advance(300_000)
    await rejected
  })

  it('a failing store gets the outcome again if it did not answer', async () => {
    const finish = jobs.finish
    vi.spyOn(jobs, 'finish').mockImplementationOnce(async (...call) => {
      await finish(...call)
      return new Promise(() => {})
    })
    const running = once.run('job', () => 1)
    await clock.advance(11_000)
    expect(await running).toEqual({ ran: true, result: 1 })
  })

  it('a failing store may refuse a heartbeat because the outcome has ended the lock: nothing is lost', async () => {
    const finish = jobs.finish
    vi.spyOn(jobs, 'finish').mockImplementationOnce(async (...call) => {
      const written = await finish(...call)
      await new Promise<void>((resolve) => clock.setTimer(resolve, 5000))
      return written
    })
    const work = () => new Promise((resolve) => clock.setTimer(() => resolve('kept'), 88_000))
    const running = once.run('job', work)
    await clock.advance(95_000)
    expect(await running).toEqual({ ran: true, result: 'kept' })
    expect(events.at(-1)).toMatchObject({ type: 'released' })
  })

  it('a failing store makes the job FAILED if it never accepts the result', async () => {
    vi.spyOn(jobs, 'finish').mockRejectedValueOnce(new LeaseError('store-failed', 'too large'))
    await expect(once.run('job', () => 'x')).rejects.toThrow('too large')
    expect(await once.read('job')).toMatchObject({ status: 'FAILED', error: 'LeaseError: too large' })
  })

  const runWithoutRelease = async (by: Once) => {
    vi.spyOn(jobs, 'release').mockImplementation(down)
    const rejected = expect(by.run('job', () => Promise.reject(retryable('busy')))).rejects.toThrow('busy')
    await clock.advance(10_000)
    await rejected
  }

  it('a failing store causes only a warning if it fails at the release: the lock ends with its TTL', async () => {
    onWarning.mockImplementation(down)
    await runWithoutRelease(once)
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(
      'the lock of job job could not be released; it ends with its TTL',
      expect.objectContaining({ code: 'store-unavailable' }),
    )
    expect(events.some((event) => event.type === 'error' && event.operation === 'release')).toBe(true)
    expect(await another.run('job', vi.fn())).toMatchObject({
      ran: false,
      reason: 'locked',
      job: { finished: false },
    })
    await clock.advance(300_000)
    expect(await another.run('job', () => 1)).toEqual({ ran: true, result: 1 })
  })

  it('a failing store causes a warning on the console by default', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    await runWithoutRelease(another)
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      expect.stringContaining('could not be released'),
      expect.any(LeaseError),
    )
    warn.mockRestore()
  })
})

describe('stopping', () => {
  it('stopping leaves no listener on a signal that outlives the run', async () => {
    const { signal } = new AbortController()
    await once.run('job', () => 1, { signal })
    await once.wait('job', { signal })
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it.each(['the signal', 'close'])(
    'stopping by %s aborts the work and leaves the job to another run',
    async (by) => {
      const stop = new AbortController()
      const work = ({ signal }: RunningJob) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      const running = once.run('job', work, { signal: stop.signal })
      const rejected = expect(running).rejects.toBeDefined()
      await clock.advance(0)
      if (by === 'close') await once.close()
      else stop.abort(new Error('enough'))
      await rejected
      expect(await jobs.read('job')).toMatchObject({ status: 'PENDING' })
      expect(await another.run('job', () => 1)).toEqual({ ran: true, result: 1 })
    },
  )

  it.each([true, false])('a signal that has aborted starts no work, with add %s', async (add) => {
    const cause = new Error('enough')
    const work = vi.fn()
    const running = once.run('job', work, { signal: AbortSignal.abort(cause), add })
    await expect(running).rejects.toMatchObject({ code: 'aborted', cause })
    expect(work).not.toHaveBeenCalled()
  })

  it('stopping keeps the result of work that returns in spite of it', async () => {
    const stop = new AbortController()
    const { promise, resolve } = Promise.withResolvers<string>()
    const running = once.run('job', () => promise, { signal: stop.signal })
    await clock.advance(0)
    stop.abort()
    resolve('done')
    expect(await running).toEqual({ ran: true, result: 'done' })
  })

  it('stopping by close ends a run that waits for its lock, with closed', async () => {
    vi.spyOn(jobs, 'acquire').mockReturnValue(new Promise(() => {}))
    const work = vi.fn()
    const rejected = expect(once.run('job', work)).rejects.toMatchObject({ code: 'closed' })
    await clock.advance(0)
    const closed = once.close()
    await rejected
    await clock.advance(15_000)
    await closed
    expect(work).not.toHaveBeenCalled()
  })

  it('stopping by close waits for a request as long as a call may take, but no longer', async () => {
    const own = createOnce(jobs, { clock, callTimeout: '30s' })
    vi.spyOn(jobs, 'read').mockReturnValue(new Promise(() => {}))
    void own.read('job').catch(() => {})
    let isClosed = false
    const closing = own.close().then(() => (isClosed = true))
    await clock.advance(29_000)
    expect(isClosed).toBe(false)
    await clock.advance(1000)
    await closing
  })

  it('stopping by close ends waits and reads that the store does not answer, with closed', async () => {
    vi.spyOn(jobs, 'read').mockReturnValue(new Promise(() => {}))
    const ends = [once.wait('job', { wait: Infinity }), once.read('job')].map((call) =>
      expect(call).rejects.toMatchObject({ code: 'closed' }),
    )
    await clock.advance(0)
    const closed = once.close()
    await Promise.all(ends)
    await clock.advance(10_000)
    await closed
    expect(clock.pending).toBe(0)
  })

  it('stopping by close waits for requests whose answers nobody wants any more', async () => {
    const { promise, resolve } = Promise.withResolvers<null>()
    vi.spyOn(jobs, 'read').mockReturnValue(promise)
    const late = once.read('job').catch((error) => error)
    await clock.advance(5000)
    expect(await late).toMatchObject({ code: 'store-unavailable' })
    let closed = false
    const closing = once.close().then(() => {
      closed = true
    })
    await clock.advance(1000)
    expect(closed).toBe(false)
    resolve(null)
    await closing
  })

  it('stopping by close waits until the work has ended and its outcome is written', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const running = once.run('job', () => promise)
    await clock.advance(0)
    let closed = false
    const closing = once.close().then(() => {
      closed = true
    })
    await clock.advance(1000)
    expect(closed).toBe(false)
    resolve('done')
    await closing
    expect(await jobs.read('job')).toMatchObject({ status: 'READY', result: 'done' })
    expect(await running).toEqual({ ran: true, result: 'done' })
  })

  it('happens at the end of an `await using` block', async () => {
    let scoped: Once
    {
      await using inner = createOnce(jobs, { clock })
      scoped = inner
    }
    await expect(scoped.read('job')).rejects.toMatchObject({ code: 'closed' })
  })

  it('stopping is final', async () => {
    await once.close()
    const read = vi.spyOn(jobs, 'read')
    await expect(once.run('job', vi.fn())).rejects.toMatchObject({ code: 'closed' })
    await expect(once.wait('job')).rejects.toMatchObject({ code: 'closed' })
    await expect(once.read('job')).rejects.toMatchObject({ code: 'closed' })
    expect(read).not.toHaveBeenCalled()
    await once.close()
  })
})

describe('adding a job', () => {
  it('adding a job adds it once, alone or with the run, and a run of a job that was not added is not-found', async () => {
    await expect(once.run('new', () => 1)).rejects.toMatchObject({ code: 'not-found' })
    await once.add('new')
    await once.add('new')
    expect(await once.run('new', () => 'first')).toEqual({ ran: true, result: 'first' })
    expect(await once.run('newer', () => 'first', { add: true })).toEqual({ ran: true, result: 'first' })
    expect(await once.run('newer', vi.fn(), { add: true })).toMatchObject({
      ran: false,
      reason: 'already_finished',
      job: { id: 'newer', result: 'first', error: null },
    })
    await expect(once.add('')).rejects.toMatchObject({ code: 'invalid-argument' })
    await expect(once.run('newer', vi.fn(), { add: 1 as never })).rejects.toThrow(
      'add: expected true or false',
    )
  })

  it('a skip is no error, also if the job cannot be read after it', async () => {
    await jobs.acquire('job', 'somebody', 60_000)
    vi.spyOn(jobs, 'read').mockImplementationOnce(down)
    expect(await once.run('job', vi.fn())).toEqual({ ran: false, reason: 'locked', job: null })
  })

  it('ends with the answer of the store, or with close', async () => {
    vi.spyOn(jobs, 'add').mockReturnValue(new Promise(() => {}))
    const silent = expect(once.add('job')).rejects.toMatchObject({ code: 'store-unavailable' })
    await clock.advance('5s')
    await silent
  })
})

describe('waiting for a job', () => {
  const finishIn = (ms: number) =>
    another.run('job', () => new Promise((resolve) => clock.setTimer(() => resolve('done'), ms)))

  it('waiting for a job resolves when another worker finishes it, by the store’s push', async () => {
    const read = vi.spyOn(jobs, 'read')
    const waiting = once.wait('job')
    finishIn(12_000)
    await clock.advance(12_000)
    expect(await waiting).toMatchObject({ status: 'READY', result: 'done' })
    expect(read.mock.calls.length).toBeLessThan(8)
  })

  it('resolves at once if the job is finished', async () => {
    await once.run('job', () => 1)
    expect(await once.wait('job', { wait: 0 })).toMatchObject({ finished: true, result: 1 })
    expect(clock.pending).toBe(0)
  })

  it('waiting for a job reads the job again, less and less often, if the store cannot push', async () => {
    const { watch: _, ...deaf } = jobs
    const read = vi.spyOn(deaf, 'read')
    const waiting = createOnce(deaf, { clock }).wait('job')
    finishIn(30_000)
    await clock.advance(33_000)
    expect(await waiting).toMatchObject({ result: 'done' })
    expect(read.mock.calls.length).toBeLessThan(25)
  })

  it('waiting for a job misses no change that comes while it reads', async () => {
    const read = jobs.read
    vi.spyOn(jobs, 'read').mockImplementationOnce(async (id) => {
      const before = await read(id)
      await another.run(id, () => 1)
      return before
    })
    expect(await once.wait('job')).toMatchObject({ finished: true })
  })

  it('waiting for a job continues through an outage', async () => {
    vi.spyOn(jobs, 'read').mockImplementationOnce(down).mockImplementationOnce(down)
    const waiting = once.wait('job')
    await once.run('job', () => 1)
    await clock.advance(1000)
    expect(await waiting).toMatchObject({ result: 1 })
  })

  it('ends by its limit, by its signal and by close', async () => {
    for (const wait of [1000, '1s'] as const) {
      const late = expect(once.wait('job', { wait })).rejects.toMatchObject({
        code: 'not-finished',
        retryable: true,
        message: 'job job did not finish within 1000 ms: no worker has started it',
      })
      await clock.advance(1000)
      await late
    }
    await once.run('job', () => Promise.reject(retryable('later'))).catch(() => {})
    await expect(once.wait('job', { wait: 0 })).rejects.toThrow(
      'job job did not finish within 0 ms: started 1 time, status PENDING',
    )
    const stop = new AbortController()
    const aborted = expect(once.wait('job', { signal: stop.signal })).rejects.toMatchObject({
      code: 'aborted',
    })
    await clock.advance(0)
    stop.abort()
    await aborted
    const closed = expect(once.wait('job', { wait: Infinity })).rejects.toMatchObject({ code: 'closed' })
    await clock.advance(0)
    await once.close()
    await closed
    expect(clock.pending).toBe(0)
  })

  it('waiting for a job stops watching at the end', async () => {
    const stop = vi.fn()
    vi.spyOn(jobs, 'watch').mockReturnValue(stop)
    await once.run('job', () => 1)
    await once.wait('job')
    expect(stop).toHaveBeenCalledTimes(1)
  })

  it('rejects with not-found if the job does not exist', async () => {
    await expect(once.wait('nobody')).rejects.toMatchObject({ code: 'not-found' })
  })
})
