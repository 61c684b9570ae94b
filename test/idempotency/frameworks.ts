/** One application with protected routes in each framework, on a port of its own. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import express, { type ErrorRequestHandler, type Request as ExpressRequest } from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { type Context, Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import {
  expressIdempotency,
  fastifyIdempotency,
  honoIdempotency,
  idempotencyOf,
  idempotent,
  type JobStore,
} from '../../src/idempotency/index.ts'

export interface Application {
  readonly url: string
  close(): Promise<unknown>
}

export interface Effects {
  /** How often a route was run. */
  readonly runs: Record<string, number>
  /** Runs of `/slow` end when it resolves. */
  readonly gate: Promise<void>
  started(): void
}

export const BINARY = Uint8Array.from({ length: 3000 }, (_, at) => at % 256)
export const LARGE = 'x'.repeat(10_000)
const shared = { maxResponse: 9999, maxRequest: 5000 }
const HEADERS = { location: '/charges/1', 'set-cookie': 'session=1' }

function count(effects: Effects, route: string): number {
  effects.runs[route] = (effects.runs[route] ?? 0) + 1
  return effects.runs[route]
}

async function listen(listener: Parameters<typeof createServer>[1]): Promise<Application> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function eventStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode('data: 1\n\n')) })
}

type Start = (jobs: JobStore, effects: Effects) => Promise<Application>

const startFetch: Start = async (jobs, effects) => {
  const principal = (request: Request) => request.headers.get('x-user')
  const route = async (request: Request, context: { readonly name: string }): Promise<Response> => {
    const { name } = context
    const run = count(effects, name)
    if (name === 'charges')
      return Response.json(
        { run, body: await request.json(), key: idempotencyOf(request)?.key },
        { status: 201, headers: HEADERS },
      )
    if (name === 'binary') return new Response(BINARY)
    if (name === 'large') return new Response(LARGE)
    if (name === 'empty') return new Response(null, { status: 204 })
    if (name === 'events')
      return new Response(eventStream(), { headers: { 'content-type': 'text/event-stream' } })
    if (name === 'declined') return Response.json({ run }, { status: 402 })
    if (name === 'fails' && run === 1) throw new Error('it failed')
    if (name === 'slow') {
      effects.started()
      await effects.gate
    }
    return new Response(`run ${run}`)
  }
  const handler = idempotent(route, { ...shared, jobs, principal })
  const answer = (request: Request) =>
    handler(request, { name: new URL(request.url).pathname.slice(1) }).catch(
      () => new Response('error', { status: 500 }),
    )
  return listen(getRequestListener(answer))
}

const startHono: Start = async (jobs, effects) => {
  const app = new Hono<{ Variables: { user: string | undefined } }>()
  app.use(async (c, next) => {
    c.set('user', c.req.header('x-user'))
    await next()
  })
  // A validator that reads the body before the key is looked at.
  app.use('/charges', async (c, next) => {
    await c.req.text()
    await next()
  })
  type C = Context<{ Variables: { user: string | undefined } }>
  app.use(honoIdempotency({ ...shared, jobs, principal: (c: C) => c.get('user') }))
  app.onError((error, c) =>
    error instanceof HTTPException ? error.getResponse() : c.text('error', { status: 500 }),
  )
  app.post('/charges', async (c) => {
    const run = count(effects, 'charges')
    return c.json({ run, body: await c.req.json(), key: idempotencyOf(c)?.key }, 201, HEADERS)
  })
  app.post('/binary', (c) => {
    count(effects, 'binary')
    return c.body(BINARY)
  })
  app.post('/empty', (c) => {
    count(effects, 'empty')
    return c.body(null, 204)
  })
  app.post('/large', (c) => {
    count(effects, 'large')
    return c.text(LARGE)
  })
  app.post('/events', (c) => {
    count(effects, 'events')
    return c.body(eventStream(), 200, { 'content-type': 'text/event-stream' })
  })
  app.post('/declined', () => {
    const run = count(effects, 'declined')
    throw new HTTPException(402, { res: Response.json({ run }, { status: 402 }) })
  })
  app.post('/fails', (c) => {
    const run = count(effects, 'fails')
    if (run === 1) throw new Error('it failed')
    return c.text(`run ${run}`)
  })
  app.post('/slow', async (c) => {
    const run = count(effects, 'slow')
    effects.started()
    await effects.gate
    return c.text(`run ${run}`)
  })
  app.get('/charges', (c) => c.text(`run ${count(effects, 'get')}`))
  return listen(getRequestListener(app.fetch))
}

