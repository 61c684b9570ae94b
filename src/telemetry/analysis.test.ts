import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../test/property.ts'
import { linesOf, MINUTE, NOON, record, WINDOW } from '../../test/telemetry/records.ts'
import { Analysis } from './analysis.ts'
import type { AnalysisOptions } from './options.ts'
import { STREAMS, type TelemetryRecord } from './record.ts'

describe('a window', () => {
  it('a window has all metrics', () => {
    const [metrics] = analysisOf([
      record('lock:attempt', 0, { attempt: 1 }),
      record('lock:acquired', 1, { backend: 'web', attempts: 1, waitedMs: 10 }),
      record('lock:acquired', 2, { backend: 'fallback', attempts: 3, waitedMs: 1000, returned: true }),
      record('lock:acquired', 3, { backend: 'web', attempts: 1, waitedMs: 20 }),
      record('lock:error', 4, { backend: 'fallback', operation: 'acquire', retryable: false, attempts: 5 }),
      record('lock:error', 5, { operation: 'acquire', retryable: true }),
      record('lock:error', 6, { operation: 'execute', retryable: false }),
      record('lock:readonly-entered', 7, { reason: 'acquire-failed' }),
      record('lock:waiting', 8, { delayMs: 500 }),
      record('lock:renewed', 9, { leftMs: 20_000 }),
      record('lock:renewed', 10, { leftMs: 12_000 }),
      record('lock:retry', 11, { operation: 'renew' }),
      record('lock:retry', 12, { operation: 'acquire' }),
      record('lock:warning', 13, { warning: 'heartbeat-delayed' }),
      record('lock:cleanup-warning', 14, { warning: 'cleanup' }),
      record('lock:warning', 15, { warning: 'from-the-future' }),
      record('lock:released', 16, { releaseMs: 4 }),
    ]).metrics()
    const about = (ms: number) => expect.closeTo(ms, -Math.log10(ms * 0.02))
    const one = (ms: number) => ({
      count: 1,
      min: ms,
      p50: about(ms),
      p95: about(ms),
      p99: about(ms),
      max: ms,
    })
    expect(metrics).toEqual({
      stream: 'project',
      start: '2030-01-01T12:00:00.000Z',
      end: '2030-01-01T12:15:00.000Z',
      records: 17,
      acquires: 4,
      attempts_per_acquire: 2.5,
      success_rate: 0.75,
      retryable_false: 0.25,
      fallback_rate: 0.5,
      wait_ms: { count: 3, min: 10, p50: about(20), p95: about(1000), p99: about(1000), max: 1000 },
      heartbeats: 3,
      heartbeat_success: 2 / 3,
      ttl_left_ms: {
        count: 2,
        min: 12_000,
        p50: about(12_000),
        p95: about(20_000),
        p99: about(20_000),
        max: 20_000,
      },
      release_ms: one(4),
      backoff_ms: one(500),
      warnings: {
        'heartbeat-delayed': 1,
        'fallback-delayed': 0,
        'fallback-corrupt': 0,
        cleanup: 1,
        'lease-in-danger': 0,
        other: 1,
      },
      readonly_entered: 1,
      readonly_returned: 1,
      readonly_waiting: 0,
      readonly_rate: 0.25,
      readonly_chances: 4,
    })
  })

  it('a window counts leases, document locks and AutoSave the same way, each stream separately', () => {
    const metrics = analysisOf([
      record('acquired', 0, { stream: 'lease', attempts: 2, waitedMs: 3 }),
      record('lost', 1, { stream: 'lease', reason: 'refused' }),
      record('warning', 2, { stream: 'lease', warning: 'lease-in-danger' }),
      record('document.locked', 3, { stream: 'document' }),
      record('autosave:readonly-entered', 4, { stream: 'autosave' }),
      record('autosave:readonly-left', 5, { stream: 'autosave' }),
    ]).metrics()
    expect(metrics).toMatchObject([
      { stream: 'autosave', acquires: 0, success_rate: null, readonly_entered: 1, readonly_returned: 1 },
      { stream: 'document', acquires: 1, wait_ms: null, attempts_per_acquire: 1 },
      { stream: 'lease', acquires: 1, heartbeat_success: 0, warnings: { 'lease-in-danger': 1 } },
    ])
  })

  it('a window lasts 15 minutes and begins at a quarter of an hour', () => {
    const times = [0, WINDOW - 1, WINDOW, 3 * WINDOW + 7 * MINUTE]
    const metrics = analysisOf(times.map((time) => record('lock:acquired', time))).metrics()
    expect(metrics.map(({ start, acquires }) => [start.slice(11, 16), acquires])).toEqual([
      ['12:00', 2],
      ['12:15', 1],
      ['12:45', 1],
    ])
  })
})

