import * as api from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { httpStore } from '../../src/client/http-store.ts'
import { createLeases, type Lease, type LeaseStore } from '../../src/core/index.ts'
import { createOnce, memoryJobs } from '../../src/once/index.ts'
import { createServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { openTelemetryTracing } from '../../src/telemetry/index-node.ts'
import { eventually } from '../eventually.ts'
import { LEASE_TOKEN, SECRETS } from '../server/service-bed.ts'

const exporter = new InMemorySpanExporter()
beforeAll(() => {
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  api.trace.setGlobalTracerProvider(provider)
})
beforeEach(() => exporter.reset())
afterAll(() => {
  api.trace.disable()
  api.context.disable()
  api.propagation.disable()
})

interface Seen {
  readonly name: string
  readonly parent: string | undefined
  readonly trace: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly failed: boolean
}

function spans(): Seen[] {
  const all = exporter.getFinishedSpans()
  const nameOf = (id: string | undefined) => all.find((span) => span.spanContext().spanId === id)?.name
  return all.map((span) => ({
    name: span.name,
    parent: nameOf(span.parentSpanContext?.spanId),
    trace: span.spanContext().traceId,
    attributes: span.attributes,
    failed: span.status.code === api.SpanStatusCode.ERROR,
  }))
}

const find = (name: string) => spans().find((span) => span.name === name)
const tracer = () => api.trace.getTracer('test')
const inSpan = <T>(name: string, work: () => Promise<T>): Promise<T> =>
  tracer().startActiveSpan(name, (span) => work().finally(() => span.end()))

describe('spans of leases', () => {
  it('show the wait, the hold and each call of the store, and the work is in the context of the hold', async () => {
    const tracing = openTelemetryTracing(api)
    const leases = tracing.leases(createLeases(tracing.store(memoryStore())))
    await inSpan('request', () => leases.withLease('invoice:42', async () => inSpan('work', async () => {})))
    await leases.close()
    expect(spans().map(({ name, parent }) => `${parent} > ${name}`)).toEqual([
      'holdfast.wait > holdfast.store.acquire',
      'request > holdfast.wait',
      'holdfast.hold > work',
      expect.stringMatching(/ > holdfast\.store\.release$/),
      'request > holdfast.hold',
      'undefined > request',
    ])
    expect(new Set(spans().map(({ trace }) => trace)).size).toBe(1)
    expect(find('holdfast.wait')?.attributes).toEqual({ 'holdfast.resource': 'invoice:42' })
    expect(find('holdfast.store.acquire')?.attributes).toEqual({ 'holdfast.backend': 'memory' })
    expect(find('holdfast.hold')?.attributes).toMatchObject({ 'holdfast.token': expect.any(Number) })
  })

  it('show a refusal, a loss, and a lease that is handed over', async () => {
    const tracing = openTelemetryTracing(api, { names: false })
    const store: LeaseStore = memoryStore()
    const plain = createLeases(store)
    const leases = tracing.leases(createLeases(store))
    const other = await plain.acquire('a')
    await expect(leases.acquire('a', { wait: 0 })).rejects.toMatchObject({ code: 'lease-held' })
    expect(await leases.tryAcquire('a')).toBeNull()
    expect(spans().map(({ name, failed }) => [name, failed])).toEqual([
      ['holdfast.wait', true],
      ['holdfast.wait', false],
    ])
    expect(find('holdfast.wait')?.attributes).toEqual({})
    await other.release()
    exporter.reset()

    const lost = await leases.acquire('a')
    await plain.release('a', { token: lost.token })
    await eventually(() => expect(find('holdfast.hold')).toMatchObject({ failed: true }))
    exporter.reset()

    const lease = await leases.acquire('b')
    const ticket = await lease.detach()
    expect(find('holdfast.hold')).toMatchObject({ failed: false })
    const adopted = await leases.adopt(ticket)
    await adopted.release()
    expect(spans().filter(({ name }) => name === 'holdfast.hold')).toHaveLength(2)
    await Promise.all([leases.close(), plain.close()])
  })
})

describe('traced work under a lease', () => {
  const setUp = () => {
    const store: LeaseStore = memoryStore()
    const plain = createLeases(store)
    const leases = openTelemetryTracing(api).leases(createLeases(store))
    const lose = async ({ resource, token, signal }: Lease) => {
      await plain.release(resource, { token })
      await eventually(() => expect(signal.aborted).toBe(true))
    }
    const close = () => Promise.all([leases.close(), plain.close()])
    return { leases, lose, [Symbol.asyncDispose]: async () => void (await close()) }
  }

  it('several leases at once have no spans of their own', async () => {
    await using bed = setUp()
    const tried = await bed.leases.tryWithLease(['a', 'b'], (group) => group.leases.length)
    expect(tried).toEqual({ ran: true, result: 2 })
  })

  it('rejects with `lease-lost` after a loss, also if the work threw', async () => {
    await using bed = setUp()
    const cause = new Error('half done')
    const work = bed.leases.withLease('a', async (lease) => {
      await bed.lose(lease)
      throw cause
    })
    await expect(work).rejects.toMatchObject({ code: 'lease-lost', resource: 'a', cause })
    expect(find('holdfast.hold')).toMatchObject({ failed: true })
  })

  it('traced work under a lease has a hold for each turn of a leader, and the work is in the context of its hold', async () => {
    await using bed = setUp()
    let turns = 0
    const result = await inSpan('program', () =>
      bed.leases.lead('a', async (lease) => {
        await inSpan(`turn ${++turns}`, async () => {})
        if (turns === 1) await bed.lose(lease)
        return turns
      }),
    )
    expect(result).toBe(2)
    expect(
      spans().map(({ name, parent, failed }) => `${parent} > ${name}${failed ? ' failed' : ''}`),
    ).toEqual([
      'program > holdfast.wait',
      'holdfast.hold > turn 1',
      'program > holdfast.hold failed',
      'holdfast.hold > turn 2',
      'program > holdfast.hold',
      'undefined > program',
    ])
  })
})

describe('a trace goes on', () => {
  it('a trace goes on from a program through a server to its store, and not with a stranger that sends no header', async () => {
    const settings = { ...SECRETS, port: 0 }
    await using server = await createServer({ store: memoryStore(), settings, log: () => {} })
    const tracing = openTelemetryTracing(api)
    const store = httpStore(server.url, { token: LEASE_TOKEN, headers: tracing.headers })
    const leases = createLeases(store)
    await inSpan('job', async () => (await leases.acquire('a')).release())
    await leases.close()
    await store.close()
    const route = 'POST /api/leases'
    await eventually(() => expect(find(route)).toMatchObject({ parent: 'job' }))
    expect(find('holdfast.store.acquire')).toMatchObject({ parent: route, trace: find('job')?.trace })
    expect(find(route)?.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/api/leases',
      'http.response.status_code': 200,
    })
    exporter.reset()
    await fetch(`${server.url}/healthz`)
    await fetch(`${server.url}/api/documents/1/lock`, { method: 'PUT' })
    await fetch(`${server.url}/api/documents/1/lock`, { method: 'POST' })
    await eventually(() =>
      expect(spans().map(({ name, parent }) => [name, parent])).toContainEqual([
        'POST /api/documents/{roomId}/lock',
        undefined,
      ]),
    )
    expect(JSON.stringify(spans())).not.toMatch(/healthz|PUT|store\.renew/)
    expect(find('holdfast.documents.fence')).toMatchObject({ parent: 'POST /api/documents/{roomId}/lock' })
  })

  it('a trace goes on to a server that has no such route or method, whose span does not show the path', async () => {
    await using server = await createServer({
      store: memoryStore(),
      settings: { ...SECRETS, port: 0 },
      log: () => {},
    })
    await fetch(`${server.url}/a-secret-path`)
    await fetch(`${server.url}/api/documents/a-secret-room/lock`, { method: 'PATCH' })
    await eventually(() =>
      expect(spans().map(({ name, attributes }) => [name, attributes['http.response.status_code']])).toEqual([
        ['GET', 404],
        ['PATCH /api/documents/{roomId}/lock', 405],
      ]),
    )
    expect(JSON.stringify(spans())).not.toContain('secret')
  })

  it('a trace goes on from a task to its run and its work', async () => {
    const tracing = openTelemetryTracing(api)
    const jobs = memoryJobs()
    await jobs.add('job-1')
    const once = tracing.once(createOnce(jobs))
    const handler = tracing.handler(async (_: Request) => {
      await once.run('job-1', async () => inSpan('work', async () => {}))
      return new Response('done')
    }, 'task')
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01` }
    expect((await handler(new Request('http://a.test/', { headers }))).status).toBe(200)
    expect(find('work')).toMatchObject({ parent: 'holdfast.run', trace })
    expect(find('holdfast.run')).toMatchObject({
      parent: 'task',
      attributes: { 'holdfast.job': 'job-1', 'holdfast.ran': true },
    })
    await once.close()
  })
})
