import { describe, expect, it, vi } from 'vitest'
import { record } from '../../test/telemetry/records.ts'
import { FakeClock } from '../testing/index.ts'
import { createCollector, type Sink } from './collector.ts'
import { httpSink, type RecordBuffer, receiveTelemetry } from './http-batches.ts'
import type { TelemetryRecord } from './record.ts'

describe('the sink for a server', () => {
  it('the sink for a server posts batches that the server accepts, and each record once', async () => {
    const server = fakeServer()
    await httpSink('/telemetry', { fetch: server.fetch, headers: { authorization: 'Bearer x' } }).write(
      many(1200),
    )
    expect(server.received).toEqual(many(1200))
    expect(server.fetch.mock.calls.length).toBeGreaterThan(2)
    for (const [url, request] of server.fetch.mock.calls) {
      expect(url).toBe('/telemetry')
      expect(request).toMatchObject({
        method: 'POST',
        keepalive: true,
        headers: { authorization: 'Bearer x' },
      })
    }
  })

  it('the sink for a server buffers records while the server fails, and sends them when it answers again', async () => {
    const server = fakeServer()
    const sink = httpSink('/telemetry', { fetch: server.fetch, buffer: memoryBuffer() })
    server.status = 503
    await sink.write([record('lock:acquired', 1)])
    server.status = 202
    await sink.write([record('lock:released', 2)])
    expect(server.received.map(({ type }) => type)).toEqual(['lock:released', 'lock:acquired'])
  })

  it.each([
    ['the collector', undefined],
    ['the buffer', memoryBuffer()],
  ])(
    'the sink for a server sends no record twice when the server took only a part, and %s keeps the rest',
    async (_, buffer) => {
      const server = fakeServer()
      const sink = httpSink('/telemetry', { fetch: server.fetch, ...(buffer && { buffer }) })
      const { collector, listen } = collecting(sink)
      listen(1200)
      server.statuses = [202, 503]
      await collector.flush()
      expect(server.received).not.toHaveLength(0)
      // The waiting records are interrupted too.
      server.statuses = [202, 503]
      for (let turn = 0; turn < 2; turn++) {
        listen(1)
        await collector.flush()
      }
      expect(tokensOf(server.received)).toEqual(Array.from({ length: 1202 }, (_, n) => n))
    },
  )

  it.each([401, 403, 404])(
    'reports a server that refuses with %i, and the buffer keeps the records',
    async (status) => {
      const server = fakeServer()
      const { collector, listen, errors } = collecting(
        httpSink('/telemetry', { fetch: server.fetch, buffer: memoryBuffer() }),
      )
      server.statuses = [status]
      listen(2)
      await collector.flush()
      expect(errors()).toEqual([expect.stringContaining(`/telemetry answered ${status}`)])
      listen(1)
      await collector.close()
      expect(tokensOf(server.received)).toEqual([0, 1, 2])
      expect(collector.dropped).toBe(0)
    },
  )

  it('the sink for a server says once what a server that answers 403 needs, and reports each batch', async () => {
    const server = fakeServer()
    const { collector, listen, errors } = collecting(
      httpSink('/telemetry', { fetch: server.fetch, buffer: memoryBuffer() }),
    )
    server.status = 403
    for (let batch = 0; batch < 3; batch++) {
      listen(1)
      await collector.flush()
    }
    expect(errors()).toEqual([
      expect.stringContaining('answered 403: the server takes telemetry of pages with `acceptTelemetry`'),
      expect.stringMatching(/answered 403$/),
      expect.stringMatching(/answered 403$/),
    ])
    server.status = 202
    await collector.close()
  })

  it('the sink for a server counts records as taken when the connection breaks after the status', async () => {
    const body = new ReadableStream({ cancel: () => Promise.reject(new Error('reset')) })
    const fetch = async () => new Response(body, { status: 202 })
    await expect(httpSink('/telemetry', { fetch }).write(many(1))).resolves.toBeUndefined()
  })

  it('limits a batch in bytes to what browsers accept with keepalive', async () => {
    const server = fakeServer()
    const records = many(500).map((plain) => ({ ...plain, resource: '錠'.repeat(100) }))
    await httpSink('/telemetry', { fetch: server.fetch }).write(records)
    expect(server.received).toEqual(records)
    expect(server.fetch.mock.calls.every(([, request]) => request?.keepalive)).toBe(true)
  })

  it('the sink for a server sends a batch once without keepalive when the browser refuses it with keepalive', async () => {
    const server = fakeServer()
    const sink = httpSink('/telemetry', { fetch: server.fetch })
    server.keepaliveBytes = 0
    await sink.write(many(3))
    expect(server.received).toEqual(many(3))
    server.fetch.mockRejectedValue(new TypeError('Failed to fetch'))
    await expect(sink.write(many(1))).rejects.toThrow('Failed to fetch')
    expect(server.fetch.mock.calls.map(([, request]) => request?.keepalive === true)).toEqual([
      ...[true, false],
      ...[true, false],
    ])
  })

  it('fails without a buffer, so that the collector keeps the records', async () => {
    const server = fakeServer()
    server.status = 429
    await expect(httpSink('/telemetry', { fetch: server.fetch }).write(many(1))).rejects.toThrow('429')
  })

  it.each([1, '1ms'] as const)(
    'waits at most the timeout of %s for an answer, and the buffer keeps the records',
    async (timeout) => {
      const server = fakeServer()
      const buffer = memoryBuffer()
      server.fetch.mockImplementationOnce(
        (_, request) =>
          new Promise((_answer, reject) =>
            request?.signal?.addEventListener('abort', () => reject(request.signal?.reason)),
          ),
      )
      const sink = httpSink('/telemetry', { fetch: server.fetch, buffer, timeout })
      await sink.write([record('lock:acquired', 1)])
      expect(server.received).toEqual([])
      await sink.write([record('lock:released', 2)])
      expect(server.received.map(({ type }) => type)).toEqual(['lock:released', 'lock:acquired'])
    },
  )

  it.each([400, 422])('reports and drops a batch that the server will never accept: %i', async (status) => {
    const server = fakeServer()
    const { collector, listen, errors } = collecting(httpSink('/telemetry', { fetch: server.fetch }))
    server.statuses = [status]
    listen(3)
    await collector.flush()
    listen(1)
    await collector.close()
    expect(server.fetch).toHaveBeenCalledTimes(2)
    expect(server.received).toHaveLength(1)
    expect(collector.dropped).toBe(3)
    expect(errors()).toEqual([
      `dropped 3 telemetry records: /telemetry answered ${status}, so it will never accept them`,
    ])
  })

  it('the sink for a server splits a batch that is too large for the server, and drops only records that are', async () => {
    const server = fakeServer()
    server.maxRecords = 3
    const { collector, listen, errors } = collecting(httpSink('/telemetry', { fetch: server.fetch }))
    listen(10)
    await collector.flush()
    expect(tokensOf(server.received)).toEqual(Array.from({ length: 10 }, (_, n) => n))
    server.maxRecords = 0
    listen(2)
    await collector.close()
    expect({ received: server.received.length, dropped: collector.dropped }).toEqual({
      received: 10,
      dropped: 2,
    })
    expect(errors()[0]).toContain('dropped 1 telemetry record: /telemetry answered 413')
  })

  it('the sink for a server reports buffered records that the server will never accept, and those that do not fit the buffer', async () => {
    const server = fakeServer()
    const sink = httpSink('/telemetry', { fetch: server.fetch, buffer: memoryBuffer(4) })
    const { collector, listen, errors } = collecting(sink)
    server.statuses = [503]
    listen(7)
    await collector.flush()
    server.statuses = [202, 400]
    listen(1)
    await collector.close()
    expect({ received: server.received.length, dropped: collector.dropped }).toEqual({
      received: 1,
      dropped: 7,
    })
    expect(errors()).toEqual([
      'dropped 3 telemetry records: the buffer for /telemetry is full',
      'dropped 4 telemetry records: /telemetry answered 400, so it will never accept them',
    ])
  })
})

