import { beforeEach, describe, expect, it, vi } from 'vitest'
import { LeaseError } from '../base/errors.ts'
import { FakeClock } from '../testing/index.ts'
import { createOnce, idOf, type JobStore, memoryJobs, type Once } from './index.ts'

describe('once.result', () => {
  let clock: FakeClock
  let jobs: JobStore
  let once: Once
  beforeEach(() => {
    clock = new FakeClock()
    jobs = memoryJobs({ clock })
    once = createOnce(jobs, { clock, onWarning: () => {} })
  })

  it('once.result runs the work for the first caller, and gives its result to later ones for a day', async () => {
    const work = vi.fn(async () => ({ at: new Date(0), missing: undefined }))
    expect(await once.result('job', work)).toEqual({ ran: true, result: { at: '1970-01-01T00:00:00.000Z' } })
    await clock.advance(86_399_000)
    expect(await once.result('job', work)).toEqual({ ran: false, result: { at: '1970-01-01T00:00:00.000Z' } })
    await clock.advance(2000)
    expect(await once.result('job', work)).toMatchObject({ ran: true })
    expect(work).toHaveBeenCalledTimes(2)
  })

  it('once.result keeps a result for as long as it is told', async () => {
    const work = vi.fn(() => 1)
    await once.result('short', work, { keep: '1m' })
    await once.result('long', work, { keep: Infinity })
    await clock.advance(366 * 86_400_000)
    expect(await once.result('long', work)).toEqual({ ran: false, result: 1 })
    expect(await once.result('short', work)).toEqual({ ran: true, result: 1 })
  })

  it('once.result lets callers at the same time wait for the result', async () => {
    let finish = (_: string) => {}
    const first = once.result('job', () => new Promise<string>((resolve) => (finish = resolve)))
    const second = once.result('job', () => 'never run')
    await clock.advance(5000)
    finish('done')
    expect(await first).toEqual({ ran: true, result: 'done' })
    expect(await second).toEqual({ ran: false, result: 'done' })
  })

  it('rejects with not-finished when the wait is over', async () => {
    const first = once.result('job', () => new Promise(() => {}))
    first.catch(() => {})
    const refusal = { code: 'not-finished', resource: 'job', retryable: true }
    await expect(once.result('job', () => 1, { wait: 0 })).rejects.toMatchObject(refusal)
    const late = expect(once.result('job', () => 1, { wait: '3s' })).rejects.toMatchObject(refusal)
    await clock.advance(3000)
    await late
  })

  it('once.result runs the work of a dead worker when its lock has ended', async () => {
    await jobs.acquire('job', 'dead', 2000, { create: { fingerprint: '', keepMs: 1000 } })
    const next = once.result('job', () => 'by the next', { wait: '1m' })
    await clock.advance(2001)
    expect(await next).toEqual({ ran: true, result: 'by the next' })
  })

  it('once.result refuses another payload, whatever the state of the job is', async () => {
    const [started, finished] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const work = () => {
      started.resolve()
      return finished.promise
    }
    const first = once.result('job', work, { payload: { a: 1, b: [2] } })
    // A payload is hashed in another thread, which takes a while on a busy machine.
    await started.promise
    const refusal = { code: 'payload-mismatch', retryable: false }
    for (const payload of [{ a: 1 }, { a: 1, b: [3] }, undefined])
      await expect(once.result('job', () => 1, { payload })).rejects.toMatchObject(refusal)
    finished.resolve()
    await first
    await expect(once.result('job', () => 1, { payload: null })).rejects.toMatchObject(refusal)
    expect(await once.result('job', () => 1, { payload: { b: [2], a: 1 } })).toEqual({
      ran: false,
      result: null,
    })
  })

  it('once.result refuses a payload that JSON would change, before it asks the store', async () => {
    const cycle: Record<string, unknown> = {}
    cycle['itself'] = cycle
    for (const payload of [Number.NaN, new Map(), { at: new Date(0) }, 10n, cycle, () => {}])
      await expect(once.result('job', () => 1, { payload: payload as never })).rejects.toMatchObject({
        code: 'invalid-argument',
        message: expect.stringContaining('payload: expected what JSON can carry'),
      })
    expect(await jobs.read('job')).toBe(null)
  })

  it('once.result forgets a failure, so that the next caller runs the work again', async () => {
    await expect(once.result('job', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await once.result('job', () => 'second')).toEqual({ ran: true, result: 'second' })
  })

  it('once.result keeps a failure if it is told to, but not one that is retryable', async () => {
    const failing = (error: Error) =>
      once.result('job', () => Promise.reject(error), { failures: 'keep' }).catch((caught) => caught)
    const retryable = Object.assign(new Error('later'), { retryable: true })
    expect(await failing(retryable)).toBe(retryable)
    const final = new Error('card declined')
    expect(await failing(final)).toBe(final)
    await expect(once.result('job', () => 1)).rejects.toMatchObject({
      code: 'job-failed',
      message: 'job job has failed: Error: card declined',
    })
  })

  it('once.result never repeats work that has begun, also if its error is retryable', async () => {
    const work = vi.fn(() => Promise.reject(Object.assign(new Error('later'), { retryable: true })))
    await expect(once.result('job', work)).rejects.toThrow('later')
    expect(work).toHaveBeenCalledTimes(1)
  })

  it('once.result asks again while the store is away, until the wait is over', async () => {
    const acquire = jobs.acquire
    const down = vi.fn(() => Promise.reject(new LeaseError('store-unavailable', 'away')))
    jobs.acquire = down
    const waiting = once.result('job', () => 1, { wait: '1m' })
    await clock.advance(5000)
    expect(down.mock.calls.length).toBeGreaterThan(2)
    jobs.acquire = acquire
    await clock.advance(5000)
    expect(await waiting).toEqual({ ran: true, result: 1 })
  })

  it('once.result stops waiting when its signal aborts, and when once is closed', async () => {
    once.result('job', () => new Promise(() => {})).catch(() => {})
    await clock.advance(1)
    const stop = new AbortController()
    const aborted = expect(
      once.result('job', () => 1, { signal: stop.signal, wait: Infinity }),
    ).rejects.toMatchObject({ code: 'aborted' })
    const other = createOnce(jobs, { clock })
    const closed = expect(other.result('job', () => 1, { wait: Infinity })).rejects.toMatchObject({
      code: 'closed',
    })
    await clock.advance(100)
    stop.abort()
    await aborted
    await other.close()
    await closed
  })

  it('once.result passes on what the work throws, also after its signal aborted or once was closed', async () => {
    const stop = new AbortController()
    const reason = new Error('enough')
    const stopped = once.result(
      'stopped',
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      { signal: stop.signal },
    )
    await clock.advance(1)
    stop.abort(reason)
    await expect(stopped).rejects.toBe(reason)
    const late = new Error('not finished')
    const closed = once.result(
      'closed',
      ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(late))),
    )
    await clock.advance(1)
    const closing = once.close()
    await expect(closed).rejects.toBe(late)
    await closing
    expect(await jobs.read('closed')).toMatchObject({ finished: false })
  })

  it('once.result deletes jobs whose results are no longer kept, from time to time and on demand', async () => {
    await once.result('old', () => 1, { keep: '1m' })
    await clock.advance(601_000)
    await once.result('new', () => 1, { keep: '1m' })
    await clock.advance(1)
    expect(await jobs.read('old')).toBe(null)
    await clock.advance(61_000)
    expect(await once.sweep()).toBe(1)
    expect(await jobs.read('new')).toBe(null)
  })

  it('once.result needs an id, a function and valid options', async () => {
    const invalid = (message: string) => ({
      code: 'invalid-argument',
      message: expect.stringContaining(message),
    })
    await expect(once.result('', () => 1)).rejects.toMatchObject(invalid('id'))
    await expect(once.result('job', 1 as never)).rejects.toMatchObject(invalid('work'))
    for (const [options, message] of [
      [{ keep: 0 }, 'keep'],
      [{ keep: '2 days' }, 'keep'],
      [{ wait: -1 }, 'wait'],
      [{ failures: 'drop' }, 'failures'],
      [{ timeout: 1 }, 'timeout'],
    ] as const)
      await expect(once.result('job', () => 1, options as never)).rejects.toMatchObject(invalid(message))
  })
})

describe('idOf', () => {
  it('idOf is the same for the same content, whatever the order of the fields', async () => {
    const id = await idOf({ a: 1, b: { c: [1, 'ü'], d: null } }, { prefix: 'order:' })
    expect(id).toMatch(/^order:[0-9a-f]{64}$/)
    expect(await idOf({ b: { d: null, c: [1, 'ü'] }, a: 1 }, { prefix: 'order:' })).toBe(id)
    expect(await idOf({ a: 1, b: { c: ['ü', 1], d: null } }, { prefix: 'order:' })).not.toBe(id)
  })

  it('idOf counts only the named fields, which must be there', async () => {
    const order = { number: 42, customer: 'Mika', seenAt: 1 }
    const fields = ['customer', 'number']
    expect(await idOf(order, { fields })).toBe(await idOf({ ...order, seenAt: 2 }, { fields }))
    expect(await idOf(order, { fields })).not.toBe(await idOf({ ...order, number: 43 }, { fields }))
    await expect(idOf({ number: 42 }, { fields })).rejects.toThrow(
      'payload: expected an object with customer',
    )
    await expect(idOf([1], { fields })).rejects.toThrow('payload')
    await expect(idOf(order, { fields: [] })).rejects.toThrow('fields')
  })
})
