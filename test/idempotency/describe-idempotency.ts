import { describe, expect, it, onTestFinished } from 'vitest'
import { type IdempotencyOptions, idempotencyOf, idempotent } from '../../src/idempotency/index.ts'
import { createOnce, type JobStore } from '../../src/once/index.ts'
import { eventually } from '../eventually.ts'

export interface OpenedJobs {
  readonly jobs: JobStore
  /** Another connection to the same jobs. */
  readonly peer: JobStore
  dispose?(): unknown
}

type Handler = (request: Request) => Response | Promise<Response>

/** What protected handlers do on every job store, whatever its clock is. */
export function describeIdempotency(name: string, open: () => OpenedJobs | Promise<OpenedJobs>): void {
  describe(`${name}: a protected handler`, () => {
    async function protect(handler: Handler, options: Partial<IdempotencyOptions> = {}) {
      const { jobs, peer, dispose } = await open()
      onTestFinished(() => void dispose?.())
      const all = { principal: userOf, ...options }
      let refusals = 0
      const counting = [jobs, peer].map(
        (each): JobStore => ({
          ...each,
          acquire: async (...args) => {
            const answer = await each.acquire(...args)
            if (!answer.granted) refusals++
            return answer
          },
        }),
      )
      const onces = counting.map((each) => createOnce(each, { onWarning: () => {} }))
      onTestFinished(async () => void (await Promise.all(onces.map((once) => once.close()))))
      const [here, there] = onces.map((once) => idempotent(handler, { ...all, once }))
      return { here: here as Handler, there: there as Handler, refusals: () => refusals }
    }

    it('runs once, and a repeated request gets the same status, headers and body', async () => {
      let runs = 0
      const { here, there } = await protect(async (request) => {
        const { amount } = (await request.json()) as { amount: number }
        const headers = { location: '/charges/1', 'set-cookie': 'secret=1', 'x-trace': 'abc', etag: '"v1"' }
        return Response.json({ charged: amount, run: ++runs }, { status: 201, headers })
      })
      const first = await here(post({ amount: 5 }))
      expect([first.status, first.headers.get('x-trace')]).toEqual([201, 'abc'])
      expect(first.headers.has('idempotent-replayed')).toBe(false)
      const replay = await there(post({ amount: 5 }))
      expect(replay.status).toBe(201)
      expect(Object.fromEntries(replay.headers)).toEqual({
        'content-type': 'application/json',
        etag: '"v1"',
        'idempotent-replayed': 'true',
        location: '/charges/1',
      })
      expect(await replay.text()).toBe(await first.text())
      expect(runs).toBe(1)
    })

    it.each([
      ['text', new TextEncoder().encode('grüße, 日本 \u{1f512}')],
      ['text with a byte order mark', new Uint8Array([0xef, 0xbb, 0xbf, 0x61])],
      ['text with NUL', new Uint8Array([0x61, 0, 0x62])],
      ['a byte that is not UTF-8', new Uint8Array([0xff, 0x61])],
      ['many bytes', Uint8Array.from({ length: 70_000 }, (_, at) => at % 256)],
      ['nothing', new Uint8Array()],
    ])('replays %s byte by byte', async (_, bytes) => {
      const { here, there } = await protect(() => new Response(bytes, { headers: { 'content-type': 'x/y' } }))
      expect(await bytesOf(await here(post()))).toEqual(bytes)
      const replay = await there(post())
      expect(replay.headers.get('idempotent-replayed')).toBe('true')
      expect(await bytesOf(replay)).toEqual(bytes)
    })

    it('replays an answer without a body', async () => {
      const { here, there } = await protect(() => new Response(null, { status: 204 }))
      expect((await here(post())).status).toBe(204)
      const replay = await there(post())
      expect([replay.status, replay.headers.get('idempotent-replayed')]).toEqual([204, 'true'])
    })

    it('refuses a request with the same key while the first one runs, with 409 and Retry-After', async () => {
      const gate = handlerThatWaits()
      const { here, there } = await protect(gate.handler, { retryAfter: '3s' })
      const first = here(post())
      await gate.started
      const refused = await there(post())
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([409, '3'])
      expect(await refused.json()).toMatchObject({ code: 'idempotency_key_in_use', status: 409 })
      expect(refused.headers.get('content-type')).toBe('application/problem+json')
      gate.finish()
      expect((await first).status).toBe(200)
      expect((await there(post())).headers.get('idempotent-replayed')).toBe('true')
    })

    it('lets a request with the same key wait for the answer of the first one', async () => {
      const gate = handlerThatWaits()
      const { here, there, refusals } = await protect(gate.handler, { wait: '10m' })
      const first = here(post())
      await gate.started
      const second = there(post())
      await eventually(() => expect(refusals()).toBeGreaterThan(0))
      gate.finish()
      expect(await (await second).text()).toBe(await (await first).text())
      expect((await second).headers.get('idempotent-replayed')).toBe('true')
    })

    it('has one effect for fifty requests at once: the others are refused, or get its answer', async () => {
      let effects = 0
      const { here, there } = await protect(() => Response.json({ effect: ++effects }, { status: 201 }))
      const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => (n % 2 ? here : there)(post())))
      const kinds = answers.map(({ status, headers }) =>
        status === 201 ? (headers.has('idempotent-replayed') ? 'replay' : 'run') : status,
      )
      expect(effects).toBe(1)
      expect(kinds.filter((kind) => kind === 'run')).toHaveLength(1)
      expect(kinds.filter((kind) => kind !== 'run' && kind !== 'replay' && kind !== 409)).toEqual([])
    })

    it('has one effect for fifty requests at once that wait: all get equal answers', async () => {
      let effects = 0
      const gate = handlerThatWaits()
      const handler = async (request: Request) => {
        await gate.handler(request)
        return Response.json({ effect: ++effects })
      }
      const { here, there, refusals } = await protect(handler, { wait: '10m' })
      const asked = Array.from({ length: 50 }, (_, n) => (n % 2 ? here : there)(post()))
      await eventually(() => expect(refusals()).toBeGreaterThanOrEqual(49))
      gate.finish()
      const answers = await Promise.all(asked)
      const texts = await Promise.all(answers.map((answer) => answer.text()))
      expect(new Set(texts)).toEqual(new Set(['{"effect":1}']))
      expect(answers.filter(({ headers }) => !headers.has('idempotent-replayed'))).toHaveLength(1)
    })

    const long = 'x'.repeat(10_000)
    it.each<[string, BodyInit | object, PostOptions?, (BodyInit | object)?]>([
      ['another body', { amount: 6 }],
      ['another end of a long body', `${long}a`, {}, `${long}b`],
      ['another method', { amount: 5 }, { method: 'PATCH' }],
      ['another path', { amount: 5 }, { path: '/refunds' }],
      ['another query', { amount: 5 }, { path: '/charges?dry=1' }],
    ])('refuses %s with the same key, with 422', async (_, body, options, first = { amount: 5 }) => {
      const { here, there } = await protect(() => new Response('secret'))
      await here(post(first))
      const refused = await there(post(body, options))
      expect(refused.status).toBe(422)
      expect(await refused.json()).toMatchObject({ code: 'idempotency_key_reused' })
      expect(await (await there(post(first))).text()).toBe('secret')
    })

    it('has keys of its own for each principal, so that nobody gets the answer of another one', async () => {
      const { here, there } = await protect((request) => new Response(`for ${userOf(request)}`))
      expect(await (await here(post({}, { user: 'mika' }))).text()).toBe('for mika')
      const other = await there(post({}, { user: 'noor' }))
      expect(other.headers.has('idempotent-replayed')).toBe(false)
      expect(await other.text()).toBe('for noor')
    })

    it('refuses a key of another principal within a shared scope, with 422', async () => {
      const { here, there } = await protect((request) => new Response(`for ${userOf(request)}`), {
        scope: () => 'tenant-1',
      })
      await here(post({}, { user: 'mika' }))
      expect((await there(post({}, { user: 'noor' }))).status).toBe(422)
      expect((await there(post({}, { user: 'mika' }))).headers.get('idempotent-replayed')).toBe('true')
    })

    it.each([
      [500, {}],
      [503, {}],
      [401, {}],
      [408, {}],
      [425, {}],
      [429, {}],
      [409, { 'retry-after': '1' }],
    ])('does not keep the answer %i %j, and the next request runs again', async (status, headers) => {
      let runs = 0
      const { here, there } = await protect(() =>
        ++runs === 1 ? new Response('later', { status, headers }) : new Response('done'),
      )
      expect([(await here(post())).status, (await there(post())).status, runs]).toEqual([status, 200, 2])
    })

    it.each([400, 402, 404, 409, 202])('keeps the answer %i', async (status) => {
      let runs = 0
      const headers = status === 202 ? { 'retry-after': '1' } : {}
      const { here, there } = await protect(() => new Response(`run ${++runs}`, { status, headers }))
      await here(post())
      const replay = await there(post())
      expect([replay.status, await replay.text()]).toEqual([status, 'run 1'])
    })

    it('keeps what the option keeps says', async () => {
      let runs = 0
      const { here, there } = await protect(() => new Response(`run ${++runs}`, { status: 500 }), {
        keeps: ({ status, headers }) => status === 500 && headers.has('content-type'),
      })
      await here(post())
      expect(await (await there(post())).text()).toBe('run 1')
    })

    it('passes on what the handler throws, and the next request runs again', async () => {
      let runs = 0
      const failure = new Error('no card')
      const { here, there } = await protect(() =>
        ++runs === 1 ? Promise.reject(failure) : new Response('done'),
      )
      await expect(here(post())).rejects.toBe(failure)
      expect(await (await there(post())).text()).toBe('done')
    })

    it('passes an answer on that is too large to keep, and refuses later requests by name', async () => {
      const body = 'x'.repeat(5000)
      let runs = 0
      const { here, there } = await protect(
        () => {
          runs++
          return new Response(chunked(body))
        },
        { maxResponse: 4999 },
      )
      expect(await (await here(post())).text()).toBe(body)
      const refused = await there(post())
      expect([refused.status, refused.headers.has('retry-after'), runs]).toEqual([409, false, 1])
      expect(await refused.json()).toMatchObject({ code: 'idempotency_answer_not_kept' })
    })

    it('passes a stream of events on while it runs, and refuses later requests by name', async () => {
      let send = (_: string) => {}
      const { here, there } = await protect(() => {
        const stream = new ReadableStream({
          start: (controller) => {
            send = (text) => controller.enqueue(new TextEncoder().encode(text))
          },
        })
        return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
      })
      const reader = (await here(post())).body?.getReader()
      send('data: 1\n\n')
      expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: 1\n\n')
      expect(await (await there(post())).json()).toMatchObject({ code: 'idempotency_answer_not_kept' })
    })

    it('returns its own answer when the key was lost meanwhile, but does not store it over the successor', async () => {
      const gate = handlerThatWaits()
      const { jobs, dispose } = await open()
      onTestFinished(() => void dispose?.())
      let loseKey = async () => {}
      const losing: JobStore = {
        ...jobs,
        acquire: (id, owner, ttlMs, options) => {
          loseKey = async () => void (await jobs.release(id, owner))
          return jobs.acquire(id, owner, ttlMs, options)
        },
      }
      const errors: unknown[] = []
      const options = { principal: userOf, onError: (error: unknown) => errors.push(error) }
      const first = idempotent(gate.handler, { ...options, jobs: losing })(post())
      await gate.started
      await loseKey()
      const successor = idempotent(() => new Response('by the successor'), { ...options, jobs })
      expect(await (await successor(post())).text()).toBe('by the successor')
      gate.finish()
      expect(await (await first).text()).toBe('done')
      expect(errors).toMatchObject([{ code: 'lease-lost' }])
      expect(await (await successor(post())).text()).toBe('by the successor')
    })

    it('tells the handler its key, its token, its attempt and when the key is lost', async () => {
      const { here } = await protect((request) => {
        const { key, token, attempt, signal } = idempotencyOf(request) ?? {}
        return Response.json({ key, token: Number.isSafeInteger(token), attempt, lost: signal?.aborted })
      })
      expect(await (await here(post())).json()).toEqual({ key: 'k-1', token: true, attempt: 1, lost: false })
      expect(idempotencyOf(post())).toBe(undefined)
    })
  })
}

