/**
 * The tables of the blueprint "AutoSave Locks API ブループリント", row by row, with real project locks on a fake clock: which
 * fields an event has, and what telemetry makes of it. The groups have its headings.
 */
import { describe, expect, it } from 'vitest'
import type { ProjectLockEvent } from '../../src/project/index.ts'
import {
  Analysis,
  checkHealth,
  createCollector,
  incidentMarkdown,
  isRecord,
  pagerDutyEvent,
  slackMessage,
  type TelemetryRecord,
} from '../../src/telemetry/index.ts'
import { projectBed } from '../web/project-bed.ts'

type Bed = ReturnType<typeof projectBed>
type Scenario = (bed: Bed, locks: ReturnType<Bed['openTab']>['locks']) => Promise<unknown>

/** Acquires on the fallback file, sends one heartbeat and releases. */
const save: Scenario = async ({ clock, finished }, locks) => {
  const lease = await finished(locks.acquireProjectLock())
  await clock.advance(10_000)
  await finished(locks.releaseProjectLock(lease))
}

/** Another tab holds the lock. */
const findItHeld: Scenario = async ({ openTab, finished }, locks) => {
  await finished(openTab({ locks: null }).locks.acquireProjectLock())
  await finished(locks.acquireProjectLock()).catch(() => {})
}

/** The file stops to answer after the grant: no heartbeat succeeds, and the TTL passes. */
const loseIt: Scenario = async ({ clock, files, finished }, locks) => {
  await finished(locks.acquireProjectLock())
  files.refuse = () => new Promise(() => {})
  for (let second = 0; second < 35; second++) await clock.advance(1000)
}

/** Read-only first, then able to write again. */
const comeBack: Scenario = async (bed, locks) => {
  bed.refuse('write', 'NotAllowedError')
  await bed.finished(locks.acquireProjectLock()).catch(() => {})
  bed.files.refuse = () => {}
  await save(bed, locks)
}

interface Row {
  readonly event: ProjectLockEvent['type']
  readonly fields: readonly string[]
  /** Of the event itself, where the table gives a fixed value. */
  readonly values?: object
  readonly when: Scenario
  /** The figures of the window that the event is counted in. */
  readonly figures: object
}

const inMilliseconds = (quantiles: object) => expect.objectContaining(quantiles)

const rows: readonly Row[] = [
  {
    event: 'lock:attempt',
    fields: ['strategy', 'retry'],
    when: save,
    figures: { acquires: 1, attempts_per_acquire: 1, wait_ms: inMilliseconds({ count: 1 }) },
  },
  {
    event: 'lock:waiting',
    fields: ['retry', 'delayMs'],
    when: findItHeld,
    figures: { backoff_ms: inMilliseconds({ count: 4, min: 500, max: 4000 }) },
  },
  { event: 'lock:fallback-engaged', fields: ['lease'], when: save, figures: { fallback_rate: 1 } },
  {
    event: 'lock:warning',
    fields: ['warning', 'detail', 'lease'],
    values: { warning: 'heartbeat-delayed' },
    when: loseIt,
    figures: { warnings: expect.objectContaining({ 'heartbeat-delayed': 1 }) },
  },
  { event: 'lock:acquired', fields: ['lease'], when: save, figures: { success_rate: 1 } },
  {
    event: 'lock:renew-scheduled',
    fields: ['lease', 'nextHeartbeatInMs'],
    values: { nextHeartbeatInMs: 10_000 },
    when: save,
    figures: { ttl_left_ms: inMilliseconds({ min: 20_000 }) },
  },
  {
    event: 'lock:renewed',
    fields: ['lease'],
    when: save,
    figures: { heartbeats: 1, heartbeat_success: 1 },
  },
  {
    event: 'lock:release-requested',
    fields: ['lease'],
    when: save,
    figures: { release_ms: inMilliseconds({ count: 1 }) },
  },
  {
    event: 'lock:released',
    fields: ['leaseId'],
    when: comeBack,
    figures: { readonly_entered: 1, readonly_returned: 1 },
  },
  {
    event: 'lock:error',
    fields: ['operation', 'error', 'retryable'],
    values: { operation: 'acquire', retryable: false },
    when: findItHeld,
    figures: { retryable_false: 1 },
  },
  {
    event: 'lock:readonly-entered',
    fields: ['reason', 'lastError'],
    values: { reason: 'lease-expired', lastError: expect.objectContaining({ retryable: false }) },
    when: loseIt,
    figures: { readonly_entered: 1, readonly_waiting: 0, readonly_rate: 0.5 },
  },
]

