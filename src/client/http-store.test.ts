import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Ask, createLeases, type LeaseRecord, type LeaseStore } from '../core/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock } from '../testing/index.ts'
import { httpStore } from './http-store.ts'

const URL_OF_SERVER = 'http://holdfast.test'
const ASK: Ask = { resource: 'r', id: 'a', owner: 'Mika', ttl: 1000 }

/** Answers a request of the store: an object is sent as JSON with 200. */
type Respond = (method: string, body: { readonly id?: unknown }, path: string) => unknown

function serve(respond: Respond): void {
  vi.stubGlobal('fetch', async (url: URL, { method = 'GET', body }: RequestInit) => {
    const answer = await respond(method, JSON.parse(String(body ?? '{}')), url.pathname)
    return answer instanceof Response ? answer : new Response(JSON.stringify(answer))
  })
}

function leaseOf(id: string, token = 1): LeaseRecord {
  const times = { acquiredAt: 0, expiresAt: 1000, remaining: 1000 }
  return { resource: 'r', id, owner: 'Mika', token, metadata: null, share: null, ...times, state: 'held' }
}

let clock: FakeClock
let store: LeaseStore
beforeEach(() => {
  clock = new FakeClock()
  vi.stubGlobal('WebSocket', FakeWebSocket)
  FakeWebSocket.opened.length = 0
  store = httpStore(URL_OF_SERVER, { clock })
})
afterEach(async () => {
  await store.close()
  vi.unstubAllGlobals()
})

it('an answer of a newer protocol is refused, whatever it says, and the error names both versions', async () => {
  const answer = (version: string) => () =>
    new Response(JSON.stringify({ granted: true, lease: leaseOf('a') }), {
      headers: { 'X-Holdfast-Protocol': version },
    })
  serve(answer('1'))
  expect(await store.acquire(ASK)).toMatchObject({ granted: true })
  serve(answer('2'))
  await expect(store.acquire(ASK)).rejects.toMatchObject({
    code: 'store-failed',
    message: 'the server speaks protocol 2, this client 1: reload the page, or update holdfast',
  })
})

describe('an answer of a server that is not Holdfast', () => {
  const calls: [string, (store: LeaseStore) => Promise<unknown>][] = [
    ['acquire', (store) => store.acquire(ASK)],
    ['acquire with a wait', (store) => store.acquire({ ...ASK, wake() {} })],
    ['renew', (store) => store.renew(ASK)],
    ['release', (store) => store.release({ resource: 'r', id: 'a' })],
    ['read', (store) => store.read(['r'])],
    ['list', (store) => store.list({ limit: 10 })],
    ['sweep', (store) => store.sweep({ limit: 10 })],
  ]
  const bodies: [string, string][] = [
    ['a login page', '<!doctype html><title>Sign in</title>'],
    ['an empty object', '{}'],
    ['null', 'null'],
    ['a message that is no text', '{"error":{"toString":null},"message":{"toString":null}}'],
    ['a grant without a lease', '{"granted":true,"ok":true}'],
    ['a lease without a token', '{"granted":true,"ok":true,"lease":{"resource":"r","id":"a"}}'],
    ['a lease of another', JSON.stringify({ granted: true, ok: true, lease: leaseOf('b') })],
    ['a list of texts', '{"leases":["r"]}'],
  ]
  it.each(calls.flatMap(([name, call]) => bodies.map(([what, body]) => [name, what, body, call] as const)))(
    'is never taken for a grant or a lease: %s, %s',
    async (_, __, body, call) => {
      serve(() => new Response(body))
      await expect(call(store)).rejects.toMatchObject({
        code: 'store-failed',
        message: expect.stringContaining('the server answered 200: not a response of Holdfast'),
      })
    },
  )

  it('an answer of a server that is not Holdfast is not a refusal either', async () => {
    serve(() => new Response('<!doctype html>', { status: 409 }))
    await expect(store.acquire(ASK)).rejects.toMatchObject({ code: 'store-failed' })
    await expect(store.renew(ASK)).rejects.toMatchObject({ code: 'store-failed' })
  })
})

