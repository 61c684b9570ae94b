import { describe, expect, it, vi } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'
import { createLeases, LeaseError } from '../core/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock } from '../testing/index.ts'
import { Analysis } from './analysis.ts'
import { createCollector, type Sink } from './collector.ts'
import type { CollectorOptions } from './options.ts'
import { isRecord, type TelemetryRecord } from './record.ts'

describe('the collector', () => {
  it('the collector writes the events of leases, one record each, in order', async () => {
    const { collector, clock, written } = setUp()
    const leases = createLeases(memoryStore({ clock }), { clock, onEvent: collector.listen('lease') })
    const lease = await leases.acquire('invoice:42', { ttl: 30_000 })
    await clock.advance(10_000)
    await lease.release()
    await collector.close()
    expect(written.every(isRecord)).toBe(true)
    expect(written.map(({ type }) => type)).toEqual(['attempt', 'acquired', 'renewed', 'released'])
    expect(written[1]).toMatchObject({ stream: 'lease', attempts: 1, waitedMs: 0, token: lease.token })
    expect(written[2]).toMatchObject({ at: '2030-01-01T00:00:10.000Z', leftMs: expect.any(Number) })
    expect(written[3]).toMatchObject({ heldMs: 10_000 })
  })

  it('the collector writes only valid records, whatever numbers an event has', async () => {
    const token = 1_893_456_000_123_457
    const records = await recordsOf([
      { type: 'renewed', at: 0.5, token, remaining: 1 / 3, waited: -1, attempts: 1.5 },
    ])
    expect(records.every(isRecord)).toBe(true)
    expect(records).toMatchObject([{ at: '1970-01-01T00:00:00.000Z', token, leftMs: 0.33 }])
    expect(Object.keys(records[0] ?? {})).toEqual(['v', 'at', 'stream', 'type', 'source', 'token', 'leftMs'])
  })

  it('the collector hashes owners and resources unless they are revealed, and lease ids always', async () => {
    const event = { type: 'acquired', at: 0, owner: 'mika@example.com', resource: 'diary', leaseId: 'secret' }
    const hashed = await recordsOf([event], { salt: 'a' })
    const salted = await recordsOf([event, event], { salt: 'b' })
    const shown = await recordsOf([event], { salt: 'a', reveal: ['owner', 'resource'] })
    const hash = expect.stringMatching(/^[\da-f]{16}$/)
    expect(hashed[0]).toMatchObject({ owner: hash, resource: hash, lease: hash })
    expect(salted[0]?.owner).not.toBe(hashed[0]?.owner)
    expect(salted[1]).toEqual(salted[0])
    expect(shown[0]).toMatchObject({ owner: 'mika@example.com', resource: 'diary', lease: hashed[0]?.lease })
  })

  it('the collector writes no text that may come from a user', async () => {
    const secret = 'Dear diary'
    const records = await recordsOf([
      {
        type: 'lock:error',
        at: 0,
        error: Object.assign(new Error(secret), { code: 'lock-unavailable', retryable: false }),
        lease: { id: secret, metadata: { name: secret } },
        message: secret,
        detail: secret,
        reason: secret,
        metadata: secret,
        backend: { toString: () => secret },
        unknown: secret,
      },
      { type: secret, at: 0 },
    ])
    expect(JSON.stringify(records)).not.toContain(secret)
    expect(records).toMatchObject([{ type: 'lock:error', code: 'lock-unavailable', retryable: false }])
  })

  it.each([Number.NaN, undefined, 'noon', -1, 1e300, {}])(
    'uses the present when the time of an event is %s',
    async (at) => {
      expect(await recordsOf([{ type: 'acquired', at }])).toMatchObject([{ at: '2030-01-01T00:00:00.000Z' }])
    },
  )

  it.each([500, '500ms', '0.5s'] as const)(
    'sends records to the sinks after the interval %s',
    async (interval) => {
      const { collector, clock, written } = setUp({ interval })
      collector.listen('sync')({ type: 'sync:applied' })
      await clock.advance(499)
      expect(written).toEqual([])
      await clock.advance(1)
      expect(written).toMatchObject([{ stream: 'sync', type: 'sync:applied' }])
      expect(clock.pending).toBe(0)
    },
  )

  it('the collector sends records that a sink did not take again, in order, and no record twice', async () => {
    const taken: string[] = []
    const failing = vi.fn((records: readonly TelemetryRecord[]) => {
      if (failing.mock.calls.length === 1) throw new Error('full')
      if (failing.mock.calls.length === 2) return Promise.reject(new Error('away'))
      taken.push(...records.map(({ type }) => type))
      return Promise.resolve()
    })
    const onError = vi.fn()
    const { collector, clock } = setUp({ sinks: [{ write: failing }], onError })
    const listen = collector.listen('sync')
    listen({ type: 'a' })
    await clock.advance(1000)
    listen({ type: 'b' })
    await clock.advance(1000)
    await clock.advance(1000)
    expect(taken).toEqual(['a', 'b'])
    expect(onError.mock.calls.map(([error]) => error.message)).toEqual(['full', 'away'])
    expect(clock.pending).toBe(0)
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('from onError')
      },
    ],
    ['rejects', () => Promise.reject(new Error('from onError'))],
  ])('the collector sends records again, each once, also when onError %s', async (_, onError) => {
    const write = vi.fn(async (_: readonly TelemetryRecord[]) => {
      if (write.mock.calls.length === 1) throw new Error('away')
    })
    const { collector, clock } = setUp({ sinks: [{ write }], onError })
    collector.listen('sync')({ type: 'a' })
    await collector.flush()
    await clock.advance(1000)
    expect(write).toHaveBeenCalledTimes(2)
    expect(write.mock.lastCall?.[0]).toHaveLength(1)
  })

  it('the collector takes any result of a synchronous sink that is not a promise', async () => {
    const written: TelemetryRecord[] = []
    const write = ((records) => written.push(...records)) as (records: readonly TelemetryRecord[]) => unknown
    const { collector } = setUp({ sinks: [{ write } as Sink] })
    collector.listen('sync')({ type: 'a' })
    await collector.flush()
    await collector.flush()
    expect(written).toHaveLength(1)
  })

  it('the collector keeps the order when events come while a write fails', async () => {
    const taken: string[][] = []
    let refuse: ((error: Error) => void) | undefined
    const write = (records: readonly TelemetryRecord[]) => {
      taken.push(records.map(({ type }) => type))
      return taken.length > 1 ? undefined : new Promise<void>((_, reject) => (refuse = reject))
    }
    const { collector } = setUp({ sinks: [{ write }] })
    const listen = collector.listen('sync')
    listen({ type: 'a' })
    const first = collector.flush()
    listen({ type: 'b' })
    const second = collector.flush()
    refuse?.(new Error('away'))
    await Promise.all([first, second])
    expect(taken).toEqual([['a'], ['a', 'b']])
  })

  it('the collector drops the oldest records and reports it when a sink fails for too long', async () => {
    const onError = vi.fn()
    const taken: string[] = []
    let works = false
    const write = (records: readonly TelemetryRecord[]) => {
      if (!works) throw new Error('full')
      taken.push(...records.map(({ type }) => type))
    }
    const { collector } = setUp({ sinks: [{ write }], onError, maxWaiting: 2 })
    const listen = collector.listen('sync')
    for (const type of ['a', 'b', 'c']) listen({ type })
    await collector.flush()
    works = true
    await collector.flush()
    expect({ taken, dropped: collector.dropped }).toEqual({ taken: ['b', 'c'], dropped: 1 })
    expect(onError).toHaveBeenCalledWith(
      expect.objectContaining({ message: expect.stringContaining('dropped') }),
    )
  })

  it('the collector has written to a synchronous sink when flush returns', () => {
    const { collector, written } = setUp()
    collector.listen('sync')({ type: 'a' })
    collector.flush()
    expect(written).toHaveLength(1)
  })

  it('the collector loses no event of a burst that leaves no time for a timer', () => {
    const { collector, written } = setUp({ maxWaiting: 5000 })
    const listen = collector.listen('sync')
    for (let n = 0; n < 20_000; n++) listen({ type: 'a' })
    collector.flush()
    expect({ written: written.length, dropped: collector.dropped }).toEqual({ written: 20_000, dropped: 0 })
  })

  it('the collector ignores values that are not events', async () => {
    const { collector, written } = setUp()
    const listen = collector.listen('project') as (event: unknown) => void
    for (const event of [null, undefined, 7, {}, { type: 7 }, { type: 'lock:acquired', lease: null }])
      listen(event)
    await collector.close()
    expect(written.map(({ type }) => type)).toEqual(['lock:acquired'])
  })

  it('the collector works on a page without crypto.randomUUID, as on plain http', async () => {
    vi.stubGlobal('crypto', { getRandomValues: <T extends ArrayBufferView>(array: T) => array })
    try {
      expect(await recordsOf([{ type: 'acquired', owner: 'mika' }])).toMatchObject([
        { source: '0-0-0-0', owner: expect.stringMatching(/^[\da-f]{16}$/) },
      ])
    } finally {
      vi.unstubAllGlobals()
    }
  })

  it('the collector closes all its sinks also when one fails to close', async () => {
    const close = vi.fn()
    const broken = {
      write() {},
      close() {
        throw new Error('stuck')
      },
    }
    const { collector } = setUp({ sinks: [broken, { write() {}, close }] })
    await expect(collector.close()).rejects.toThrow('stuck')
    expect(close).toHaveBeenCalledOnce()
  })

  it('the collector reports the records that a sink did not take before the end', async () => {
    const onError = vi.fn()
    const write = () => Promise.reject(new Error('away'))
    const { collector, clock } = setUp({ sinks: [{ write }], onError })
    collector.listen('sync')({ type: 'a' })
    await collector.close()
    expect(collector.dropped).toBe(1)
    expect(onError.mock.calls.map(([error]) => error.message)).toEqual([
      'away',
      'dropped 1 telemetry record: a sink does not take them',
    ])
    expect(clock.pending).toBe(0)
  })

  it('closes at the end of a block', async () => {
    const close = vi.fn()
    {
      await using collector = setUp({ sinks: [{ write() {}, close }] }).collector
      collector.listen('sync')
    }
    expect(close).toHaveBeenCalledOnce()
  })

  it('the collector ignores events after it was closed, and closes its sinks once', async () => {
    const close = vi.fn()
    const write = vi.fn()
    const { collector, clock } = setUp({ sinks: [{ write, close }] })
    const listen = collector.listen('sync')
    await Promise.all([collector.close(), collector.close()])
    listen({ type: 'late' })
    await clock.advance(10_000)
    expect(close).toHaveBeenCalledOnce()
    expect(write).not.toHaveBeenCalled()
  })
})