describe('2. イベントペイロード', () => {
  it.each(rows)('$event: $fields', async ({ event, fields, values = {}, when, figures }) => {
    const { events, analysis } = await observe(when)
    const found = events.find(({ type }) => type === event)
    expect(Object.keys(found ?? {})).toEqual(expect.arrayContaining([...fields]))
    expect(found).toMatchObject(values)
    expect(analysis.metrics()).toMatchObject([figures])
  })
})

describe('3. フォールバック要件', () => {
  it('a delayed heartbeat is a warning first; after the TTL the tab is read-only, without a retry', async () => {
    const { records } = await observe(loseIt)
    const told = records.slice(records.findIndex(({ type }) => type === 'lock:warning'))
    const outcomes = told.filter(({ type }) => type !== 'lock:attempt')
    expect(outcomes.map(({ type, reason, warning }) => [type, reason ?? warning])).toEqual([
      ['lock:warning', 'heartbeat-delayed'],
      ['lock:error', undefined],
      ['lock:readonly-entered', 'lease-expired'],
    ])
  })
})

describe('4. Day8 アーティファクト隔離策', () => {
  it('`lock:readonly-entered` leads to `rollback_required` and to a page of the template Incident-001', async () => {
    const { records } = await observe(loseIt)
    const health = healthOf(Array.from({ length: 20 }, () => records).flat())
    expect(health).toMatchObject({
      rollback_required: true,
      incidents: [{ firings: [{ rule: 'readonly' }] }],
    })
    expect(health.incidents.map((incident) => incidentMarkdown(incident, health))).toEqual([
      expect.stringContaining('| Template | Incident-001 |'),
    ])
  })
})

describe('5. `subscribeLockEvents` 通知チャネル / テレメトリ責務', () => {
  it('Telemetry Collector: every `lock:*` event becomes one line of JSON', async () => {
    for (const when of [save, findItHeld, loseIt, comeBack]) {
      const { events, records } = await observe(when)
      expect(records.map(({ type }) => type)).toEqual(events.map(({ type }) => type))
      expect(records.map((record) => JSON.parse(JSON.stringify(record))).every(isRecord)).toBe(true)
    }
  })

  it.each([
    [19, 1, false],
    [18, 2, true],
  ])(
    'Analyzer: of %i grants and %i refusals, `rollback_required` is %s',
    async (granted, refused, rollback) => {
      const [grant, refusal] = [await observe(save), await observe(findItHeld)]
      const of = (records: readonly TelemetryRecord[], count: number) =>
        Array.from({ length: count }, () => records).flat()
      const health = healthOf([...of(grant.records, granted), ...of(refusal.records, refused)])
      expect(health.rollback_required).toBe(rollback)
      // The Reporter tells Slack and PagerDuty.
      for (const incident of health.incidents)
        for (const alert of [slackMessage(incident), pagerDutyEvent(incident, 'key')])
          expect(JSON.stringify(alert)).toContain('Acquires that failed for good 10 %')
    },
  )

  it('the subscription ends with the function that it returned', async () => {
    const { clock, openTab, finished } = projectBed()
    const { locks } = openTab()
    const records: TelemetryRecord[] = []
    const collector = createCollector({ sinks: [{ write: (batch) => void records.push(...batch) }], clock })
    const unsubscribe = locks.projectLockEvents.subscribe(collector.listen('project'))
    unsubscribe()
    await finished(locks.withProjectLock(async () => {}))
    await collector.close()
    expect(records).toEqual([])
  })
})

/** Runs a scenario in a tab without Web Locks. Returns its events, their records and the analysis of these. */
async function observe(scenario: Scenario) {
  const bed = projectBed()
  const { locks, events } = bed.openTab({ locks: null })
  const records: TelemetryRecord[] = []
  const collector = createCollector({
    sinks: [{ write: (batch) => void records.push(...batch) }],
    clock: bed.clock,
  })
  locks.subscribeLockEvents(collector.listen('project'))
  await scenario(bed, locks)
  await collector.close()
  return { events, records, analysis: analysisOf(records) }
}

function healthOf(records: readonly TelemetryRecord[]) {
  return checkHealth(analysisOf(records))
}

function analysisOf(records: readonly TelemetryRecord[]): Analysis {
  const analysis = new Analysis()
  for (const record of records) analysis.add(record)
  return analysis
}