describe('a server without shared leases', () => {
  it.each([
    ['share', { share: 5 }],
    ['atLeast', { atLeast: 1000 }],
    ['lockDelay', { lockDelay: 1000 }],
  ])(
    'a server without shared leases that ignores %s: the lease is given back, and the request refused by name',
    async (_, more) => {
      const backend = memoryStore()
      serve(async (method, { id }) => {
        if (method === 'DELETE') return backend.release({ resource: 'r', id: String(id) })
        const { share: _, ...lease } = leaseOf('a')
        await backend.acquire(ASK)
        return { granted: true, lease }
      })
      const refusal = {
        code: 'invalid-argument',
        message: expect.stringContaining('share: this version of the server'),
      }
      await expect(store.acquire({ ...ASK, ...more })).rejects.toMatchObject(refusal)
      expect(await backend.read(['r'])).toEqual([[]])
      expect(store.supports.share).toBe(false)
      expect(await store.acquire(ASK)).toMatchObject({ granted: true, lease: { share: null } })
    },
  )

  it('a server without shared leases whose store has none: the request is refused by name', async () => {
    const message = 'share: the store of this server (nats) has no share'
    serve(() => new Response(JSON.stringify({ error: 'share_unsupported', message }), { status: 400 }))
    const leases = createLeases(store)
    await expect(leases.tryAcquire('r', { share: 5 })).rejects.toMatchObject({
      code: 'invalid-argument',
      message,
    })
    await expect(leases.tryAcquire('r', { share: 5 })).rejects.toMatchObject({ code: 'invalid-argument' })
    await leases.close()
  })

  it('a server without shared leases may give a reason that is no text', async () => {
    serve(() => new Response('{"error":"share_unsupported","message":{"toString":null}}', { status: 400 }))
    await expect(store.acquire({ ...ASK, share: 5 })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: 'share: the server does not support it',
    })
  })

  it('a server without shared leases names one holder', async () => {
    const { share: _, ...holder } = leaseOf('b')
    const refusal = { error: 'lease_held', message: '', granted: false, holder, place: null, retryIn: 5 }
    serve(() => new Response(JSON.stringify(refusal), { status: 409 }))
    expect(await store.acquire(ASK)).toEqual({
      granted: false,
      holders: [leaseOf('b')],
      place: null,
      retryIn: 5,
    })
    serve(() => ({ leases: [holder] }))
    expect(await store.read(['r'])).toEqual([[leaseOf('b')]])
  })
})

describe('a page on plain http', () => {
  it('a page on plain http can hold a lease, though it has no crypto.randomUUID', async () => {
    const { getRandomValues } = crypto
    vi.stubGlobal('crypto', { getRandomValues: getRandomValues.bind(crypto) })
    const backend = memoryStore()
    serve(async (method, body) =>
      method === 'DELETE'
        ? backend.release({ resource: 'r', id: String(body.id) })
        : backend.acquire({ resource: 'r', ...body } as Ask),
    )
    const leases = createLeases(httpStore(URL_OF_SERVER))
    expect(await leases.withLease('r', async ({ held, id }) => held && id.length > 8)).toBe(true)
    await leases.close()
  })
})

describe('an acquisition that is aborted', () => {
  it('an acquisition that is aborted is not sent if it was aborted before', async () => {
    const respond = vi.fn()
    serve(respond)
    const aborted = store.acquire(ASK, { signal: AbortSignal.abort('enough') })
    await expect(aborted).rejects.toMatchObject({ code: 'aborted', cause: 'enough' })
    expect(respond).not.toHaveBeenCalled()
  })

  it('an acquisition that is aborted leaves no lease behind when its request arrives after the release', async () => {
    const backend = memoryStore()
    const { promise: delayed, resolve: deliver } = Promise.withResolvers<void>()
    const released = vi.fn()
    serve(async (method, body) => {
      if (method === 'POST') {
        await delayed
        return backend.acquire({ resource: 'r', ...body } as Ask)
      }
      released()
      return backend.release({ resource: 'r', id: String(body.id) })
    })
    const leases = createLeases(store)
    const stop = new AbortController()
    const acquiring = leases.tryAcquire('r', { signal: stop.signal })
    stop.abort()
    await expect(acquiring).rejects.toMatchObject({ code: 'aborted' })
    await expect.poll(() => released.mock.calls.length).toBe(1)
    // A store learns of the abort with a delay.
    await clock.advance(100)
    deliver()
    await expect.poll(() => released.mock.calls.length).toBe(2)
    expect(await backend.read(['r'])).toEqual([[]])
    await leases.close()
  })
})