describe('the events of a project lock', () => {
  const lease = { id: 'l', backend: 'fallback', scope: 'autosave', ttlExpiresAt: 30_000 }
  const base = { leaseId: 'l', backend: 'fallback', scope: 'autosave' }

  it('the events of a project lock give the wait, the attempts, the TTL left, the time to release and the end of read-only', async () => {
    const { collector, clock, written } = setUp()
    const listen = collector.listen('project')
    const steps: readonly [wait: number, event: { type: string; [field: string]: unknown }][] = [
      [0, { type: 'lock:readonly-entered', leaseId: 'earlier', reason: 'acquire-failed' }],
      [0, { type: 'lock:attempt', operation: 'acquire', strategy: 'web', retry: 0 }],
      [10, { type: 'lock:waiting', retry: 1, delayMs: 500 }],
      [500, { type: 'lock:attempt', operation: 'acquire', strategy: 'fallback', retry: 1 }],
      [5, { type: 'lock:acquired', attempt: 2, lease }],
      [100, { type: 'lock:renewed', at: 10_000, ttlExpiresAt: 40_000, lease }],
      [100, { type: 'lock:renewed', at: 25_000, ttlExpiresAt: 55_000, lease }],
      [0, { type: 'lock:retry', attempt: 1, delayMs: 500, reason: 'transient-error' }],
      [0, { type: 'lock:release-requested', lease }],
      [7, { type: 'lock:released' }],
    ]
    for (const [wait, event] of steps) {
      await clock.advance(wait)
      // A jump of the wall clock changes no duration.
      clock.jump(wait % 2 === 0 ? 3_600_000 : -3_600_000)
      listen({ ...base, at: clock.now(), ...event } as { type: string })
    }
    await collector.close()
    const told = Object.fromEntries(written.map((one, index) => [`${index} ${one.type}`, one]))
    expect(told).toMatchObject({
      '1 lock:attempt': { attempt: 1, strategy: 'web' },
      '2 lock:waiting': { delayMs: 500 },
      '3 lock:attempt': { attempt: 2 },
      '4 lock:acquired': { attempts: 2, waitedMs: 515, returned: true, backend: 'fallback' },
      '5 lock:renewed': { leftMs: 20_000 },
      '6 lock:renewed': { leftMs: 15_000 },
      '7 lock:retry': { operation: 'renew' },
      '9 lock:released': { releaseMs: 7, heldMs: 207 },
    })
  })

  it('the events of a project lock give the wait of an acquire that failed for good', async () => {
    const error = { code: 'lock-unavailable' }
    const records = await recordsOf(
      [
        { ...base, type: 'lock:attempt', at: 1000, operation: 'acquire', retry: 0 },
        { ...base, type: 'lock:retry', at: 1000, reason: 'contended', attempt: 1 },
        {
          ...base,
          type: 'lock:error',
          at: '1970-01-01T00:00:08.500Z',
          operation: 'acquire',
          error,
          retryable: false,
        },
      ],
      {},
      'project',
    )
    expect(records[1]).toMatchObject({ operation: 'acquire' })
    expect(records[2]).toMatchObject({
      code: 'lock-unavailable',
      retryable: false,
      attempts: 1,
      waitedMs: 7500,
    })
  })

  it.each([
    ['the web', 'lock-timeout', {}],
    ['the fallback', 'fallback-conflict', { locks: null }],
  ])(
    'say that another tab holds the lock, on %s, also when they were written as JSON',
    async (_, cause, options) => {
      const { clock, openTab, finished } = projectBed()
      const { collector, written } = setUp({ clock })
      const [holder, other] = [openTab(options), openTab(options)]
      await finished(holder.locks.acquireProjectLock())
      other.locks.subscribeLockEvents(collector.listen('project'))
      const refused = await finished(other.locks.acquireProjectLock()).catch((error: unknown) => error)
      expect(refused).toMatchObject({ code: 'lock-unavailable', cause: { code: cause } })
      await collector.close()
      const replayed = await recordsOf(JSON.parse(JSON.stringify(other.events)), {}, 'project')
      for (const records of [written, replayed])
        expect(records.slice(-2)).toMatchObject([
          { type: 'lock:error', held: true },
          { type: 'lock:readonly-entered', reason: 'acquire-failed', held: true },
        ])
    },
  )

  it('the events of a project lock do not say so when the browser refuses the file', async () => {
    const { clock, openTab, finished, refuse } = projectBed()
    const { collector, written } = setUp({ clock })
    const { locks } = openTab({ locks: null })
    locks.subscribeLockEvents(collector.listen('project'))
    refuse('write', 'NotAllowedError')
    await finished(locks.acquireProjectLock()).catch(() => {})
    await collector.close()
    expect(written.at(-1)).toMatchObject({ type: 'lock:readonly-entered', reason: 'acquire-failed' })
    expect(written.at(-1)).not.toHaveProperty('held')
  })

  it('count no missed heartbeat when an executor is retried', async () => {
    const { clock, openTab, finished } = projectBed()
    const { collector, written } = setUp({ clock })
    const { locks } = openTab()
    locks.subscribeLockEvents(collector.listen('project'))
    let runs = 0
    const executor = async () => {
      if (++runs <= 3) throw Object.assign(new Error('busy'), { retryable: true })
    }
    await finished(locks.withProjectLock(executor))
    await collector.close()
    const analysis = new Analysis()
    for (const one of written) analysis.add(one)
    expect(analysis.metrics()).toMatchObject([{ acquires: 4, heartbeats: 0, heartbeat_success: null }])
    const retried = written.filter(({ type }) => type === 'lock:retry')
    expect(retried.map(({ operation }) => operation)).toEqual(['execute', 'execute', 'execute'])
  })

  it('the events of a project lock need no memory for old leases without an end', async () => {
    const events = Array.from({ length: 3000 }, (_, n) => ({ type: 'lock:attempt', leaseId: `l${n}`, at: n }))
    const end = { type: 'lock:acquired', at: 3000 }
    const records = await recordsOf(
      [...events, { ...end, leaseId: 'l0' }, { ...end, leaseId: 'l2999' }],
      {},
      'project',
    )
    expect(records.at(-2)).not.toHaveProperty('waitedMs')
    expect(records.at(-1)).toMatchObject({ waitedMs: 1 })
  })
})

it('an error of the core becomes its code', async () => {
  const error = new LeaseError('store-unavailable', 'redis://user:password@host is away')
  const [record] = await recordsOf([{ type: 'error', at: 0, operation: 'acquire', error }])
  expect(record).toMatchObject({ operation: 'acquire', code: 'store-unavailable', retryable: true })
  expect(JSON.stringify(record)).not.toContain('password')
})

function setUp(options: Partial<CollectorOptions> = {}) {
  const clock = new FakeClock()
  const written: TelemetryRecord[] = []
  const sinks = [{ write: (records: readonly TelemetryRecord[]) => void written.push(...records) }]
  return { clock, written, collector: createCollector({ sinks, clock, ...options }) }
}

/** The records of events that were recorded earlier. */
async function recordsOf(
  events: readonly { type: string; [field: string]: unknown }[],
  options: Partial<CollectorOptions> = {},
  stream: 'lease' | 'project' = 'lease',
): Promise<TelemetryRecord[]> {
  const { collector, written } = setUp(options)
  const listen = collector.listen(stream, { recorded: true })
  for (const event of events) listen(event)
  await collector.close()
  return written
}