describe('an analysis', () => {
  const anyRecord = fc
    .record({
      type: fc.constantFrom('lock:acquired', 'lock:error', 'renewed', 'lock:released', 'lock:waiting', 'x'),
      after: fc.integer({ min: -5 * WINDOW, max: 20 * WINDOW }),
      fields: fc.record(
        {
          stream: fc.constantFrom(...STREAMS),
          operation: fc.constantFrom('acquire', 'renew'),
          retryable: fc.boolean(),
          waitedMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
          leftMs: fc.double({ min: 0, max: 30_000, noNaN: true }),
          attempts: fc.nat(9),
        },
        { requiredKeys: [] },
      ),
    })
    .map(({ type, after, fields }) => record(type, after, fields))
  const records = fc.array(anyRecord, { maxLength: 80 })
  const bounded = { maxWindows: 6, now: NOON + 10 * WINDOW - 24 * 60 * MINUTE }

  it('an analysis is the same for any order of the lines', () => {
    const shuffled = records.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    )
    checkProperty(
      fc.property(shuffled, ([list, other]) => {
        expect(resultOf(analysisOf(other, bounded))).toEqual(resultOf(analysisOf(list, bounded)))
      }),
    )
  })

  it('merged from two halves equals the analysis of all records', () => {
    checkProperty(
      fc.property(records, records, (left, right) => {
        const merged = analysisOf(left, bounded)
        merged.merge(analysisOf(right, bounded))
        expect(resultOf(merged)).toEqual(resultOf(analysisOf([...left, ...right], bounded)))
      }),
    )
  })

  it('an analysis continues after a merge that removed its current window', () => {
    const [early, late] = [record('lock:acquired', 0), record('lock:acquired', WINDOW)]
    const analysis = analysisOf([early], { maxWindows: 1 })
    analysis.merge(analysisOf([late]))
    analysis.add(early)
    expect(analysis.metrics()).toMatchObject([{ acquires: 1 }])
    expect(analysis.skipped.outside).toBe(2)
  })

  it('counts and skips lines that it cannot use', () => {
    const analysis = new Analysis()
    const good = JSON.stringify(record('lock:acquired', 0))
    for (const line of [
      good,
      good.slice(0, 40),
      'null',
      '[]',
      '{"v":1}',
      JSON.stringify({ ...record('lock:acquired', 0), waitedMs: -1 }),
      JSON.stringify({ ...record('lock:acquired', 0), v: 2, at: 'tomorrow' }),
      JSON.stringify({ ...record('lock:acquired', 0), at: '2030-02-30T12:00:00.000Z' }),
      JSON.stringify({ ...record('lock:acquired', 0), later: { added: 'field' } }),
    ])
      analysis.addLine(line)
    analysis.addLastLine(good.slice(0, -1))
    analysis.addLastLine(good)
    expect(analysis.skipped).toEqual({ broken: 6, newer: 1, huge: 0, torn: 1, outside: 0 })
    const counted = analysis.metrics().reduce((sum, { acquires }) => sum + acquires, 0)
    expect(counted).toBe(3)
  })

  it('an analysis keeps the present when a wrong clock writes a time far in the future', () => {
    const year = 365 * 24 * 60 * MINUTE
    const analysis = analysisOf(
      [record('lock:acquired', 0), record('lock:acquired', year), record('lock:acquired', -MINUTE)],
      { now: NOON, maxWindows: 2 },
    )
    expect(analysis.metrics().map(({ start }) => start.slice(11, 16))).toEqual(['11:45', '12:00'])
    expect(analysis.skipped.outside).toBe(1)
  })

  it('an analysis keeps only the newest windows', () => {
    const many = Array.from({ length: 1000 }, (_, n) => record('lock:acquired', n * WINDOW))
    const analysis = analysisOf(many, { maxWindows: 10 })
    expect(analysis.metrics()).toHaveLength(10)
    expect(analysis.skipped.outside).toBe(990)
  })
})

function analysisOf(records: readonly TelemetryRecord[], options?: AnalysisOptions): Analysis {
  const analysis = new Analysis(options)
  for (const line of linesOf(records).split('\n')) if (line) analysis.addLine(line)
  return analysis
}

function resultOf(analysis: Analysis) {
  return { metrics: analysis.metrics(), skipped: analysis.skipped }
}
