import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { LeaseError } from '../base/errors.ts'
import { FakeClock } from '../testing/index.ts'
import { analysisJobs } from './analysis-jobs.ts'
import type { JobStore } from './job-store.ts'
import { memoryJobs } from './memory-jobs.ts'
import { oidcAuthorize } from './oidc.ts'
import { createOnce, type Once } from './once.ts'
import type { TaskHandlerOptions } from './options.ts'
import { createTaskHandler } from './task-handler.ts'

const URL = 'https://worker.example/tasks'
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
  createTaskHandler(once, { work: () => 'done', authorize: 'everyone', ...options })
const deliver = (body: unknown = { id: '42' }, init: RequestInit = {}) =>
  new Request(URL, { method: 'POST', body: JSON.stringify(body), ...init })
const answer = async (response: Response) => ({ status: response.status, body: await response.json() })
const fail = () => {
  throw new Error('secret detail')
}
const retryable = Object.assign(new Error('secret detail'), { retryable: true })

describe('a delivery', () => {
  it('a delivery is answered 200 if the job is done, now or before', async () => {
    const work = vi.fn(() => 1)
    const handle = handler({ work })
    expect(await answer(await handle(deliver()))).toEqual({ status: 200, body: { status: 'done' } })
    expect(await answer(await handle(deliver()))).toEqual({
      status: 200,
      body: { status: 'already_finished' },
    })
    expect(work).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ id: '42', attempt: 1 }))
  })

  it('a delivery is answered 503 with Retry-After and without details if the failure is retryable', async () => {
    const onError = vi.fn()
    const response = await handler({ work: () => Promise.reject(retryable), retryAfter: 7000, onError })(
      deliver(),
    )
    expect(response.headers.get('Retry-After')).toBe('7')
    expect(await answer(response)).toEqual({ status: 503, body: { error: 'retry_later' } })
    expect(onError).toHaveBeenCalledExactlyOnceWith(retryable, '42')
  })

  it.each([
    ['2m', '120'],
    ['500ms', '1'],
    [5000, '5'],
    [5001, '6'],
    [0, '0'],
  ] as const)('a delivery is to be repeated after the given time: %s', async (retryAfter, seconds) => {
    const response = await handler({ work: () => Promise.reject(retryable), retryAfter })(deliver())
    expect(response.headers.get('Retry-After')).toBe(seconds)
  })

  it('runs with durations as text', async () => {
    const acquire = vi.spyOn(jobs, 'acquire')
    await handler({ ttl: '2m', heartbeat: '30s' })(deliver())
    expect(acquire).toHaveBeenCalledWith('42', expect.any(String), 120_000, { maxAttempts: undefined })
  })

  it('a delivery of a job that does not exist is answered 404, or runs it if so configured', async () => {
    expect((await handler()(deliver({ id: 'new' }))).status).toBe(404)
    expect((await handler({ add: true })(deliver({ id: 'new' }))).status).toBe(200)
    expect(await jobs.read('new')).toMatchObject({ status: 'READY' })
  })

  it('a delivery is answered 200 if the failure is final', async () => {
    const handle = handler({ work: () => Promise.reject(new Error('secret detail')) })
    expect(await answer(await handle(deliver()))).toEqual({ status: 200, body: { status: 'failed' } })
    expect(await jobs.read('42')).toMatchObject({ status: 'FAILED' })
  })

  it('a delivery of a locked job is answered 503, or 200 if so configured', async () => {
    await jobs.acquire('42', 'another', 60_000)
    const response = await handler()(deliver())
    expect(response.headers.get('Retry-After')).toBe('30')
    expect(await answer(response)).toEqual({ status: 503, body: { error: 'locked' } })
    const acknowledged = await handler({ onLocked: 'ack' })(deliver())
    expect(await answer(acknowledged)).toEqual({ status: 200, body: { status: 'locked' } })
  })

  it('a delivery of a job that keeps killing its worker is answered 200 in the end', async () => {
    await jobs.acquire('42', 'dead', 1000)
    await clock.advance(1001)
    const response = await handler({ maxAttempts: 1 })(deliver())
    expect(await answer(response)).toEqual({ status: 200, body: { status: 'too_many_attempts' } })
  })

  it('a delivery whose result was refused is answered 503, or 200 if another worker has finished the job', async () => {
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

  it('a delivery is answered 503 while the store is unavailable', async () => {
    vi.spyOn(jobs, 'acquire').mockRejectedValue(new LeaseError('store-unavailable', 'secret detail'))
    expect(await answer(await handler()(deliver()))).toEqual({ status: 503, body: { error: 'retry_later' } })
  })

  it('a delivery is answered by the status of the job, whatever class of error the work throws', async () => {
    const work = () => Promise.reject(new LeaseError('not-found', 'of something else'))
    expect(await answer(await handler({ work })(deliver()))).toMatchObject({ body: { status: 'failed' } })
  })

  it('a delivery to a worker that is asked to stop is answered 503', async () => {
    const work = async () => {
      once.close()
      throw new Error('stopped')
    }
    expect(await answer(await handler({ work })(deliver()))).toMatchObject({ status: 503 })
    expect(await jobs.read('42')).toMatchObject({ status: 'PENDING' })
  })

  it.each([
    ['is answered 400 if the store cannot have a job with this id', '42', 400, 'invalid_id'],
    ['is answered 503 if another argument is wrong', undefined, 503, 'retry_later'],
  ])('a delivery that the store rejects with invalid-argument %s', async (_, resource, status, error) => {
    const onError = vi.fn()
    const refusal = new LeaseError('invalid-argument', 'expected something else', { resource })
    vi.spyOn(jobs, 'acquire').mockRejectedValue(refusal)
    expect(await answer(await handler({ onError })(deliver()))).toEqual({ status, body: { error } })
    expect(onError.mock.calls).toEqual(status === 503 ? [[refusal, '42']] : [])
  })

  it.each([
    ['throws', () => fail()],
    ['rejects', async () => fail()],
  ])('a delivery is answered even if onError %s', async (_, onError) => {
    const failing = handler({ work: () => Promise.reject(retryable), onError })
    expect(await answer(await failing(deliver()))).toMatchObject({ body: { error: 'retry_later' } })
    const closed = handler({ authorize: () => fail(), onError })
    expect(await answer(await closed(deliver()))).toMatchObject({ body: { error: 'unavailable' } })
  })

  it('a delivery of a job that does not exist is answered 404', async () => {
    const response = await handler()(deliver({ id: 'nobody' }))
    expect(await answer(response)).toEqual({ status: 404, body: { error: 'not_found' } })
  })
})