export function userOf(request: Request): string | null {
  return request.headers.get('x-user')
}

export interface PostOptions {
  readonly method?: string
  readonly path?: string
  readonly user?: string
  readonly key?: string | null
}

export function post(
  body: BodyInit | object = { amount: 1 },
  { method = 'POST', path = '/charges', user = 'mika', key = '"k-1"' }: PostOptions = {},
): Request {
  const isPlain = Object.getPrototypeOf(body) === Object.prototype
  return new Request(`http://localhost${path}`, {
    method,
    headers: { 'x-user': user, ...(key !== null && { 'idempotency-key': key }) },
    ...(method !== 'GET' && { body: isPlain ? JSON.stringify(body) : (body as BodyInit) }),
  })
}

/** A handler that has begun, and ends when the test says so. */
export function handlerThatWaits(): { handler: Handler; started: Promise<void>; finish(): void } {
  let start = () => {}
  let finish = () => {}
  const started = new Promise<void>((resolve) => {
    start = resolve
  })
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const handler = async () => {
    // It ends before what was opened earlier is closed, also if the test has failed.
    onTestFinished(() => finish())
    start()
    await finished
    return new Response('done')
  }
  return { handler, started, finish: () => finish() }
}

export async function bytesOf(response: Response): Promise<Uint8Array> {
  return new Uint8Array(await response.arrayBuffer())
}

/** A body of unknown length. */
function chunked(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < text.length; at += 1000)
        controller.enqueue(new TextEncoder().encode(text.slice(at, at + 1000)))
      controller.close()
    },
  })
}