const startExpress: Start = async (jobs, effects) => {
  const app = express()
  app.use(express.json())
  const principal = (request: ExpressRequest) => request.header('x-user')
  app.use(expressIdempotency({ ...shared, jobs, principal }))
  app.post('/charges', (request, response) => {
    const run = count(effects, 'charges')
    const body = { run, body: request.body, key: idempotencyOf(request)?.key }
    response.status(201).set(HEADERS).json(body)
  })
  app.post('/binary', (_, response) => {
    count(effects, 'binary')
    // Bytes in parts, with headers of Node.
    response.writeHead(200, { 'content-type': 'application/octet-stream' })
    response.write(BINARY.subarray(0, 1000))
    response.write(Buffer.from(BINARY.subarray(1000, 2000)).toString('base64'), 'base64')
    response.end(BINARY.subarray(2000))
  })
  app.post('/empty', (_, response) => {
    count(effects, 'empty')
    response.sendStatus(204)
  })
  app.post('/large', (_, response) => {
    count(effects, 'large')
    Readable.from([LARGE.slice(0, 9000), LARGE.slice(9000)]).pipe(response)
  })
  app.post('/events', (_, response) => {
    count(effects, 'events')
    response.set('content-type', 'text/event-stream').flushHeaders()
    response.write('data: 1\n\n')
  })
  app.post('/declined', (_request, _response, next) => {
    next(Object.assign(new Error('declined'), { run: count(effects, 'declined') }))
  })
  app.post('/fails', (_, response) => {
    const run = count(effects, 'fails')
    if (run === 1) throw new Error('it failed')
    response.send(`run ${run}`)
  })
  app.post('/slow', async (_, response) => {
    const run = count(effects, 'slow')
    effects.started()
    await effects.gate
    response.send(`run ${run}`)
  })
  app.get('/charges', (_, response) => void response.send(`run ${count(effects, 'get')}`))
  const answerError: ErrorRequestHandler = (error, _request, response, _next) => {
    if (error.run) response.status(402).json({ run: error.run })
    else response.status(500).send('error')
  }
  app.use(answerError)
  return listen(app)
}

const startFastify: Start = async (jobs, effects) => {
  const app = fastify()
  // Like the plugin for multipart, it leaves the body to the handler.
  app.addContentTypeParser(['multipart/form-data', 'text/x-other'], (_request, _payload, done) => done(null))
  const principal = (request: FastifyRequest) => request.headers['x-user'] as string | undefined
  const hooks = fastifyIdempotency({ ...shared, jobs, principal })
  app.post('/charges', hooks, async (request, reply) => {
    const run = count(effects, 'charges')
    reply.code(201).headers(HEADERS)
    return { run, body: request.body, key: idempotencyOf(request)?.key }
  })
  app.post('/binary', hooks, async (_, reply) => {
    count(effects, 'binary')
    return reply.type('application/octet-stream').send(Buffer.from(BINARY))
  })
  app.post('/empty', hooks, async (_, reply) => {
    count(effects, 'empty')
    return reply.code(204).send()
  })
  app.post('/large', hooks, async () => {
    count(effects, 'large')
    return LARGE
  })
  app.post('/events', hooks, async (_, reply) => {
    count(effects, 'events')
    return reply.type('text/event-stream').send(eventStream())
  })
  app.post('/declined', hooks, async () => {
    const run = count(effects, 'declined')
    throw Object.assign(new Error('declined'), { statusCode: 402, run })
  })
  app.post('/fails', hooks, async () => {
    const run = count(effects, 'fails')
    if (run === 1) throw new Error('it failed')
    return `run ${run}`
  })
  app.post('/slow', hooks, async () => {
    const run = count(effects, 'slow')
    effects.started()
    await effects.gate
    return `run ${run}`
  })
  app.setErrorHandler((error: Error & { run?: number }, _, reply) => {
    if (error.run) reply.code(402).send({ run: error.run })
    else reply.code(500).send('error')
  })
  app.get('/charges', hooks, async () => `run ${count(effects, 'get')}`)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    url,
    close: () => {
      app.server.closeAllConnections()
      return app.close()
    },
  }
}

export const FRAMEWORKS: Readonly<Record<string, Start>> = {
  'fetch and Next': startFetch,
  Hono: startHono,
  Express: startExpress,
  Fastify: startFastify,
}