describe('many calls at once', () => {
  it('many calls at once are not all sent at once, and renewals do not wait behind acquire requests', async () => {
    const few = httpStore(URL_OF_SERVER, { maxInFlight: 2 })
    const { sent, answerAll } = serveSlowly()
    const calls = Array.from({ length: 5 }, (_, n) =>
      few.acquire({ ...ASK, resource: `resource ${n}`, id: crypto.randomUUID() }),
    )
    for (let n = 0; n < 5; n++)
      calls.push(few.renew({ ...ASK, id: `${n}` }) as never, few.release(ASK) as never)
    const outcomes = Promise.allSettled(calls)
    await expect.poll(() => sent.toSorted()).toEqual(['DELETE', 'POST', 'POST', 'PUT'])
    await answerAll(outcomes)
    expect(sent.toSorted()).toEqual(['DELETE', 'POST', 'POST', 'POST', 'POST', 'POST', 'PUT', 'batch of 8'])
  })

  it('many calls at once to renew and release: those that wait are sent together, and each gets its own answer', async () => {
    const { store, sent, answerAll } = oneAtATime()
    const renewing = Promise.all(Array.from({ length: 120 }, (_, n) => store.renew({ ...ASK, id: `${n}` })))
    await answerAll(renewing)
    expect(sent).toEqual(['PUT', 'batch of 50', 'batch of 50', 'batch of 19'])
    const ids = (await renewing).map((renewal) => renewal.ok && renewal.lease.id)
    expect(ids).toEqual(Array.from({ length: 120 }, (_, n) => `${n}`))
  })

  it('many calls at once to renew one lease: another one waits for the answer to the first', async () => {
    const { store, sent, answerAll } = oneAtATime()
    const first = store.renew({ ...ASK, id: 'first' })
    const copies = Promise.all(Array.from({ length: 3 }, () => store.renew(ASK)))
    await answerAll(copies)
    await first
    expect(sent).toEqual(['PUT', 'PUT'])
    expect(await copies).toMatchObject([{ ok: true }, { ok: true }, { ok: true }])
  })

  it('many calls at once to renew one lease for different times are sent each', async () => {
    const { store, sent, answerAll } = oneAtATime()
    const first = store.renew({ ...ASK, id: 'first' })
    const both = Promise.all([store.renew(ASK), store.renew({ ...ASK, ttl: 600_000 })])
    await answerAll(both)
    await first
    expect(sent).toEqual(['PUT', 'batch of 2'])
  })

  it('many calls at once have their time limit from when they leave', async () => {
    const { store, sent, answer } = oneAtATime()
    const queued = vi.fn()
    void store.renew({ ...ASK, id: 'first' })
    const release = store.release(ASK, { queued })
    expect(queued.mock.calls).toEqual([[true]])
    await clock.advance(4900)
    await answer()
    await expect.poll(() => sent).toEqual(['PUT', 'DELETE'])
    expect(queued.mock.calls).toEqual([[true], [false]])
    await clock.advance(4900)
    await answer()
    expect(await release).toEqual({ ended: null, holders: [] })
    const silent = store.release(ASK).catch((error) => error)
    await clock.advance(5100)
    expect(await silent).toMatchObject({ code: 'store-unavailable', message: /no answer within 5000 ms/ })
    await answer()
  })

  it('many calls at once fail together if the server cannot be reached, and one by one if it answers', async () => {
    const { store, fail, answer } = oneAtATime()
    const renew = (id: string) =>
      store.renew({ ...ASK, id }).then(
        ({ ok }) => ok,
        (error) => error.code,
      )
    const refused = [renew('a'), renew('b')]
    await answer(new Response('{"error":"store_unavailable"}', { status: 503 }))
    expect(await refused[0]).toBe('store-unavailable')
    await answer()
    expect(await refused[1]).toBe(true)
    const outcomes = ['a', 'b', 'c'].map(renew)
    await fail()
    expect(await Promise.all(outcomes)).toEqual(Array(3).fill('store-unavailable'))
  })

  it('end when the store is closed, except releases, which are sent', async () => {
    const { store, sent, fail, answer } = oneAtATime()
    const renewals = Promise.allSettled([store.renew(ASK), store.renew({ ...ASK, id: 'b' })])
    const release = store.release(ASK)
    const closing = store.close()
    for (const outcome of await renewals) expect(outcome).toMatchObject({ reason: { code: 'closed' } })
    expect(sent).toEqual(['PUT'])
    await fail()
    await answer()
    expect(await release).toEqual({ ended: null, holders: [] })
    await closing
    expect(sent).toEqual(['PUT', 'DELETE'])
  })

  function oneAtATime() {
    store = httpStore(URL_OF_SERVER, { clock, maxInFlight: 1 })
    return { store, ...serveSlowly() }
  }

  /** Answers a request only when it is told to. */
  function serveSlowly() {
    const sent: string[] = []
    const waiting: { resolve(response?: Response): void; reject(error: unknown): void }[] = []
    const answerOf = (method: string, { id }: { readonly id?: unknown }) => {
      if (method === 'PUT') return { ok: true, lease: leaseOf(String(id), 5) }
      return method === 'DELETE'
        ? { ended: null, holders: [] }
        : { granted: true, lease: leaseOf(String(id), 5) }
    }
    serve(async (method, body, path) => {
      const { calls } = body as { calls?: { method: string; body: object }[] }
      sent.push(calls ? `batch of ${calls.length}` : method)
      const { promise, resolve, reject } = Promise.withResolvers<Response | undefined>()
      waiting.push({ resolve, reject })
      const answers = calls?.map((call) => ({ status: 200, body: answerOf(call.method, call.body) }))
      return (await promise) ?? (path === '/api/batch' ? { answers } : answerOf(method, body))
    })
    const next = () =>
      vi.waitFor(() => {
        const first = waiting.shift()
        if (!first) throw new Error('no request is waiting')
        return first
      })
    return {
      sent,
      answer: async (response?: Response) => (await next()).resolve(response),
      fail: async () => (await next()).reject(new TypeError('fetch failed')),
      async answerAll(outcomes: Promise<unknown>) {
        let isOver = false
        void outcomes.finally(() => {
          isOver = true
        })
        while (!isOver) {
          for (const { resolve } of waiting.splice(0)) resolve()
          await new Promise((resolve) => setImmediate(resolve))
        }
      },
    }
  }
})

