import { beforeEach, describe, expect, it, vi } from 'vitest'
import { LeaseError } from '../core/index.ts'
import { FakeClock } from '../testing/index.ts'
import type { JobStore } from './job-store.ts'
import { memoryJobs } from './memory-jobs.ts'
import { createOnce, type Once } from './once.ts'
import { createTaskHandler, type TaskHandlerOptions } from './task-handler.ts'

const URL = 'https://worker.example/internal/tasks/analysis'
let clock: FakeClock
let jobs: JobStore
let once: Once
beforeEach(async () => {
  clock = new FakeClock()
  jobs = memoryJobs({ clock })
  once = createOnce(jobs, { clock })
  await jobs.add('42')
})

const handler = (options: Partial<TaskHandlerOptions> = {}) =>
  createTaskHandler(once, { work: () => 'done', ...options })
const deliver = (body: unknown = { analysisId: '42' }, init: RequestInit = {}) =>
  new Request(URL, { method: 'POST', body: JSON.stringify(body), ...init })
const answer = async (response: Response) => ({ status: response.status, body: await response.json() })
const fail = () => {
  throw new Error('secret detail')
}
const retryable = Object.assign(new Error('secret detail'), { retryable: true })

describe('a delivery', () => {
  it('is answered 200 when it is done, and when it was', async () => {
    const work = vi.fn(() => 1)
    const handle = handler({ work })
    expect(await answer(await handle(deliver()))).toEqual({ status: 200, body: { status: 'done' } })
    expect(await answer(await handle(deliver()))).toEqual({
      status: 200,
      body: { status: 'already_finished' },
    })
    expect(work).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ id: '42', attempt: 1 }))
  })

  it('is answered 503 with Retry-After when the failure may pass, without its details', async () => {
    const onError = vi.fn()
    const response = await handler({ work: () => Promise.reject(retryable), retryAfter: 7, onError })(
      deliver(),
    )
    expect(response.headers.get('Retry-After')).toBe('7')
    expect(await answer(response)).toEqual({ status: 503, body: { error: 'retry_later' } })
    expect(onError).toHaveBeenCalledExactlyOnceWith(retryable, '42')
  })

  it('is answered 200 when the failure is final', async () => {
    const handle = handler({ work: () => Promise.reject(new Error('secret detail')) })
    expect(await answer(await handle(deliver()))).toEqual({ status: 200, body: { status: 'failed' } })
    expect(await jobs.read('42')).toMatchObject({ status: 'FAILED' })
  })

  it('of a job that another runs is to come again, or is acknowledged if so configured', async () => {
    await jobs.acquire('42', 'another', 60_000)
    const response = await handler()(deliver())
    expect(response.headers.get('Retry-After')).toBe('30')
    expect(await answer(response)).toEqual({ status: 503, body: { error: 'locked' } })
    const acknowledged = await handler({ onLocked: 'ack' })(deliver())
    expect(await answer(acknowledged)).toEqual({ status: 200, body: { status: 'locked' } })
  })

  it('of a job that keeps killing its worker ends', async () => {
    await jobs.acquire('42', 'dead', 1000)
    await clock.advance(1001)
    const response = await handler({ maxAttempts: 1 })(deliver())
    expect(await answer(response)).toEqual({ status: 200, body: { status: 'too_many_attempts' } })
  })

  it('whose result was refused comes again, or is done if another has finished it', async () => {
    const finish = vi.spyOn(jobs, 'finish').mockResolvedValueOnce(false)
    expect(await answer(await handler()(deliver()))).toEqual({ status: 503, body: { error: 'retry_later' } })
    finish.mockRestore()
    const write = jobs.finish
    vi.spyOn(jobs, 'finish').mockImplementationOnce(async (...call) => {
      await write(...call)
      return false
    })
    const response = await handler()(deliver())
    expect(await answer(response)).toEqual({ status: 200, body: { status: 'already_finished' } })
  })

  it('while the store is away comes again', async () => {
    vi.spyOn(jobs, 'acquire').mockRejectedValue(new LeaseError('store-unavailable', 'secret detail'))
    expect(await answer(await handler()(deliver()))).toEqual({ status: 503, body: { error: 'retry_later' } })
  })

  it('is answered by what became of the job, whatever class of error the work throws', async () => {
    const work = () => Promise.reject(new LeaseError('not-found', 'of something else'))
    expect(await answer(await handler({ work })(deliver()))).toMatchObject({ body: { status: 'failed' } })
  })

  it('to a worker that is told to stop comes again', async () => {
    const work = async () => {
      once.close()
      throw new Error('stopped')
    }
    expect(await answer(await handler({ work })(deliver()))).toMatchObject({ status: 503 })
    expect(await jobs.read('42')).toMatchObject({ status: 'PENDING' })
  })

  it.each([
    ['is blamed on the id when the store cannot have it', '42', 400, 'invalid_analysis_id'],
    ['is not blamed on the id when something else is wrong', undefined, 503, 'retry_later'],
  ])('that is refused as a bad argument %s', async (_, resource, status, error) => {
    const onError = vi.fn()
    const refusal = new LeaseError('invalid-argument', 'expected something else', { resource })
    vi.spyOn(jobs, 'acquire').mockRejectedValue(refusal)
    expect(await answer(await handler({ onError })(deliver()))).toEqual({ status, body: { error } })
    expect(onError.mock.calls).toEqual(status === 503 ? [[refusal, '42']] : [])
  })

  it.each([
    ['throws', () => fail()],
    ['rejects', async () => fail()],
  ])('is answered though onError %s', async (_, onError) => {
    const failing = handler({ work: () => Promise.reject(retryable), onError })
    expect(await answer(await failing(deliver()))).toMatchObject({ body: { error: 'retry_later' } })
    const closed = handler({ authorize: () => fail(), onError })
    expect(await answer(await closed(deliver()))).toMatchObject({ body: { error: 'unavailable' } })
  })

  it('of a job that does not exist is answered 404', async () => {
    const response = await handler()(deliver({ analysisId: 'nobody' }))
    expect(await answer(response)).toEqual({ status: 404, body: { error: 'not_found' } })
  })
})

