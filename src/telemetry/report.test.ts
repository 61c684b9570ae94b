import { describe, expect, it } from 'vitest'
import { acquires, NOON, record, WINDOW } from '../../test/telemetry/records.ts'
import { Analysis } from './analysis.ts'
import { type LoggedIncident, newsFor, recognize } from './incident-log.ts'
import { incidentMarkdown } from './incident-markdown.ts'
import { judge } from './judge.ts'
import { pagerDutyEvent, slackMessage } from './notify.ts'
import type { TelemetryRecord } from './record.ts'
import { renderReport } from './report-html.ts'
import { REPORT_STYLE } from './report-style.ts'

const open = verdictOf([...acquires(0, 20, 0), ...acquires(1, 15, 5), ...acquires(2, 12, 8)])
const [incident] = open.incidents
if (!incident) throw new Error('there should be an incident')
const closed = { ...incident, until: '2030-01-01T13:30:00.000Z' }

describe('the page', () => {
  it('needs nothing but itself', () => {
    const html = renderReport(open, NOON)
    expect(html).not.toMatch(/https?:|<link|<img|@import|url\(/)
    expect(html).toContain('Rollback required')
    expect(html).toContain('alerts/incident-20300101T1215Z.md')
    expect(html).not.toMatch(/NaN|undefined|Infinity/)
  })

  it('tells how to begin when there is nothing to show', () => {
    const html = renderReport(verdictOf([]), NOON)
    expect(html).toContain('Nothing was collected yet')
    expect(html).not.toMatch(/NaN|undefined|Infinity/)
  })

  it.each([
    ['one event', [record('lock:attempt', 0)]],
    ['no waits', [record('document.locked', 0, { stream: 'document' })]],
    ['waits of nothing', [record('lock:acquired', 0, { waitedMs: 0 })]],
    ['every acquire refused', acquires(0, 0, 30)],
  ] as const)('can be drawn for %s', (_, records) => {
    expect(renderReport(verdictOf(records), NOON)).not.toMatch(/NaN|undefined|Infinity/)
  })

  it.each([0, 1])('has texts of enough contrast in theme %i', (theme) => {
    const colours = Object.fromEntries(
      [...REPORT_STYLE.matchAll(/(--[\w-]+): light-dark\((#\w+), (#\w+)\)/g)].map(([, name, ...pair]) => [
        name,
        pair[theme] ?? '',
      ]),
    )
    for (const text of ['--text', '--muted', '--accent', '--good', '--waiting', '--fallback', '--bad'])
      for (const ground of ['--page', '--card'])
        expect(contrast(colours[text] ?? '', colours[ground] ?? ''), `${text} on ${ground}`).toBeGreaterThan(
          4.5,
        )
  })
})

describe('the file of an incident', () => {
  it('says what, since when, figures against thresholds, the likely cause, what to do and how to roll back', () => {
    const text = incidentMarkdown(incident, open)
    expect(text).toContain('# incident-20300101T1215Z: rollback required')
    expect(text).toContain('| Template | Incident-001 |')
    expect(text).toContain('| Since | 2030-01-01 12:15 UTC |')
    expect(text).toContain(
      '| Acquires that ended with retryable=false | project | 40 % | 40 % | 5 % | 20 | 2 |',
    )
    for (const title of ['What happened', 'Figures', 'Likely cause', 'What to do', 'How to roll back'])
      expect(text).toContain(`## ${title}`)
  })

  it('says when it is closed', () => {
    const text = incidentMarkdown(closed, open)
    expect(text).toContain('# incident-20300101T1215Z: closed')
    expect(text).toContain('| Until | 2030-01-01 13:30 UTC |')
  })

  it.each([
    ['Web Locks are missing', [record('lock:acquired', WINDOW, { backend: 'fallback' })], 40],
    ['found corrupt', [record('lock:warning', WINDOW, { warning: 'fallback-corrupt' })], 1],
    ['Heartbeats came late', [record('lock:warning', WINDOW, { warning: 'heartbeat-delayed' })], 1],
    ['left their file behind', [record('lock:cleanup-warning', WINDOW, { warning: 'cleanup' })], 1],
    ['Waits are long', [record('lock:acquired', WINDOW, { waitedMs: 9000 })], 40],
    ['Nothing in these figures', [], 0],
  ] as const)('finds a cause: %s', (cause, sign, times) => {
    const signs = Array.from({ length: times }, () => sign).flat()
    const verdict = verdictOf([...acquires(1, 0, 20), ...signs])
    expect(verdict.incidents.map((one) => incidentMarkdown(one, verdict)).join()).toContain(cause)
  })
})

describe('what is remembered of incidents', () => {
  const logged: LoggedIncident = { ...incident, told: { slack: 'opened' } }

  it('knows an incident again, also when the windows of its start are gone', () => {
    const later = { ...incident, id: 'incident-later', since: '2030-01-01T12:30:00.000Z' }
    expect(recognize([later], [logged], NOON)).toEqual([logged])
  })

  it('knows a new one from one that is over', () => {
    const over: LoggedIncident = { ...closed, told: { slack: 'closed' } }
    const next = { ...incident, id: 'incident-next', since: '2030-01-01T14:00:00.000Z' }
    expect(recognize([next], [over], NOON)).toEqual([{ ...next, told: {} }])
  })

  it('ends what was open and is seen no more', () => {
    expect(recognize([], [logged], NOON + WINDOW)).toEqual([{ ...logged, until: '2030-01-01T12:15:00.000Z' }])
  })

  it.each([
    ['it opened', null, undefined, 'opened'],
    ['it lasts', null, 'opened', undefined],
    ['it ended', closed.until, 'opened', 'closed'],
    ['it is long over', closed.until, 'closed', undefined],
    ['it was over before it was seen', closed.until, undefined, undefined],
  ] as const)('tells once: %s', (_, until, slack, news) => {
    expect(newsFor('slack', { ...incident, until, told: slack ? { slack } : {} })).toBe(news)
  })
})

describe('payloads', () => {
  it('for PagerDuty trigger and resolve by one key', () => {
    expect(pagerDutyEvent(incident, 'key')).toMatchObject({
      routing_key: 'key',
      event_action: 'trigger',
      dedup_key: 'holdfast-incident-20300101T1215Z',
      payload: {
        summary: expect.any(String),
        source: 'holdfast',
        severity: 'critical',
        timestamp: incident.since,
      },
    })
    expect(pagerDutyEvent(closed, 'key')).toEqual({
      routing_key: 'key',
      event_action: 'resolve',
      dedup_key: 'holdfast-incident-20300101T1215Z',
    })
  })

  it('for Slack have a text and blocks', () => {
    expect(slackMessage(incident)).toMatchObject({
      text: 'Locks: rollback required',
      blocks: expect.any(Array),
    })
    expect(JSON.stringify(slackMessage(incident))).toContain('40 %')
  })
})

function verdictOf(records: readonly TelemetryRecord[]) {
  const analysis = new Analysis()
  for (const one of records) analysis.add(one)
  return judge(analysis)
}

/** As WCAG computes it. */
function contrast(one: string, other: string): number {
  const luminance = (hex: string) => {
    const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
      const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}