describe('a request that is not a delivery', () => {
  it('a request that is not a delivery is refused by its method and its path', async () => {
    const get = await handler()(new Request(URL))
    expect(get.headers.get('Allow')).toBe('POST')
    expect(await answer(get)).toEqual({ status: 405, body: { error: 'method_not_allowed' } })
    const elsewhere = new Request('https://worker.example/other', { method: 'POST' })
    expect(await answer(await handler({ path: '/tasks' })(elsewhere))).toEqual({
      status: 404,
      body: { error: 'not_found' },
    })
    expect(
      (await handler({ path: '/other' })(new Request(elsewhere, { body: '{}', method: 'POST' }))).status,
    ).toBe(400)
  })

  it('a request that is not a delivery is refused before its body is read if it may not start work', async () => {
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

  it('a request that is not a delivery may come from everyone without authorize, which is said when the handler is created', async () => {
    const emitted = vi.spyOn(process, 'emitWarning').mockReturnValue()
    onTestFinished(() => emitted.mockRestore())
    handler({ authorize: () => true })
    handler({ authorize: 'everyone' })
    expect(emitted).not.toHaveBeenCalled()
    const open = handler({ authorize: undefined })
    expect(emitted).toHaveBeenCalledExactlyOnceWith(
      expect.stringContaining('every request may start work; give it authorize'),
      'HoldfastWarning',
    )
    expect((await open(deliver())).status).toBe(200)
    expect(emitted).toHaveBeenCalledOnce()
  })

  it('starts no work if authorize itself fails', async () => {
    const work = vi.fn()
    const authorize = () => Promise.reject(new Error('secret detail'))
    const response = await handler({ work, authorize })(deliver())
    expect(await answer(response)).toEqual({ status: 503, body: { error: 'unavailable' } })
    expect(work).not.toHaveBeenCalled()
  })

  it('a request that is not a delivery is rejected with invalid-argument if it is not a Request', async () => {
    for (const none of [{ url: '/tasks', method: 'POST' }, null, 10n])
      await expect(handler()(none as never)).rejects.toMatchObject({
        code: 'invalid-argument',
        message: expect.stringMatching('^request: expected a Request of the fetch API, got '),
      })
  })

  it.each([
    ['{', 'invalid_json'],
    ['', 'invalid_json'],
    ['null', 'invalid_id'],
    ['[]', 'invalid_id'],
    ['"42"', 'invalid_id'],
    ['{"id":42}', 'invalid_id'],
    ['{"id":""}', 'invalid_id'],
    ['{"id":"a\\u0000b"}', 'invalid_id'],
    [`{"id":"${'x'.repeat(513)}"}`, 'invalid_id'],
    [new Uint8Array([0x22, 0xff, 0x22]), 'invalid_body'],
  ])('a request that is not a delivery is refused by its body: %s', async (body, error) => {
    const response = await handler()(new Request(URL, { method: 'POST', body }))
    expect(await answer(response)).toEqual({ status: 400, body: { error } })
  })

  it('a request that is not a delivery is refused by its size while it is read', async () => {
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

describe('the id of a delivery', () => {
  const order = JSON.stringify({ order: 42 })

  it('the id of a delivery is what idOf makes of the request, also of its path, its headers and a body that is read already', async () => {
    await jobs.add('/tasks-fast-{"order":42}')
    const handle = handler({
      idOf: async (request) =>
        `${new globalThis.URL(request.url).pathname}-${request.headers.get('X-Lane')}-${await request.text()}`,
    })
    const response = await handle(
      new Request(URL, { method: 'POST', body: order, headers: { 'X-Lane': 'fast' } }),
    )
    expect(await answer(response)).toEqual({ status: 200, body: { status: 'done' } })
  })

  it.each([
    ['400 if idOf throws', fail, 400, 'invalid_id'],
    [
      '400 if idOf finds a body that is not JSON',
      async (request: Request) => request.json(),
      400,
      'invalid_json',
    ],
    ['400 if idOf returns no text', () => 42, 400, 'invalid_id'],
    ['503 if idOf throws a retryable error', () => Promise.reject(retryable), 503, 'unavailable'],
  ])('the id of a delivery is answered %s', async (_, idOf, status, error) => {
    const onError = vi.fn()
    const request = new Request(URL, { method: 'POST', body: '{' })
    const response = await handler({ idOf, onError })(request)
    expect(await answer(response)).toEqual({ status, body: { error } })
    expect(onError).toHaveBeenCalledTimes(error === 'invalid_id' && idOf !== fail ? 0 : 1)
  })
})

describe('the preset of an analysis service', () => {
  const analyses = 'https://worker.example/internal/tasks/analysis'

  it('the preset of an analysis service takes analysisId, only at its own path', async () => {
    const handle = handler(analysisJobs.tasks)
    const body = JSON.stringify({ analysisId: '42' })
    const done = await handle(new Request(analyses, { method: 'POST', body }))
    expect(await answer(done)).toEqual({ status: 200, body: { status: 'done' } })
    expect((await handle(new Request(URL, { method: 'POST', body }))).status).toBe(404)
  })

  it.each([
    ['{', 'invalid_json'],
    ['null', 'invalid_id'],
    ['{"id":"42"}', 'invalid_id'],
    ['{"analysisId":42}', 'invalid_id'],
  ])('the preset of an analysis service refuses the body %s', async (body, error) => {
    const response = await handler(analysisJobs.tasks)(new Request(analyses, { method: 'POST', body }))
    expect(await answer(response)).toEqual({ status: 400, body: { error } })
  })
})

describe('invalid options of a handler', () => {
  it.each([
    ['retryAfter', 0.5],
    ['retryAfter', 30],
    ['retryAfter', '30'],
    ['retryAfter', -1000],
    ['retryAfter', 30n],
    ['onLocked', 'ask'],
    ['work', null],
    ['authorize', 5],
    ['authorize', 'nobody'],
    ['onError', 'log'],
    ['path', 5],
    ['path', 'internal/tasks'],
    ['ttl', -1],
    ['ttl', 'soon'],
    ['ttl', 300n],
    ['heartbeat', 'q'],
    ['heartbeat', 300_000],
    ['heartbeat', '5m'],
    ['maxAttempts', 0],
  ])(
    'invalid options of a handler throw when it is created, and the message names the option: %s, case %#',
    (option, value) => {
      expect(() => handler({ [option]: value })).toThrow(
        expect.objectContaining({
          code: 'invalid-argument',
          message: expect.stringMatching(`^${option}: expected .+`),
        }),
      )
    },
  )

  it('invalid options of a handler throw with seconds, which are milliseconds, and ask what was meant', () => {
    expect(() => handler({ retryAfter: 30 })).toThrow(
      'retryAfter: expected milliseconds, of which the header has whole seconds, or text such as ' +
        "'30s', got 30, which is 30 ms; did you mean 30s? If not, write 30ms",
    )
    expect(() => handler({ retryAfter: '30ms' })).not.toThrow()
  })

  it.each([{}, null, undefined, 10n, Object.create(null)])(
    'invalid options of a handler throw without a once: case %#',
    (none) => {
      expect(() => createTaskHandler(none as never, { work: () => 1 })).toThrow(
        expect.objectContaining({
          code: 'invalid-argument',
          message: expect.stringMatching('^once: expected what createOnce returns, got '),
        }),
      )
    },
  )

  it('invalid options of a handler throw without options', () => {
    expect(() => createTaskHandler(once, undefined as never)).toThrow('options: expected an object')
  })
})

describe('a job that another worker runs', () => {
  it.each([
    [{}, 503, '30'],
    [{ lockedStatus: 429 }, 429, '30'],
    [{ onLocked: 'ack' }, 200, null],
  ] as const)('a job that another worker runs with %j gets %i', async (options, status, retryAfter) => {
    await jobs.acquire('42', 'another run', 300_000)
    const response = await handler(options)(deliver())
    expect([response.status, response.headers.get('Retry-After')]).toEqual([status, retryAfter])
  })

  it.each([{ lockedStatus: 200 }, { lockedStatus: '429' }, { onLocked: 'ack', lockedStatus: 429 }])(
    'is not configured with %j',
    (options) => {
      expect(() => handler(options as TaskHandlerOptions)).toThrow(/^lockedStatus: expected/)
    },
  )
})

describe('the headers of the queue', () => {
  it.each([
    [
      { 'X-CloudTasks-TaskRetryCount': '2', 'X-CloudTasks-QueueName': 'q', 'X-CloudTasks-TaskName': 't' },
      { retryCount: 2, queue: 'q', task: 't' },
    ],
    [{ 'X-AppEngine-TaskRetryCount': '0' }, { retryCount: 0, queue: null, task: null }],
    [{ 'X-CloudTasks-TaskRetryCount': 'x' }, { retryCount: null, queue: null, task: null }],
  ])('%j are given to the work', async (headers, delivery) => {
    const work = vi.fn()
    await handler({ work })(deliver({ id: '42' }, { headers }))
    expect(work).toHaveBeenCalledWith(expect.objectContaining({ delivery, id: '42' }))
  })
})

describe('an OIDC token', () => {
  const CLAIMS = { aud: 'https://worker.example', email: 'queue@example.com', email_verified: true }
  const authorize = oidcAuthorize({
    verify: async (token) => {
      if (token === 'forged') throw new Error('the signature is not valid')
      return { ...CLAIMS, ...JSON.parse(atob(token)) }
    },
    audience: CLAIMS.aud,
    email: CLAIMS.email,
  })
  const bearer = (claims: object) => `Bearer ${btoa(JSON.stringify(claims))}`

  it.each([
    ['of the queue', bearer({}), 200],
    ['for several audiences', bearer({ aud: ['other', CLAIMS.aud] }), 200],
    ['for another audience', bearer({ aud: 'https://other.example' }), 403],
    ['of another account', bearer({ email: 'other@example.com' }), 403],
    ['whose address was not verified', bearer({ email_verified: false }), 403],
    ['that is forged', 'Bearer forged', 403],
    ['of another kind', 'Basic eDp5', 403],
    ['that is missing', '', 403],
  ])('%s', async (_, Authorization, status) => {
    const headers = Authorization === '' ? {} : { Authorization }
    const response = await handler({ authorize })(deliver({ id: '42' }, { headers }))
    expect(response.status).toBe(status)
  })
})
