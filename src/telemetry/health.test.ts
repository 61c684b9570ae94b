import { describe, expect, it } from 'vitest'
import { acquires, MINUTE, NOON, record, WINDOW } from '../../test/telemetry/records.ts'
import { Analysis } from './analysis.ts'
import { checkHealth, type LockHealth } from './health.ts'
import type { HealthOptions } from './options.ts'
import type { TelemetryRecord } from './record.ts'
import { makeThresholds } from './thresholds.ts'

describe('retryable=false', () => {
  it.each([
    ['1 of 20 is 5 %, which is allowed', 19, 1, false],
    ['2 of 20 are above 5 %', 18, 2, true],
    ['2 of 19: too few samples', 17, 2, false],
    ['19 of 19: too few samples', 0, 19, false],
    ['20 of 20', 0, 20, true],
    ['51 of 1000', 949, 51, true],
    ['50 of 1000', 950, 50, false],
    ['no acquires', 0, 0, false],
  ])('%s', (_, granted, refused, rollback) => {
    const rules = { success_rate: { severity: 'off' } }
    const health = healthOf(acquires(0, granted, refused), { thresholds: makeThresholds({ rules }) })
    expect(health.rollback_required).toBe(rollback)
    expect(health.status).toBe(rollback ? 'rollback' : 'healthy')
  })

  it('retryable=false does not count errors of the executor and errors that are retried', () => {
    const errors = ['execute', 'release', 'acquire'].flatMap((operation) =>
      Array.from({ length: 20 }, () =>
        record('lock:error', 0, { operation, retryable: operation === 'acquire', code: 'x' }),
      ),
    )
    expect(healthOf([...acquires(0, 20, 0), ...errors]).status).toBe('healthy')
  })
})

describe('read-only', () => {
  const entries = (count: number, fields: Partial<TelemetryRecord> = {}, type = 'lock:readonly-entered') =>
    Array.from({ length: count }, () => record(type, 0, fields))
  const lost = { reason: 'lease-expired' }
  const saves = (count: number) => entries(count, { stream: 'autosave' }, 'autosave:saved')
  const ofAutoSave = (count: number, reason: string) =>
    entries(count, { stream: 'autosave', reason }, 'autosave:readonly-entered')

  it.each([
    ['11 tabs lost the lock, and 19 got one', [...acquires(0, 19, 0), ...entries(11, lost)], true],
    ['11 tabs lost the lock, and 989 got one', [...acquires(0, 989, 0), ...entries(11, lost)], false],
    ['exactly 10 %', [...acquires(0, 90, 0), ...entries(10, lost)], false],
    ['19 of 19: too few samples', entries(19, lost), false],
    ['20 of 20', entries(20, lost), true],
    ['a crowd of tabs waits for the holder', [...acquires(0, 20, 0), ...entries(99, { held: true })], false],
    ['20 of 100 saves did not happen', [...saves(80), ...ofAutoSave(20, 'lost')], true],
    ['20 of 1000 saves did not happen', [...saves(980), ...ofAutoSave(20, 'lost')], false],
    ['a crowd of pages waits for the holder', [...saves(20), ...ofAutoSave(99, 'held')], false],
  ] as const)('%s', (_, records, rollback) => {
    expect(healthOf(records).rollback_required).toBe(rollback)
  })

  it('read-only names the share and its samples', () => {
    const { reasons } = healthOf([...acquires(0, 30, 0), ...entries(10, lost), ...entries(5, { held: true })])
    expect(reasons).toMatchObject([{ rule: 'readonly', value: 0.25, bound: 0.1, samples: 40 }])
  })
})

it('a reason names the rule, the figures and the windows', () => {
  const { reasons } = healthOf([...acquires(0, 20, 0), ...acquires(1, 30, 10), ...acquires(2, 18, 2)])
  expect(reasons[0]).toEqual({
    rule: 'retryable_false',
    stream: 'project',
    severity: 'rollback',
    bound: 0.05,
    value: 0.1,
    worst: 0.25,
    samples: 20,
    windows: ['2030-01-01T12:15:00.000Z', '2030-01-01T12:30:00.000Z'],
    since: '2030-01-01T12:15:00.000Z',
    until: null,
  })
})

