import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, type Mock, vi } from 'vitest'
import { LeaseError, type LeaseEvent } from '../core/index.ts'
import { FakeClock } from '../testing/index.ts'
import type { JobStore } from './job-store.ts'
import { memoryJobs } from './memory-jobs.ts'
import { createOnce, type Once } from './once.ts'
import type { RunningJob } from './run.ts'
import type { OnWarning } from './telling.ts'

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
afterEach(() => Promise.all([once.close(), another.close()]))

const down = async () => {
  throw new LeaseError('store-unavailable', 'away')
}
const retryable = (message: string) => Object.assign(new Error(message), { retryable: true })

describe('a run', () => {
  it('runs the work, keeps its result and ends the lock', async () => {
    const work = vi.fn(async ({ id, attempt }: RunningJob) => ({ id, attempt }))
    expect(await once.run('job', work)).toEqual({ ran: true, result: { id: 'job', attempt: 1 } })
    expect(await once.read('job')).toMatchObject({ status: 'READY', result: { id: 'job', attempt: 1 } })
    expect(events.map(({ type }) => type)).toEqual(['attempt', 'acquired', 'released'])
    expect(clock.pending).toBe(0)
  })

  it('is skipped when the job is finished, and when another runs it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const running = once.run('job', () => promise)
    await clock.advance(0)
    expect(await another.run('job', vi.fn())).toEqual({ ran: false, reason: 'locked' })
    resolve()
    expect(await running).toEqual({ ran: true, result: undefined })
    const work = vi.fn()
    expect(await another.run('job', work)).toEqual({ ran: false, reason: 'already_finished' })
    expect(work).not.toHaveBeenCalled()
  })

  it('of fifty runs at once has the work run once', async () => {
    const work = vi.fn(async () => 'done')
    const runs = await Promise.all(Array.from({ length: 50 }, () => once.run('job', work)))
    expect(work).toHaveBeenCalledTimes(1)
    expect(runs.filter(({ ran }) => ran)).toHaveLength(1)
  })

  it('beats every 90 s on a TTL of 300 s', async () => {
    const refresh = vi.spyOn(jobs, 'refresh')
    const { promise, resolve } = Promise.withResolvers<void>()
    const running = once.run('job', () => promise)
    await clock.advance(3_600_000)
    expect(refresh).toHaveBeenCalledTimes(40)
    expect(refresh).toHaveBeenLastCalledWith('job', expect.stringMatching(/^me\/[\w-]{36}$/), 300_000)
    resolve()
    await running
  })

  it('has a token that rises with every attempt', async () => {
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

  it('that fails is kept as FAILED and throws on', async () => {
    const error = new TypeError('no such thing')
    await expect(once.run('job', () => Promise.reject(error))).rejects.toBe(error)
    expect(await once.read('job')).toMatchObject({ status: 'FAILED', error: 'TypeError: no such thing' })
    expect(await another.run('job', vi.fn())).toEqual({ ran: false, reason: 'already_finished' })
  })

  it('that fails in a way that may pass leaves the job to the next, at once', async () => {
    await expect(once.run('job', () => Promise.reject(retryable('busy')))).rejects.toThrow('busy')
    expect(await once.read('job')).toMatchObject({ status: 'PENDING', error: null })
    expect(await another.run('job', ({ attempt }) => attempt)).toEqual({ ran: true, result: 2 })
  })

  it('with a result that JSON cannot carry fails', async () => {
    await expect(once.run('job', () => 1n)).rejects.toThrow(TypeError)
    expect(await once.read('job')).toMatchObject({ status: 'FAILED' })
    await jobs.add('function')
    await expect(once.run('function', () => () => 1)).rejects.toThrow('a result that JSON can carry')
  })

  it('of a job that does not exist rejects with not-found', async () => {
    await expect(once.run('nobody', vi.fn())).rejects.toMatchObject({ code: 'not-found' })
  })

  it('after too many attempts makes the job FAILED instead of trying for ever', async () => {
    const work = vi.fn(() => Promise.reject(retryable('busy')))
    const runs = [1, 2, 3, 4].map(() => () => once.run('job', work, { maxAttempts: 2 }))
    await expect(runs[0]?.()).rejects.toThrow('busy')
    await expect(runs[1]?.()).rejects.toThrow('busy')
    expect(await runs[2]?.()).toEqual({ ran: false, reason: 'too_many_attempts' })
    expect(await runs[3]?.()).toEqual({ ran: false, reason: 'already_finished' })
    expect(work).toHaveBeenCalledTimes(2)
    expect(await once.read('job')).toMatchObject({ status: 'FAILED' })
  })

  it('refuses bad arguments at once', async () => {
    const invalid = { code: 'invalid-argument' }
    await expect(once.run('', vi.fn())).rejects.toMatchObject(invalid)
    await expect(once.run('job', null as never)).rejects.toMatchObject(invalid)
    await expect(once.run('job', vi.fn(), { ttl: 1 })).rejects.toMatchObject(invalid)
    await expect(once.run('job', vi.fn(), { heartbeat: 300_000 })).rejects.toMatchObject(invalid)
    await expect(once.run('job', vi.fn(), { signal: {} as AbortSignal })).rejects.toMatchObject(invalid)
    await expect(once.wait('job', { timeout: -1 })).rejects.toMatchObject(invalid)
    await expect(once.run('job', vi.fn(), { maxAttempts: 0.5 })).rejects.toMatchObject(invalid)
    for (const [jobs, got] of [
      [null, 'null'],
      ['sqlite:jobs.db', '"sqlite:jobs.db"'],
      [Promise.resolve(), 'an object'],
      [() => {}, 'a function'],
    ])
      expect(() => createOnce(jobs as never)).toThrow(`jobs: expected a JobStore, got ${got}`)
    expect(() => createOnce(jobs, { worker: '' })).toThrow('worker')
    expect(() => createOnce(jobs, { onEvent: 5 as never })).toThrow('onEvent: expected a function')
    expect(() => createOnce(jobs, { onWarning: 5 as never })).toThrow('onWarning: expected a function')
  })
})

describe('a lock that is lost', () => {
  it('aborts the work, and its late result is refused', async () => {
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

  it('is noticed by the fence even if the worker was stopped and knows nothing', async () => {
    const finish = vi.spyOn(jobs, 'finish')
    const running = once.run('job', async ({ id }) => {
      // Meanwhile another took the job over, as after a stop of this process: no timer here has fired.
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

describe('a store that fails', () => {
  it('at the start rejects the run, which may be delivered again', async () => {
    vi.spyOn(jobs, 'acquire').mockImplementationOnce(down)
    const work = vi.fn()
    await expect(once.run('job', work)).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })
    expect(work).not.toHaveBeenCalled()
    expect(await another.run('job', () => 1)).toEqual({ ran: true, result: 1 })
  })

  it('at the end is asked again as long as the lock is held', async () => {
    const finish = jobs.finish
    vi.spyOn(jobs, 'finish').mockImplementation(down)
    const running = once.run('job', () => 'worth keeping')
    await clock.advance(120_000)
    jobs.finish = finish
    await clock.advance(2500)
    expect(await running).toEqual({ ran: true, result: 'worth keeping' })
  })

  it('at the end for longer than the lock is a loss', async () => {
    vi.spyOn(jobs, 'finish').mockImplementation(down)
    vi.spyOn(jobs, 'refresh').mockImplementation(down)
    const rejected = expect(once.run('job', () => 1)).rejects.toMatchObject({ code: 'lease-lost' })
    await clock.advance(300_000)
    await rejected
  })

  it('gives no answer at the end, and is asked again', async () => {
    const finish = jobs.finish
    vi.spyOn(jobs, 'finish').mockImplementationOnce(async (...call) => {
      await finish(...call)
      return new Promise(() => {})
    })
    const running = once.run('job', () => 1)
    await clock.advance(11_000)
    expect(await running).toEqual({ ran: true, result: 1 })
  })

  it('answers a heartbeat before the outcome that ended the lock: that is no loss', async () => {
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

  it('will never take the result: the job is FAILED, not run for ever', async () => {
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

  it('at the release harms nobody: it is told, and the lock ends with its TTL', async () => {
    onWarning.mockImplementation(down)
    await runWithoutRelease(once)
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(
      'the lock of job job could not be released; it ends with its TTL',
      expect.objectContaining({ code: 'store-unavailable' }),
    )
    expect(events.some((event) => event.type === 'error' && event.operation === 'release')).toBe(true)
    expect(await another.run('job', vi.fn())).toEqual({ ran: false, reason: 'locked' })
    await clock.advance(300_000)
    expect(await another.run('job', () => 1)).toEqual({ ran: true, result: 1 })
  })

  it('at the release warns on the console unless told otherwise', async () => {
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
  it('leaves no listener on a signal that outlives the run', async () => {
    const { signal } = new AbortController()
    await once.run('job', () => 1, { signal })
    await once.wait('job', { signal })
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it.each(['the signal', 'close'])('by %s aborts the work, which leaves the job to another', async (by) => {
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
  })

  it('keeps the result of work that ended all the same', async () => {
    const stop = new AbortController()
    const { promise, resolve } = Promise.withResolvers<string>()
    const running = once.run('job', () => promise, { signal: stop.signal })
    await clock.advance(0)
    stop.abort()
    resolve('done')
    expect(await running).toEqual({ ran: true, result: 'done' })
  })

  it('is final', async () => {
    await once.close()
    await expect(once.run('job', vi.fn())).rejects.toMatchObject({ code: 'closed' })
    await expect(once.wait('job')).rejects.toMatchObject({ code: 'closed' })
    await expect(once.read('job')).rejects.toMatchObject({ code: 'closed' })
    await once.close()
  })
})

describe('waiting for a job', () => {
  const finishIn = (ms: number) =>
    another.run('job', () => new Promise((resolve) => clock.setTimer(() => resolve('done'), ms)))

  it('resolves when another worker finishes it, by the store’s push', async () => {
    const read = vi.spyOn(jobs, 'read')
    const waiting = once.wait('job')
    finishIn(12_000)
    await clock.advance(12_000)
    expect(await waiting).toMatchObject({ status: 'READY', result: 'done' })
    expect(read.mock.calls.length).toBeLessThan(8)
  })

  it('resolves at once for a job that is finished', async () => {
    await once.run('job', () => 1)
    expect(await once.wait('job', { timeout: 0 })).toMatchObject({ finished: true, result: 1 })
    expect(clock.pending).toBe(0)
  })

  it('looks again by and by where the store cannot push', async () => {
    const { watch: _, ...deaf } = jobs
    const read = vi.spyOn(deaf, 'read')
    const waiting = createOnce(deaf, { clock }).wait('job')
    finishIn(30_000)
    await clock.advance(33_000)
    expect(await waiting).toMatchObject({ result: 'done' })
    expect(read.mock.calls.length).toBeLessThan(25)
  })

  it('misses no change that comes during a look', async () => {
    const read = jobs.read
    vi.spyOn(jobs, 'read').mockImplementationOnce(async (id) => {
      const before = await read(id)
      await another.run(id, () => 1)
      return before
    })
    expect(await once.wait('job')).toMatchObject({ finished: true })
  })

  it('goes on through an outage', async () => {
    vi.spyOn(jobs, 'read').mockImplementationOnce(down).mockImplementationOnce(down)
    const waiting = once.wait('job')
    await once.run('job', () => 1)
    await clock.advance(1000)
    expect(await waiting).toMatchObject({ result: 1 })
  })

  it('ends by its timeout, by its signal and by close', async () => {
    const late = expect(once.wait('job', { timeout: 1000 })).rejects.toMatchObject({ code: 'lease-held' })
    await clock.advance(1000)
    await late
    const stop = new AbortController()
    const aborted = expect(once.wait('job', { signal: stop.signal })).rejects.toMatchObject({
      code: 'aborted',
    })
    await clock.advance(0)
    stop.abort()
    await aborted
    const closed = expect(once.wait('job', { timeout: Infinity })).rejects.toMatchObject({ code: 'closed' })
    await clock.advance(0)
    await once.close()
    await closed
    expect(clock.pending).toBe(0)
  })

  it('leaves no watch behind', async () => {
    const stop = vi.fn()
    vi.spyOn(jobs, 'watch').mockReturnValue(stop)
    await once.run('job', () => 1)
    await once.wait('job')
    expect(stop).toHaveBeenCalledTimes(1)
  })

  it('rejects with not-found for a job that does not exist', async () => {
    await expect(once.wait('nobody')).rejects.toMatchObject({ code: 'not-found' })
  })
})
