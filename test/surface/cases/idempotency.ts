import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from 'holdfast'
import {
  expressIdempotency,
  type FastifyReplyLike,
  fastifyIdempotency,
  honoIdempotency,
  idempotencyOf,
  idempotent,
  idempotentFetch,
} from 'holdfast/idempotency'
import { createOnce, type JobStore } from 'holdfast/once'
import { unique } from './backend.ts'

export async function idempotencyCase(jobs: JobStore): Promise<void> {
  await protectsFetch(jobs)
  await protectsHono(jobs)
  await protectsExpress(jobs)
  await protectsFastify(jobs)
}

function post(key: string): Request {
  const headers = { 'idempotency-key': `"${unique}-${key}"`, 'content-type': 'application/json' }
  return new Request('http://localhost/charges', { method: 'POST', headers, body: '{"amount":5}' })
}

async function protectsFetch(jobs: JobStore): Promise<void> {
  let runs = 0
  const handler = async (request: Request) => {
    assert.equal(idempotencyOf(request)?.attempt, 1)
    return Response.json({ run: ++runs }, { status: 201 })
  }
  await using once = createOnce(jobs)
  for (const options of [
    { jobs, principal: 'everyone' as const },
    {
      ...{
        once,
        principal: () => 'mika',
        scope: () => `${unique}-tenant`,
        methods: ['POST'],
        required: true,
      },
      ...({
        format: 'strict' as const,
        fingerprint: () => ({ amount: 5 }),
        keep: '1h',
        wait: '30s',
      } as const),
      ...({
        ttl: '5m',
        retryAfter: '2s',
        maxRequest: 1000,
        maxResponse: 1000,
        headers: ['x-trace'],
      } as const),
      ...{ keeps: () => true, onUnavailable: 'refuse' as const, onError: () => {}, clock: systemClock },
      prefix: 'requests:',
    },
  ]) {
    runs = 0
    const protectedHandler = idempotent(handler, options)
    assert.deepEqual(await (await protectedHandler(post('fetch'))).json(), { run: 1 })
    const replay = await protectedHandler(post('fetch'))
    assert.equal(replay.headers.get('idempotent-replayed'), 'true')
    assert.deepEqual(await replay.json(), { run: 1 })
  }
}

async function protectsHono(jobs: JobStore): Promise<void> {
  const middleware = honoIdempotency({ jobs, principal: 'everyone' })
  for (const isRepeated of [false, true]) {
    const raw = post('hono')
    const req = {
      raw,
      arrayBuffer: () => raw.arrayBuffer(),
      header: (name: string) => raw.headers.get(name) ?? undefined,
    }
    const c = { req, res: new Response('none') }
    const replay = await middleware(c, async () => {
      c.res = new Response('done')
    })
    assert.equal(replay?.headers.get('idempotent-replayed'), isRepeated ? 'true' : undefined)
  }
}

async function protectsExpress(jobs: JobStore): Promise<void> {
  const middleware = expressIdempotency({ jobs, principal: 'everyone' })
  let runs = 0
  const server = createServer((request, response) =>
    middleware(request, response, () => response.end(`run ${++runs}`)),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const newKey = () => `${unique}-express`
  const sends = [
    idempotentFetch({ newKey }),
    idempotentFetch({ newKey, tries: 3, maxPause: '10s', fetch, clock: systemClock }),
  ]
  for (const send of sends) assert.equal(await (await send(url, { method: 'POST' })).text(), 'run 1')
  assert.equal((await idempotentFetch()(url)).status, 200)
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

async function protectsFastify(jobs: JobStore): Promise<void> {
  const { preHandler, onSend } = fastifyIdempotency({ jobs, principal: 'everyone' })
  const headers = { 'idempotency-key': `${unique}-fastify` }
  const raw = { readableDidRead: true, httpVersionMajor: 1 }
  for (const isRepeated of [false, true]) {
    const request = { method: 'POST', originalUrl: '/charges', headers, body: { amount: 5 }, raw }
    let sent: unknown
    const reply: FastifyReplyLike = {
      ...{ statusCode: 200, raw: { once: () => {} }, code: () => {}, header: () => {} },
      ...{ getHeaders: () => ({ 'content-type': 'text/plain' }), send: (payload) => (sent = payload) },
    }
    await preHandler(request, reply)
    if (!isRepeated) await onSend(request, reply, 'done')
    assert.equal(sent === undefined ? undefined : String(sent), isRepeated ? 'done' : undefined)
  }
}