describe('the receiving side', () => {
  it('the receiving side takes records, counts malformed ones, and keeps only known fields', () => {
    const good = record('lock:acquired', 0, { waitedMs: 3 })
    const batch = receiveTelemetry({
      events: [good, { ...good, note: 'Dear diary' }, { ...good, v: 9 }, null],
    })
    expect(batch).toEqual({ ok: true, records: [good, good], refused: 2 })
  })

  it.each([
    [null, 400, 'invalid_batch'],
    [undefined, 400, 'invalid_batch'],
    [[], 400, 'invalid_batch'],
    [{ events: 'x' }, 400, 'invalid_batch'],
    [{ events: many(501) }, 413, 'batch_too_large'],
  ])('the receiving side refuses an invalid batch', (body, status, error) => {
    expect(receiveTelemetry(body)).toEqual({ ok: false, status, error })
  })
})

function many(count: number): TelemetryRecord[] {
  return Array.from({ length: count }, (_, n) => record('lock:acquired', n))
}

function tokensOf(records: readonly TelemetryRecord[]): (number | undefined)[] {
  return records.map(({ token }) => token).toSorted((a = 0, b = 0) => a - b)
}

/** A collector with this sink. `listen` tells it of this many events, each with the next token. */
function collecting(sink: Sink) {
  const onError = vi.fn()
  const collector = createCollector({ sinks: [sink], clock: new FakeClock(), onError })
  const tell = collector.listen('lease') as (event: { type: string; token: number }) => void
  let token = 0
  const listen = (count: number) => {
    for (const end = token + count; token < end; token++) tell({ type: 'acquired', token })
  }
  return { collector, listen, errors: () => onError.mock.calls.map(([error]) => error.message as string) }
}

function fakeServer() {
  const received: TelemetryRecord[] = []
  const server = {
    status: 202,
    /** The statuses of the next requests. After them, `status` is used. */
    statuses: [] as number[],
    received,
    /** A larger batch gets the status 413. */
    maxRecords: 500,
    /** The largest body with `keepalive`. Larger ones are refused, as in a browser. */
    keepaliveBytes: 65_536,
    fetch: vi.fn(async (_url: string | URL | Request, request?: RequestInit) => {
      request?.signal?.throwIfAborted()
      if (request?.keepalive && Buffer.byteLength(String(request.body)) > server.keepaliveBytes)
        throw new TypeError('Failed to fetch')
      const batch = receiveTelemetry(JSON.parse(String(request?.body)))
      if (!batch.ok) throw new Error(batch.error)
      const isTooLarge = batch.records.length > server.maxRecords
      const status = isTooLarge ? 413 : (server.statuses.shift() ?? server.status)
      if (status === 202) received.push(...batch.records)
      return new Response(null, { status })
    }),
  }
  return server
}

function memoryBuffer(room = Infinity): RecordBuffer {
  let kept: TelemetryRecord[] = []
  return {
    async append(records) {
      kept.push(...records)
      return kept.splice(0, Math.max(0, kept.length - room)).length
    },
    async drain(take) {
      while (kept.length > 0) kept = kept.slice(await take(kept))
    },
  }
}