describe('a request that is no delivery', () => {
  it('is refused by its method and its path', async () => {
    const get = await handler()(new Request(URL))
    expect(get.headers.get('Allow')).toBe('POST')
    expect(await answer(get)).toEqual({ status: 405, body: { error: 'method_not_allowed' } })
    const elsewhere = new Request('https://worker.example/other', { method: 'POST' })
    expect(await answer(await handler()(elsewhere))).toEqual({ status: 404, body: { error: 'not_found' } })
    expect(
      (await handler({ path: '/other' })(new Request(elsewhere, { body: '{}', method: 'POST' }))).status,
    ).toBe(400)
  })

  it('is refused when it may not start work, before its body is read', async () => {
    const authorize = vi.fn(async (request: Request) => request.headers.get('Authorization') === 'Bearer ok')
    const request = deliver('not looked at')
    expect(await answer(await handler({ authorize })(request))).toEqual({
      status: 403,
      body: { error: 'forbidden' },
    })
    expect(request.bodyUsed).toBe(false)
    const allowed = deliver(undefined, { headers: { Authorization: 'Bearer ok' } })
    expect((await handler({ authorize })(allowed)).status).toBe(200)
  })

  it('starts no work when authorize itself fails', async () => {
    const work = vi.fn()
    const authorize = () => Promise.reject(new Error('secret detail'))
    const response = await handler({ work, authorize })(deliver())
    expect(await answer(response)).toEqual({ status: 503, body: { error: 'unavailable' } })
    expect(work).not.toHaveBeenCalled()
  })

  it.each([
    ['{', 'invalid_json'],
    ['', 'invalid_json'],
    ['null', 'invalid_analysis_id'],
    ['[]', 'invalid_analysis_id'],
    ['"42"', 'invalid_analysis_id'],
    ['{"analysisId":42}', 'invalid_analysis_id'],
    ['{"analysisId":""}', 'invalid_analysis_id'],
    ['{"analysisId":"a\\u0000b"}', 'invalid_analysis_id'],
    [`{"analysisId":"${'x'.repeat(513)}"}`, 'invalid_analysis_id'],
    [new Uint8Array([0x22, 0xff, 0x22]), 'invalid_body'],
  ])('is refused by its body: %s', async (body, error) => {
    const response = await handler()(new Request(URL, { method: 'POST', body }))
    expect(await answer(response)).toEqual({ status: 400, body: { error } })
  })

  it('is refused by its size while it is read', async () => {
    let sent = 0
    const body = new ReadableStream({
      pull(controller) {
        sent += 4096
        controller.enqueue(new Uint8Array(4096).fill(0x20))
      },
    })
    const request = new Request(URL, { method: 'POST', body, duplex: 'half' } as RequestInit)
    expect(await answer(await handler()(request))).toEqual({ status: 413, body: { error: 'body_too_large' } })
    expect(sent).toBeLessThan(40_000)
  })
})

describe('a handler that could not work', () => {
  it.each([
    ['retryAfter', 0.5],
    ['onLocked', 'ask'],
    ['work', null],
    ['authorize', 5],
    ['onError', 'log'],
    ['path', 5],
    ['path', 'internal/tasks'],
    ['ttl', -1],
    ['ttl', '300'],
    ['heartbeat', 'q'],
    ['heartbeat', 300_000],
    ['maxAttempts', 0],
  ])('is refused when it is made, by the name of what is wrong: %s %j', (option, value) => {
    expect(() => handler({ [option]: value })).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        message: expect.stringMatching(`^${option}: expected .+`),
      }),
    )
  })

  it.each([{}, null, undefined])('is refused without a once: %j', (none) => {
    expect(() => createTaskHandler(none as never, { work: () => 1 })).toThrow('once: expected')
  })
})
