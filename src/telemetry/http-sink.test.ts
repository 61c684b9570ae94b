import { describe, expect, it, vi } from 'vitest'
import { record } from '../../test/telemetry/records.ts'
import { httpSink, type RecordBuffer } from './http-sink.ts'
import { receiveTelemetry } from './receive.ts'
import type { TelemetryRecord } from './record.ts'

describe('the sink for a server', () => {
  it('posts batches that the server takes, and everything once', async () => {
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

  it('puts into the buffer what the server cannot take, and sends it once it can', async () => {
    const server = fakeServer()
    const sink = httpSink('/telemetry', { fetch: server.fetch, buffer: memoryBuffer() })
    server.status = 503
    await sink.write([record('lock:acquired', 1)])
    server.status = 202
    await sink.write([record('lock:released', 2)])
    expect(server.received.map(({ type }) => type)).toEqual(['lock:released', 'lock:acquired'])
  })

  it('fails without a buffer, so that the collector keeps the records', async () => {
    const server = fakeServer()
    server.status = 429
    await expect(httpSink('/telemetry', { fetch: server.fetch }).write(many(1))).rejects.toThrow('429')
  })

  it('does not send for ever what the server will never take', async () => {
    const server = fakeServer()
    server.status = 400
    await httpSink('/telemetry', { fetch: server.fetch }).write(many(1))
    expect(server.fetch).toHaveBeenCalledOnce()
  })
})

describe('the receiving side', () => {
  it('takes records, counts what is none, and keeps known fields only', () => {
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
  ])('refuses what is no batch', (body, status, error) => {
    expect(receiveTelemetry(body)).toEqual({ ok: false, status, error })
  })
})

function many(count: number): TelemetryRecord[] {
  return Array.from({ length: count }, (_, n) => record('lock:acquired', n))
}

function fakeServer() {
  const received: TelemetryRecord[] = []
  const server = {
    status: 202,
    received,
    fetch: vi.fn(async (_url: string | URL | Request, request?: RequestInit) => {
      const batch = receiveTelemetry(JSON.parse(String(request?.body)))
      if (!batch.ok) throw new Error(batch.error)
      if (server.status === 202) received.push(...batch.records)
      return new Response(null, { status: server.status })
    }),
  }
  return server
}

function memoryBuffer(): RecordBuffer {
  let kept: TelemetryRecord[] = []
  return {
    append: async (records) => void kept.push(...records),
    async drain(take) {
      await take(kept)
      kept = []
    },
  }
}
