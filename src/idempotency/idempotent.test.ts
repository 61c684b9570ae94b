import { beforeEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import {
  describeIdempotency,
  handlerThatWaits,
  post,
  userOf,
} from '../../test/idempotency/describe-idempotency.ts'
import { LeaseError } from '../base/errors.ts'
import { createOnce, type JobStore, memoryJobs } from '../once/index.ts'
import { FakeClock } from '../testing/index.ts'
import { type IdempotencyOptions, idempotent } from './index.ts'

describeIdempotency('memory', () => {
  const jobs = memoryJobs()
  return { jobs, peer: jobs }
})

describe('idempotent', () => {
  let clock: FakeClock
  let jobs: JobStore
  beforeEach(() => {
    clock = new FakeClock()
    jobs = memoryJobs({ clock })
  })
  const protect = (
    handler: (request: Request) => Response | Promise<Response>,
    options: Partial<IdempotencyOptions> = {},
  ) => idempotent(handler, { jobs, principal: userOf, clock, ...options })
  const codeOf = async (response: Response) => [
    response.status,
    ((await response.json()) as { code: string }).code,
  ]

  it('idempotent refuses a request without a key with 400, unless none is required', async () => {
    const handler = vi.fn(() => new Response('done'))
    const without = post({}, { key: null })
    expect(await codeOf(await protect(handler)(without))).toEqual([400, 'idempotency_key_missing'])
    expect(handler).not.toHaveBeenCalled()
    const optional = protect(handler, { required: false })
    for (let n = 0; n < 2; n++) expect((await optional(without.clone())).status).toBe(200)
    expect(handler).toHaveBeenCalledTimes(2)
  })

  it('idempotent refuses a malformed key with 400, also if none is required', async () => {
    const handler = protect(() => new Response('never'), { required: false })
    for (const key of ['', '"a', '"a", "b"', 'a b', `"${'k'.repeat(256)}"`, '""', '"ü"'])
      expect(await codeOf(await handler(post({}, { key })))).toEqual([400, 'idempotency_key_malformed'])
  })

  it('idempotent takes a key without quotes, which is the same key, unless the format is strict', async () => {
    const handler = protect(() => new Response('done'))
    await handler(post({}, { key: 'k-1' }))
    expect((await handler(post({}, { key: '"k-1"' }))).headers.get('idempotent-replayed')).toBe('true')
    const strict = protect(() => new Response('never'), { format: 'strict' })
    expect((await strict(post({}, { key: 'k-1' }))).status).toBe(400)
  })

  it('idempotent lets other methods pass, with or without a key', async () => {
    const handler = vi.fn(() => new Response('done'))
    for (const method of ['GET', 'PUT', 'DELETE'])
      for (const key of ['"k-1"', null]) await protect(handler)(post({}, { method, key }))
    expect(handler).toHaveBeenCalledTimes(6)
    const puts = protect(handler, { methods: ['put'] })
    await puts(post({}, { method: 'PUT' }))
    const replay = await puts(post({}, { method: 'PUT' }))
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
    await puts(post())
    expect(handler).toHaveBeenCalledTimes(8)
  })

  it.each([null, undefined, ''])(
    'idempotent refuses a request of an unknown sender (%s) with 401',
    async (sender) => {
      const handler = protect(() => new Response('never'), { principal: () => sender })
      expect(await codeOf(await handler(post()))).toEqual([401, 'idempotency_principal_missing'])
    },
  )

  it('idempotent rejects when principal or scope return something else than a text', async () => {
    const none = protect(() => new Response('never'), { principal: (() => 42) as never })
    await expect(none(post())).rejects.toMatchObject({ code: 'invalid-argument' })
    const nowhere = protect(() => new Response('never'), { scope: () => '' })
    await expect(nowhere(post())).rejects.toMatchObject({ code: 'invalid-argument' })
  })

  it('shares the keys of all senders if that is asked for', async () => {
    const handler = protect(() => new Response('public'), { principal: 'everyone' })
    await handler(post({}, { user: 'mika' }))
    expect((await handler(post({}, { user: 'noor' }))).headers.get('idempotent-replayed')).toBe('true')
  })

  it('idempotent keeps an answer for keep, and then runs the handler again', async () => {
    let runs = 0
    const handler = protect(() => new Response(`run ${++runs}`), { keep: '1h' })
    await handler(post())
    await clock.advance('59m')
    expect(await (await handler(post())).text()).toBe('run 1')
    await clock.advance('2m')
    expect(await (await handler(post())).text()).toBe('run 2')
  })

  it('idempotent keeps an answer for a day if nothing else is said', async () => {
    let runs = 0
    const handler = protect(() => new Response(`run ${++runs}`))
    await handler(post())
    await clock.advance('23h')
    expect(await (await handler(post())).text()).toBe('run 1')
    await clock.advance('2h')
    expect(await (await handler(post())).text()).toBe('run 2')
  })

  it('idempotent frees the key of a process that died when its TTL is over', async () => {
    const dead = handlerThatWaits()
    // The heartbeats of a dead process do not reach the store.
    const mute: JobStore = { ...jobs, refresh: () => new Promise(() => {}) }
    void protect(dead.handler, { jobs: mute })(post())
    await dead.started
    const next = protect(() => new Response('by the next'))
    expect((await next(post())).status).toBe(409)
    await clock.advance('61s')
    expect(await (await next(post())).text()).toBe('by the next')
    dead.finish()
  })

  it('idempotent holds the key of a handler that runs longer than the TTL', async () => {
    const slow = handlerThatWaits()
    const handler = protect(slow.handler)
    const first = handler(post())
    await slow.started
    for (let n = 0; n < 10; n++) await clock.advance('20s')
    expect((await handler(post())).status).toBe(409)
    slow.finish()
    expect((await first).status).toBe(200)
  })

  it('idempotent refuses a body above the limit with 413, by its length and by its bytes', async () => {
    const handler = vi.fn(() => new Response('done'))
    const limited = protect(handler, { maxRequest: 10 })
    expect((await limited(post('0123456789'))).status).toBe(200)
    expect(await codeOf(await limited(post('0123456789a')))).toEqual([413, 'idempotency_body_too_large'])
    const announced = post('short')
    announced.headers.set('content-length', '11')
    expect((await limited(announced)).status).toBe(413)
    expect(handler).toHaveBeenCalledTimes(1)
  })

  it('idempotent refuses a body that was read before with 415', async () => {
    const request = post()
    await request.text()
    expect(await codeOf(await protect(() => new Response('never'))(request))).toEqual([
      415,
      'idempotency_body_not_read',
    ])
  })

  it('compares only what fingerprint returns, and leaves the body to the handler', async () => {
    const handler = protect(async (request) => new Response(await request.text()), {
      fingerprint: async (request) => JSON.parse(await request.clone().text()).amount,
    })
    await handler(post({ amount: 1, sentAt: 1 }))
    expect(await (await handler(post({ amount: 1, sentAt: 2 }))).text()).toBe('{"amount":1,"sentAt":1}')
    expect((await handler(post({ amount: 2, sentAt: 2 }))).status).toBe(422)
  })

  it('idempotent gives the handler the request itself and all further arguments', async () => {
    const request = post({ amount: 3 })
    const route = idempotent(
      async (given: Request, context: { readonly id: string }) =>
        Response.json({ isSame: given === request, id: context.id, body: await given.json() }),
      { jobs, principal: userOf, clock },
    )
    const answer = await route(request, { id: 'x' })
    expect(await answer.json()).toEqual({ isSame: true, id: 'x', body: { amount: 3 } })
  })

  it('replays a header that is named, such as a cookie, with each of its values', async () => {
    const headers = new Headers([
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ])
    const handler = protect(() => new Response('x', { headers }), { headers: ['Set-Cookie'] })
    await handler(post())
    expect((await handler(post())).headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  })

  it('refuses with 503 while the store is away, and reports why', async () => {
    const away = new LeaseError('store-unavailable', 'away')
    jobs.acquire = () => Promise.reject(away)
    const handler = vi.fn(() => new Response('done'))
    const onError = vi.fn()
    const refused = await protect(handler, { onError })(post())
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await codeOf(refused)).toEqual([503, 'idempotency_store_unavailable'])
    expect(handler).not.toHaveBeenCalled()
    expect(onError).toHaveBeenCalledExactlyOnceWith(away, 'k-1')
  })

  it('idempotent lets requests pass while the store is away, if it is told to', async () => {
    jobs.acquire = () => Promise.reject(new LeaseError('store-failed', 'no rights'))
    const handler = vi.fn(() => new Response('done'))
    const passing = protect(handler, { onUnavailable: 'pass' })
    for (let n = 0; n < 2; n++) expect((await passing(post())).status).toBe(200)
    expect(handler).toHaveBeenCalledTimes(2)
  })

  it('answers five seconds after the handler at the latest, also if the store is away then', async () => {
    const finish = jobs.finish
    jobs.finish = () => Promise.reject(new LeaseError('store-unavailable', 'away'))
    const handler = protect(() => new Response('done'))
    let answer: Response | undefined
    const answered = handler(post()).then((response) => {
      answer = response
    })
    await eventually(async () => {
      await clock.advance('1s')
      expect(answer).toBeDefined()
    })
    await answered
    expect(await answer?.text()).toBe('done')
    expect((await handler(post())).status).toBe(409)
    jobs.finish = finish
    await clock.advance('10s')
    expect(await (await handler(post())).text()).toBe('done')
  })

  it('idempotent refuses later requests by name if the store could not store the answer', async () => {
    const finish = jobs.finish
    jobs.finish = (id, holder, outcome) =>
      'result' in outcome
        ? Promise.reject(new LeaseError('store-failed', 'too large'))
        : finish(id, holder, outcome)
    const onError = vi.fn()
    const handler = protect(() => new Response('done'), { onError })
    expect(await (await handler(post())).text()).toBe('done')
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'store-failed' }), 'k-1')
    expect(await codeOf(await handler(post()))).toEqual([409, 'idempotency_answer_not_kept'])
  })

  it('idempotent refuses a stored record without an answer by name', async () => {
    const handler = protect(() => new Response('done'))
    await handler(post())
    const acquire = jobs.acquire
    jobs.acquire = async (...args) => {
      const answer = await acquire(...args)
      return answer.granted || !answer.job ? answer : { ...answer, job: { ...answer.job, result: 'strange' } }
    }
    expect(await codeOf(await handler(post()))).toEqual([409, 'idempotency_answer_not_kept'])
  })

  it('idempotent takes a once of the application, which the application closes', async () => {
    const once = createOnce(jobs, { clock })
    const handler = idempotent(() => new Response('done'), { once, principal: userOf })
    expect((await handler(post())).status).toBe(200)
    await once.close()
    expect((await handler(post())).status).toBe(503)
  })

  it('idempotent does not store keys and principals in the open', async () => {
    const acquire = vi.spyOn(jobs, 'acquire')
    await protect(() => new Response('done'), { prefix: 'http:' })(post())
    expect(acquire.mock.calls[0]?.[0]).toMatch(/^http:[0-9a-f]{64}$/)
  })

  it('idempotent rejects when the handler returns something else than a response', async () => {
    const handler = protect((() => 'text') as never)
    await expect(handler(post())).rejects.toMatchObject({ code: 'invalid-argument' })
  })

  it('idempotent refuses wrong options by name', () => {
    const handler = () => new Response()
    const wrong: [Record<string, unknown>, string][] = [
      [
        { principal: undefined },
        "principal: expected a function that says who sends a request, or 'everyone'",
      ],
      [{ principal: 'mika' }, 'principal'],
      [{ jobs: undefined }, 'jobs: expected a JobStore'],
      [{ once: createOnce(memoryJobs()) }, 'once: expected nothing beside jobs'],
      [{ jobs: undefined, once: {} }, 'once: expected what createOnce returns'],
      [{ headers: ['Transfer-Encoding'] }, 'headers: expected names of headers that belong to the answer'],
      [{ headers: 'etag' }, 'headers: expected an array of names'],
      [{ methods: [5n, ''] }, 'methods: expected names'],
      [{ format: 'loose' }, 'format: expected "any" or "strict"'],
      [{ onUnavailable: 'ignore' }, 'onUnavailable'],
      [{ required: 1 }, 'required'],
      [{ keep: 0 }, 'keep'],
      [{ wait: -1 }, 'wait'],
      [{ ttl: '1x' }, 'ttl'],
      [{ retryAfter: 'soon' }, 'retryAfter'],
      [{ maxRequest: 1.5 }, 'maxRequest'],
      [{ maxResponse: -1 }, 'maxResponse'],
      [{ prefix: '' }, 'prefix'],
      [{ clock: {} }, 'clock'],
      [{ keeps: true }, 'keeps'],
      [{ scope: 'tenant' }, 'scope'],
      [{ fingerprint: {} }, 'fingerprint'],
      [{ onError: 1 }, 'onError'],
    ]
    for (const [options, message] of wrong)
      expect(() => protect(handler, options as never), message).toThrow(message)
    expect(() => protect('x' as never)).toThrow('handler: expected a function')
  })
})