describe('push', () => {
  const granted = { granted: true, lease: leaseOf('a', 5) }

  it('push tells the holder of its loss, also if that was pushed before the grant arrived', async () => {
    const lost = vi.fn()
    serve((method, body, path) => {
      if (path === '/broadcasting/auth') return { auth: 'signed' }
      if (method === 'GET') return { leases: [leaseOf('a', 5)] }
      if (body.id === 'b') FakeWebSocket.push('lease.lost', { resource: 'r', id: 'b' })
      return { granted: true, lease: leaseOf(String(body.id), 5) }
    })
    await store.acquire({ ...ASK, lost })
    await expect.poll(() => FakeWebSocket.channels()).toHaveLength(1)
    FakeWebSocket.push('lease.lost', { resource: 'r', id: 'other' })
    FakeWebSocket.push('lease.lost', { id: 5 })
    expect(lost).not.toHaveBeenCalled()
    FakeWebSocket.push('lease.lost', { resource: 'r', id: 'a' })
    expect(lost).toHaveBeenCalledOnce()
    const lostEarly = vi.fn()
    await store.acquire({ ...ASK, id: 'b', lost: lostEarly })
    expect(lostEarly).toHaveBeenCalledOnce()
  })

  it('push is not needed for a resource that is free', async () => {
    serve(() => granted)
    expect(await store.acquire({ ...ASK, wake() {} })).toMatchObject({ granted: true })
    expect(FakeWebSocket.opened).toHaveLength(0)
  })

  it('push ends when nobody needs it any more', async () => {
    serve((_, __, path) => (path === '/broadcasting/auth' ? { auth: 'signed' } : granted))
    await store.acquire({ ...ASK, lost() {} })
    await expect.poll(() => FakeWebSocket.channels()).toHaveLength(1)
    await clock.advance(10_000)
    expect(FakeWebSocket.opened.map(({ readyState }) => readyState)).toEqual([3])
  })
})

describe('arguments', () => {
  it.each([
    ['a BigInt as address', 10n, {}, 'url: expected an address such as'],
    ['a symbol as address', Symbol('url'), {}, 'url: expected'],
    ['null as address', null, {}, 'url: expected'],
    ['another protocol', 'redis://holdfast.test', {}, 'url: expected'],
    ['null as options', URL_OF_SERVER, null, 'options: expected an object, got null'],
    ['an empty token', URL_OF_SERVER, { token: '' }, 'token: expected a non-empty string, got ""'],
    ['a token that HTTP does not allow', URL_OF_SERVER, { token: 'a\nb' }, 'token: expected'],
    ['a number as key', URL_OF_SERVER, { key: 5 }, 'key: expected a non-empty string, got 5'],
  ])('%s is refused', (_, url, options, message) => {
    const create = () => httpStore(url as string, options as object)
    expect(create).toThrow(expect.objectContaining({ code: 'invalid-argument' }))
    expect(create).toThrow(message)
  })
})

/** Accepts every subscription. */
class FakeWebSocket {
  static readonly opened: FakeWebSocket[] = []
  readyState = 1
  onmessage: ((message: { data: string }) => void) | undefined
  readonly joined: string[] = []

  constructor() {
    FakeWebSocket.opened.push(this)
    queueMicrotask(() => this.receive('pusher:connection_established', { socket_id: '1.1' }))
  }

  static channels(): string[] {
    return FakeWebSocket.opened.flatMap(({ joined }) => joined)
  }

  /** To every channel. */
  static push(event: string, data: object): void {
    for (const socket of FakeWebSocket.opened)
      for (const channel of socket.joined) socket.receive(event, data, channel)
  }

  send(text: string): void {
    const { event, data } = JSON.parse(text)
    if (event !== 'pusher:subscribe') return
    this.joined.push(data.channel)
    this.receive('pusher_internal:subscription_succeeded', {}, data.channel)
  }

  receive(event: string, data: object, channel?: string): void {
    this.onmessage?.({ data: JSON.stringify({ event, channel, data: JSON.stringify(data) }) })
  }

  close(): void {
    this.readyState = 3
  }
}
