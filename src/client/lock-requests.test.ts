import { afterEach, describe, expect, it, vi } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import type { ApiResponse } from './api.ts'
import { HoldRequests } from './hold-requests.ts'
import { createLockRequests, inOneSession } from './lock-requests.ts'

afterEach(() => vi.unstubAllGlobals())

const LOCKED_AT = '2030-01-01T12:04:00.000Z'
const TERMS = { ttl_ms: 30_000, heartbeat_ms: 10_000, channel: 'document.r', channel_key: 'holdfast' }
const UNLOCKED = { is_locked: false, waiting: [], you: { session_id: 's' }, ...TERMS }

type Respond = (method: string, path: string) => unknown

/** A server that answers 200 with this body, or as the returned `Response` says. */
function serve(respond: Respond) {
  const sent: string[] = []
  vi.stubGlobal('fetch', async (url: URL, { method = 'GET' }: RequestInit) => {
    const path = url.pathname.replace('/api/documents/r', '')
    sent.push(`${method} ${path}`)
    const body = respond(method, path) ?? UNLOCKED
    return body instanceof Response ? body : new Response(JSON.stringify(body))
  })
  const clock = new FakeClock()
  const options = {
    url: 'http://holdfast.test/',
    roomId: 'r',
    clientId: 'tab',
    clock,
    name: () => 'Mika',
    expectResponse: () => () => {},
  }
  const lockRequests = createLockRequests(options)
  const requests = new HoldRequests(options, lockRequests)
  return { clock, requests, lockRequests, sent }
}

const never = new AbortController().signal

describe('a request for the lock', () => {
  it('a request for the lock ends the wait at once when it was stopped while a refusal was on its way', async () => {
    const stop = new AbortController()
    const { clock, requests } = serve((method) => {
      if (method !== 'POST') return undefined
      stop.abort(new Error('enough'))
      return new Response('{}', { status: 409 })
    })
    await expect(requests.acquire(30_000, stop.signal)).rejects.toThrow('enough')
    expect(clock.pending).toBe(0)
  })

  it('a request for the lock is not sent when it was stopped before', async () => {
    const { requests, sent } = serve(() => undefined)
    await expect(requests.acquire(0, AbortSignal.abort())).rejects.toThrow()
    expect(sent).toEqual(['GET /lock', 'GET /lock'])
  })

  it('ends with the error of the last try when the server fails for the whole wait', async () => {
    const { clock, requests } = serve((method) =>
      method === 'POST' ? new Response('{}', { status: 503 }) : undefined,
    )
    const failing = requests.acquire(3000, never).catch((error: unknown) => error)
    await expect.poll(() => clock.advance(1000).then(() => clock.pending)).toBe(0)
    expect(await failing).toMatchObject({ code: 'store-unavailable' })
  })

  it('a request for the lock is sent after an earlier withdrawal has ended, so that it is not withdrawn by it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { requests, sent } = serve(() => undefined)
    await requests.acquire(0, never).catch(() => {})
    const { fetch } = globalThis
    vi.stubGlobal('fetch', async (url: URL, init: RequestInit) => {
      if (init.method === 'DELETE') await promise
      return fetch(url, init)
    })
    sent.length = 0
    const withdrawing = requests.withdraw()
    const asking = requests.acquire(0, never).catch(() => {})
    await new Promise((next) => setTimeout(next))
    expect(sent).toEqual([])
    resolve()
    await Promise.all([withdrawing, asking])
    expect(sent).toEqual(['DELETE /lock', 'POST /lock'])
  })
})

