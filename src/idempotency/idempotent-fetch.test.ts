import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { FakeClock } from '../testing/index.ts'
import { type Clock, idempotentFetch } from './index.ts'

const url = 'http://localhost/charges'
const post = { method: 'POST', body: '{"amount":5}' }

/** A `fetch` that answers in turn: with a status, with a response, or with an error. */
function answering(...answers: (number | Response | Error)[]) {
  const sent: { key: string | null; body: string; type: string | null }[] = []
  const fetch = vi.fn(async (input: string | URL | Request, init?: RequestInit) => {
    const request = new Request(input, init)
    const { headers } = request
    sent.push({
      key: headers.get('idempotency-key'),
      type: headers.get('content-type'),
      body: await request.text(),
    })
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    if (answer instanceof Error) throw answer
    return typeof answer === 'number' ? new Response(null, { status: answer }) : (answer as Response).clone()
  })
  return { fetch, sent }
}

describe('idempotentFetch', () => {
  const clock = new FakeClock()
  /** The answer, with all pauses passed over. */
  async function settle<T>(answer: Promise<T>): Promise<T> {
    let settled = false
    const end = () => {
      settled = true
    }
    answer.then(end, end)
    while (!settled) await clock.advance(100)
    return answer
  }

  it('idempotentFetch sends a key of its own with each request that is not idempotent by itself', async () => {
    const { fetch, sent } = answering(200)
    const send = idempotentFetch({ fetch, clock })
    for (const method of ['POST', 'patch', 'GET', 'PUT', 'DELETE'])
      await send(url, { method: method === 'patch' ? 'PATCH' : method })
    const [first, second, ...others] = sent.map(({ key }) => key)
    expect(first).toMatch(/^"[0-9a-f-]{36}"$/)
    expect(second).toMatch(/^"[0-9a-f-]{36}"$/)
    expect(second).not.toBe(first)
    expect(others).toEqual([null, null, null])
  })

  it('idempotentFetch keeps the key of the application', async () => {
    const { fetch, sent } = answering(503, 200)
    const headers = { 'Idempotency-Key': '"mine"' }
    await settle(idempotentFetch({ fetch, clock })(url, { ...post, headers }))
    await settle(idempotentFetch({ fetch, clock, newKey: () => 'a "b"' })(url, post))
    expect(sent.map(({ key }) => key)).toEqual(['"mine"', '"mine"', String.raw`"a \"b\""`])
  })

  it.each([new TypeError('fetch failed'), 408, 425, 429, 502, 503, 504])(
    'repeats the request with the same key after %s',
    async (failure) => {
      const { fetch, sent } = answering(failure, failure, 201)
      const answer = await settle(idempotentFetch({ fetch, clock })(url, post))
      expect(answer.status).toBe(201)
      expect(sent).toEqual([sent[0], sent[0], sent[0]])
      expect(sent[0]).toMatchObject({ body: '{"amount":5}' })
    },
  )

  it.each([200, 201, 400, 401, 402, 404, 409, 422, 500])(
    'idempotentFetch returns %i at once',
    async (status) => {
      const { fetch } = answering(status)
      expect((await idempotentFetch({ fetch, clock })(url, post)).status).toBe(status)
      expect(fetch).toHaveBeenCalledTimes(1)
    },
  )

  it('idempotentFetch repeats after 409 with Retry-After, and not earlier than that says', async () => {
    const busy = new Response(null, { status: 409, headers: { 'retry-after': '2' } })
    const { fetch } = answering(busy, 200)
    const answer = idempotentFetch({ fetch, clock })(url, post)
    await clock.advance(1999)
    expect(fetch).toHaveBeenCalledTimes(1)
    expect((await settle(answer)).status).toBe(200)
  })

  it('understands a date in Retry-After', async () => {
    const date = new Date(Math.ceil(clock.now() / 1000 + 5) * 1000).toUTCString()
    const { fetch } = answering(new Response(null, { status: 503, headers: { 'retry-after': date } }), 200)
    const answer = idempotentFetch({ fetch, clock })(url, post)
    await clock.advance(4900)
    expect(fetch).toHaveBeenCalledTimes(1)
    expect((await settle(answer)).status).toBe(200)
  })

  it('idempotentFetch returns an answer that asks for a longer pause than maxPause', async () => {
    const { fetch } = answering(new Response(null, { status: 429, headers: { 'retry-after': '31' } }))
    expect((await idempotentFetch({ fetch, clock })(url, post)).status).toBe(429)
    expect(fetch).toHaveBeenCalledTimes(1)
  })

  it('idempotentFetch gives up after its tries: with the last answer, or with the last error', async () => {
    const refusing = answering(503)
    expect((await settle(idempotentFetch({ fetch: refusing.fetch, clock })(url, post))).status).toBe(503)
    expect(refusing.fetch).toHaveBeenCalledTimes(5)
    const broken = answering(new TypeError('fetch failed'))
    const answer = idempotentFetch({ fetch: broken.fetch, clock, tries: 2 })(url, post)
    await expect(settle(answer)).rejects.toThrow('fetch failed')
    expect(broken.fetch).toHaveBeenCalledTimes(2)
  })

  it('idempotentFetch makes longer and longer pauses up to maxPause', async () => {
    const pauses: number[] = []
    const measuring: Clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      random: () => 0.5,
      setTimer(run, ms) {
        pauses.push(ms)
        return clock.setTimer(run, ms)
      },
    }
    const { fetch } = answering(503)
    await settle(idempotentFetch({ fetch, clock: measuring, tries: 6, maxPause: '1s' })(url, post))
    expect(pauses).toEqual([200, 400, 800, 1000, 1000])
  })

  it('idempotentFetch does not repeat after an error that is not one of the connection', async () => {
    const { fetch } = answering(new RangeError('no'))
    await expect(idempotentFetch({ fetch, clock })(url, post)).rejects.toThrow('no')
    expect(fetch).toHaveBeenCalledTimes(1)
  })

  it('ends with the reason of the signal: in a pause, and while it sends', async () => {
    const stop = new AbortController()
    const { fetch } = answering(503)
    const answer = idempotentFetch({ fetch, clock })(url, { ...post, signal: stop.signal })
    await eventually(() => expect(fetch).toHaveBeenCalled())
    stop.abort(new Error('enough'))
    await expect(answer).rejects.toThrow('enough')
    const sending = idempotentFetch({
      fetch: () => Promise.reject(new TypeError('aborted')),
      clock,
      tries: 1,
    })
    await expect(sending(new Request(url, { ...post, signal: stop.signal }))).rejects.toThrow('enough')
    expect(fetch).toHaveBeenCalledTimes(1)
  })

  it('idempotentFetch sends a body that is a stream once', async () => {
    const body = () => new Blob(['x']).stream()
    const refusing = answering(503)
    const init = { method: 'POST', body: body(), duplex: 'half' } as RequestInit
    expect((await idempotentFetch({ fetch: refusing.fetch, clock })(url, init)).status).toBe(503)
    expect(refusing.fetch).toHaveBeenCalledTimes(1)
  })

  it('idempotentFetch sends the same bytes of a form with each try', async () => {
    const form = new FormData()
    form.set('file', new Blob(['content'], { type: 'text/plain' }), 'a.txt')
    const { fetch, sent } = answering(503, 503, 200)
    await settle(idempotentFetch({ fetch, clock })(url, { method: 'POST', body: form }))
    expect(sent).toEqual([sent[0], sent[0], sent[0]])
    expect(sent[0]?.type).toMatch(/^multipart\/form-data; ?boundary=/)
    expect(sent[0]?.body).toContain('content')
  })

  it('idempotentFetch repeats a Request with its body', async () => {
    const { fetch, sent } = answering(503, 200)
    const headers = { 'content-type': 'text/x' }
    await settle(idempotentFetch({ fetch, clock })(new Request(url, { ...post, headers })))
    expect(sent).toEqual([sent[0], sent[0]])
    expect(sent[0]).toMatchObject({ body: '{"amount":5}', type: 'text/x' })
  })

  it('idempotentFetch uses the global fetch if no other is given', async () => {
    vi.stubGlobal('fetch', answering(204).fetch)
    expect((await idempotentFetch()(url, post)).status).toBe(204)
  })

  it('idempotentFetch refuses wrong options by name', () => {
    for (const [options, name] of [
      [{ tries: 0 }, 'tries'],
      [{ maxPause: 'long' }, 'maxPause'],
      [{ newKey: 'k' }, 'newKey'],
      [{ fetch: 1 }, 'fetch'],
      [{ clock: {} }, 'clock'],
      [{ retries: 1 }, '`retries`: unknown option'],
    ] as const)
      expect(() => idempotentFetch(options as never)).toThrow(name)
  })
})