describe('hysteresis', () => {
  const bad = [18, 2] as const
  const good = [20, 0] as const
  /** Below 5 %, but not well below. */
  const between = [955, 45] as const

  it.each([
    ['one bad window', [bad], true],
    ['one good window does not clear it', [bad, good], true],
    ['two good windows do', [bad, good, good], false],
    ['windows between the bounds do not clear it', [bad, between, between, between], true],
    ['windows between the bounds do not make it fire', [between, between], false],
    ['a window between the bounds restarts the count of good windows', [bad, good, between, good], true],
    ['a window without acquires is a good window', [bad, [0, 0], [0, 0]], false],
    ['failures with too few samples do not clear it', [bad, [0, 5], [0, 5]], true],
    ['it can fire again', [bad, good, good, bad], true],
  ] as const)('%s', (_, windows, rollback) => {
    const records = windows.flatMap(([granted, refused], n) => [
      record('lock:attempt', n * WINDOW),
      ...acquires(n, granted, refused),
    ])
    expect(healthOf(records).rollback_required).toBe(rollback)
  })

  it('hysteresis can require several bad windows in a row', () => {
    const thresholds = makeThresholds({ enter_after: 2 })
    const results = [[bad], [bad, good, bad], [bad, bad]].map((windows) =>
      healthOf(
        windows.flatMap(([granted, refused], n) => acquires(n, granted, refused)),
        { thresholds },
      ),
    )
    expect(results.map((health) => health.rollback_required)).toEqual([false, false, true])
  })

  it('hysteresis counts missing windows as good ones', () => {
    expect(healthOf([...acquires(0, ...bad), ...acquires(3, ...between)]).rollback_required).toBe(false)
    expect(healthOf([...acquires(0, ...bad), ...acquires(2, ...between)]).rollback_required).toBe(true)
  })

  it('hysteresis is not cleared by a window that has not ended', () => {
    const records = [...acquires(0, ...bad), ...acquires(1, ...good), ...acquires(2, ...good)]
    expect(healthOf(records, { now: NOON + 3 * WINDOW - 1 }).rollback_required).toBe(true)
  })

  it('hysteresis is cleared a minute after the end of a window, when its last lines have come', () => {
    const records = [...acquires(0, ...bad), ...acquires(1, ...good), ...acquires(2, ...good)]
    expect(healthOf(records, { now: NOON + 3 * WINDOW + MINUTE - 1 }).rollback_required).toBe(true)
    expect(healthOf(records, { now: NOON + 3 * WINDOW + MINUTE }).rollback_required).toBe(false)
  })

  it('hysteresis is not cleared by missing windows that have not ended, before one of a wrong clock', () => {
    const records = [...acquires(0, ...bad), ...acquires(50, ...good)]
    expect(healthOf(records, { now: NOON + 3 * WINDOW }).rollback_required).toBe(true)
    expect(healthOf(records, { now: NOON + 3 * WINDOW + MINUTE }).rollback_required).toBe(false)
  })
})

describe('incidents', () => {
  it('begin with the first bad window and end with the window that cleared them', () => {
    const { incidents } = healthOf([
      ...acquires(0, 18, 2),
      ...acquires(1, 20, 0),
      ...acquires(2, 18, 2),
      ...acquires(3, 20, 0),
      ...acquires(4, 20, 0),
      ...acquires(9, 18, 2),
    ])
    expect(incidents).toMatchObject([
      { id: 'incident-20300101T1200Z', until: '2030-01-01T13:15:00.000Z' },
      { id: 'incident-20300101T1415Z', until: null },
    ])
  })

  it('last until all their rules have ended', () => {
    const entries = Array.from({ length: 20 }, () => record('lock:readonly-entered', WINDOW))
    const quiet = [2, 3, 4].map((n) => record('lock:attempt', n * WINDOW))
    expect(healthOf([...acquires(0, 18, 2), ...entries, ...quiet]).incidents).toMatchObject([
      { since: '2030-01-01T12:00:00.000Z', until: '2030-01-01T13:00:00.000Z', firings: [{}, {}] },
    ])
  })

  it('join rules and streams that overlap', () => {
    const entries = Array.from({ length: 20 }, () => record('lock:readonly-entered', WINDOW))
    const leases = acquires(1, 18, 2).map((one) => ({ ...one, stream: 'lease' as const }))
    const { incidents } = healthOf([...acquires(0, 18, 2), ...entries, ...leases])
    expect(incidents).toHaveLength(1)
    expect(incidents[0]?.firings.map(({ rule, stream }) => `${stream} ${rule}`).sort()).toEqual([
      'lease retryable_false',
      'project readonly',
      'project retryable_false',
    ])
  })
})

function healthOf(records: readonly TelemetryRecord[], options?: HealthOptions): LockHealth {
  const analysis = new Analysis()
  for (const one of records) analysis.add(one)
  return checkHealth(analysis, options)
}