describe('a takeover and a request to hand over whose response is withheld', () => {
  const SAID = { ...UNLOCKED, grace_ms: 5000, answer_within_ms: 15_000 }
  const GRANT = { success: true, locked_at: LOCKED_AT, expires_in_ms: 30_000, token: 5 }
  const demands = [
    ['takeover', SAID, 15_000],
    ['request', SAID, 25_000],
    ['takeover', UNLOCKED, 310_000],
    ['request', UNLOCKED, 310_000],
    ['request', { ...SAID, answer_within_ms: 'soon' }, 310_000],
    ['takeover', { ...SAID, grace_ms: { toString: null } }, 310_000],
  ] as const
  afterEach(() => void vi.useRealTimers())

  function withhold(respond: Respond) {
    const served = serve(respond)
    const { fetch } = globalThis
    vi.stubGlobal('fetch', async (url: URL, init: RequestInit) => {
      if (!/takeover|request$/.test(url.pathname)) return fetch(url, init)
      const { promise, reject } = Promise.withResolvers<Response>()
      init.signal?.addEventListener('abort', () => reject(init.signal?.reason))
      return promise
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    return served
  }

  it.each(demands)('%s is granted after the time that the server gives, %j', async (how, said, limit) => {
    const { requests, sent, clock } = withhold((method) => (method === 'GET' ? said : GRANT))
    const demand = requests.demand(how, never)
    await vi.advanceTimersByTimeAsync(1)
    await clock.advance(limit - 1)
    expect(sent).not.toContain('POST /lock')
    await clock.advance(1)
    expect(await demand).toMatchObject({ lease: { token: 5 } })
  })

  it('waits for longer after the holder has asked for time', async () => {
    const { requests, sent, clock } = withhold((method) => (method === 'GET' ? SAID : GRANT))
    const demand = requests.demand('request', never)
    await vi.advanceTimersByTimeAsync(1)
    await clock.advance(10_000)
    requests.extendDemand(135_000)
    await clock.advance(144_999)
    expect(sent).not.toContain('POST /lock')
    await clock.advance(1)
    expect(await demand).toMatchObject({ lease: { token: 5 } })
  })

  it('a takeover and a request to hand over whose response is withheld fails if another tab still has the lock', async () => {
    const answer = (method: string) => (method === 'GET' ? SAID : new Response('{}', { status: 409 }))
    const { requests, clock } = withhold(answer)
    const demand = requests.demand('takeover', never).catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(1)
    await clock.advance(15_000)
    expect(await demand).toMatchObject({ code: 'store-unavailable' })
  })

  it('a takeover and a request to hand over whose response is withheld does not ask again after a withdrawal', async () => {
    const { requests, sent, clock } = withhold((method) => (method === 'GET' ? SAID : GRANT))
    const demand = requests.demand('takeover', never).catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(1)
    await requests.withdraw()
    await clock.advance(1000)
    expect(await demand).toMatchObject({ code: 'store-unavailable' })
    expect(sent).not.toContain('POST /lock')
  })
})

describe('a 200 that is not an answer of Holdfast', () => {
  const bodies: [string, string][] = [
    ['a login page', '<!doctype html><title>Sign in</title>'],
    ['an empty object', '{}'],
    ['an array', '[]'],
    ['a grant without a token', JSON.stringify({ success: true, locked_at: LOCKED_AT, expires_in_ms: 1000 })],
    ['a grant without an end', JSON.stringify({ success: true, locked_at: LOCKED_AT, token: 5 })],
  ]
  const calls: [string, (requests: ReturnType<typeof serve>['requests']) => Promise<unknown>][] = [
    ['acquire', (requests) => requests.acquire(0, never)],
    ['acquire with a wait', (requests) => requests.acquire(1000, never)],
    ['take over', (requests) => requests.demand('takeover', never)],
    ['renew', (requests) => requests.renew()],
    ['resume', (requests) => requests.resume()],
  ]
  it.each(calls.flatMap(([name, call]) => bodies.map(([what, body]) => [name, what, body, call] as const)))(
    'is never a grant: %s, %s',
    async (_, __, body, call) => {
      const { requests } = serve((method) => (method === 'GET' ? undefined : new Response(body)))
      await expect(call(requests)).rejects.toMatchObject({ code: 'store-failed' })
    },
  )

  it.each([...bodies.slice(0, 3), ['a failure', '{"success":false}']])(
    'is neither a save nor a document nor a release: %s',
    async (_, body) => {
      const { requests, lockRequests } = serve(() => new Response(body))
      const message = expect.stringContaining('the server answered 200: not a response of Holdfast')
      const failure = { code: 'store-failed', message }
      await expect(requests.save('text', 5)).rejects.toMatchObject(failure)
      await expect(lockRequests.load()).rejects.toMatchObject(failure)
      await expect(lockRequests.read()).rejects.toMatchObject(failure)
      await expect(requests.answer('id', { granted: true })).rejects.toMatchObject(failure)
      await expect(requests.release({ id: '5' })).rejects.toMatchObject(failure)
      await expect(requests.acquire(0, never)).rejects.toMatchObject(failure)
    },
  )
})

it('the client refuses to save what JSON cannot carry, or would change silently', async () => {
  const { requests, sent } = serve(() => undefined)
  const cycle: unknown[] = []
  cycle.push(cycle)
  for (const content of [10n, Symbol('s'), undefined, () => {}, cycle, new Map(), Number.NaN, [new Date(0)]])
    await expect(requests.save(content, 5)).rejects.toMatchObject({ code: 'invalid-argument' })
  await expect(requests.save({ tags: [new Set()] }, 5)).rejects.toThrow(
    'content: expected a JSON value, got tags[0]: a Set',
  )
  expect(sent).toEqual([])
})

describe('the first requests of a browser', () => {
  it.each([
    ['across tabs', { cookieEnabled: true, locks: navigator.locks }],
    ['in one page on plain http', { cookieEnabled: true }],
  ])(
    'the first requests of a browser are sent one at a time until one was answered, then all at once, %s',
    async (_, browser) => {
      vi.stubGlobal('navigator', browser)
      const asked: PromiseWithResolvers<ApiResponse>[] = []
      const api = inOneSession(() => {
        const call = Promise.withResolvers<ApiResponse>()
        asked.push(call)
        return call.promise
      })
      const request = { method: 'GET', path: '' } as const
      const calls = [api(request), api(request), api(request)].map((call) => call.catch(() => 'failed'))
      await expect.poll(() => asked.length).toBe(1)
      asked[0]?.reject(new Error('no network'))
      await expect.poll(() => asked.length).toBe(2)
      asked[1]?.resolve({ status: 200, body: {} })
      await expect.poll(() => asked.length).toBe(3)
      for (let n = 0; n < 2; n++) void api(request)
      expect(asked).toHaveLength(5)
      asked[2]?.resolve({ status: 404, body: {} })
      expect(await Promise.all(calls)).toMatchObject(['failed', { status: 200 }, { status: 404 }])
    },
  )

  it('the first requests of a browser do not wait where there are no cookies, and Web Locks are refused', async () => {
    const locks = { request: () => Promise.reject(new DOMException('no storage', 'SecurityError')) }
    vi.stubGlobal('navigator', { cookieEnabled: false, locks })
    const response = { status: 200, body: {} }
    expect(await inOneSession(async () => response)({ method: 'GET', path: '' })).toBe(response)
  })
})
