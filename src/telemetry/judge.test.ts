import { describe, expect, it } from 'vitest'
import { acquires, NOON, record, WINDOW } from '../../test/telemetry/records.ts'
import { Analysis } from './analysis.ts'
import { type JudgeOptions, judge, type Verdict } from './judge.ts'
import type { TelemetryRecord } from './record.ts'
import { makeThresholds } from './thresholds.ts'

describe('retryable=false', () => {
  it.each([
    ['one of twenty is 5 %, which is allowed', 19, 1, false],
    ['two of twenty are above', 18, 2, true],
    ['two of nineteen are too few to tell', 17, 2, false],
    ['nineteen of nineteen are too few to tell', 0, 19, false],
    ['all of twenty', 0, 20, true],
    ['51 of a thousand', 949, 51, true],
    ['50 of a thousand', 950, 50, false],
    ['nothing at all', 0, 0, false],
  ])('%s', (_, granted, refused, rollback) => {
    const rules = { success_rate: { severity: 'off' } }
    const verdict = verdictOf(acquires(0, granted, refused), { thresholds: makeThresholds({ rules }) })
    expect(verdict.rollback_required).toBe(rollback)
    expect(verdict.status).toBe(rollback ? 'rollback' : 'healthy')
  })

  it('does not count what the executor threw, nor what may be tried again', () => {
    const errors = ['execute', 'release', 'acquire'].flatMap((operation) =>
      Array.from({ length: 20 }, () =>
        record('lock:error', 0, { operation, retryable: operation === 'acquire', code: 'x' }),
      ),
    )
    expect(verdictOf([...acquires(0, 20, 0), ...errors]).status).toBe('healthy')
  })
})

it('read-only entries above their own threshold call for a rollback, however few acquires there are', () => {
  const entries = (count: number) => Array.from({ length: count }, () => record('lock:readonly-entered', 0))
  expect(verdictOf(entries(10)).rollback_required).toBe(false)
  expect(verdictOf(entries(11))).toMatchObject({
    rollback_required: true,
    reasons: [{ rule: 'readonly', value: 11, bound: 10 }],
  })
})

it('a verdict names the rule, the figures and the windows', () => {
  const { reasons } = verdictOf([...acquires(0, 20, 0), ...acquires(1, 30, 10), ...acquires(2, 18, 2)])
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
    ['what lies between the bounds does not', [bad, between, between, between], true],
    ['nor does it raise anything', [between, between], false],
    ['between starts the count of good windows anew', [bad, good, between, good], true],
    ['a window without acquires is a good one', [bad, [0, 0], [0, 0]], false],
    ['too few samples clear nothing while they fail', [bad, [0, 5], [0, 5]], true],
    ['it may come back', [bad, good, good, bad], true],
  ] as const)('%s', (_, windows, rollback) => {
    const records = windows.flatMap(([granted, refused], n) => [
      record('lock:attempt', n * WINDOW),
      ...acquires(n, granted, refused),
    ])
    expect(verdictOf(records).rollback_required).toBe(rollback)
  })

  it('can ask for several bad windows in a row', () => {
    const thresholds = makeThresholds({ enter_after: 2 })
    const verdicts = [[bad], [bad, good, bad], [bad, bad]].map((windows) =>
      verdictOf(
        windows.flatMap(([granted, refused], n) => acquires(n, granted, refused)),
        { thresholds },
      ),
    )
    expect(verdicts.map((verdict) => verdict.rollback_required)).toEqual([false, false, true])
  })

  it('takes windows that are missing as quiet ones', () => {
    expect(verdictOf([...acquires(0, ...bad), ...acquires(3, ...between)]).rollback_required).toBe(false)
    expect(verdictOf([...acquires(0, ...bad), ...acquires(2, ...between)]).rollback_required).toBe(true)
  })

  it('does not clear by a window that has not ended', () => {
    const records = [...acquires(0, ...bad), ...acquires(1, ...good), ...acquires(2, ...good)]
    expect(verdictOf(records, { now: NOON + 3 * WINDOW - 1 }).rollback_required).toBe(true)
    expect(verdictOf(records, { now: NOON + 3 * WINDOW }).rollback_required).toBe(false)
  })
})

describe('incidents', () => {
  it('begin with the first bad window and end with the one that cleared them', () => {
    const { incidents } = verdictOf([
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

  it('last as long as one of their rules does', () => {
    const entries = Array.from({ length: 11 }, () => record('lock:readonly-entered', WINDOW))
    const quiet = [2, 3, 4].map((n) => record('lock:attempt', n * WINDOW))
    expect(verdictOf([...acquires(0, 18, 2), ...entries, ...quiet]).incidents).toMatchObject([
      { since: '2030-01-01T12:00:00.000Z', until: '2030-01-01T13:00:00.000Z', firings: [{}, {}] },
    ])
  })

  it('join rules and streams that overlap', () => {
    const entries = Array.from({ length: 11 }, () => record('lock:readonly-entered', WINDOW))
    const leases = acquires(1, 18, 2).map((one) => ({ ...one, stream: 'lease' as const }))
    const { incidents } = verdictOf([...acquires(0, 18, 2), ...entries, ...leases])
    expect(incidents).toHaveLength(1)
    expect(incidents[0]?.firings.map(({ rule, stream }) => `${stream} ${rule}`).sort()).toEqual([
      'lease retryable_false',
      'project readonly',
      'project retryable_false',
    ])
  })
})

function verdictOf(records: readonly TelemetryRecord[], options?: JudgeOptions): Verdict {
  const analysis = new Analysis()
  for (const one of records) analysis.add(one)
  return judge(analysis, options)
}
