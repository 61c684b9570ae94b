import { describe, expect, it } from 'vitest'
import { acquires, NOON, record, WINDOW } from '../../test/telemetry/records.ts'
import { pagerDutyEvent, slackMessage } from './alerts.ts'
import { Analysis } from './analysis.ts'
import { checkHealth } from './health.ts'
import { describeHealth } from './health-text.ts'
import { incidentMarkdown } from './incident-page.ts'
import type { TelemetryRecord } from './record.ts'
import { type LoggedIncident, matchIncidents, pendingAlert } from './report-node.ts'
import { REPORT_STYLE, renderReport } from './report-page.ts'

const open = healthOf([...acquires(0, 20, 0), ...acquires(1, 15, 5), ...acquires(2, 12, 8)])
const [incident] = open.incidents
if (!incident) throw new Error('expected an incident')
const closed = { ...incident, until: '2030-01-01T13:30:00.000Z' }

describe('the HTML report', () => {
  it('the HTML report loads nothing else', () => {
    const html = renderReport(open, NOON)
    expect(html).not.toMatch(/https?:|<link|<img|@import|url\(/)
    expect(html).toContain('Rollback required')
    expect(html).toContain('alerts/incident-20300101T1215Z.md')
    expect(html).not.toMatch(/NaN|undefined|Infinity/)
  })

  it('the HTML report explains how to begin when there is no telemetry', () => {
    const html = renderReport(healthOf([]), NOON)
    expect(html).toContain('Nothing was collected yet')
    expect(html).not.toMatch(/NaN|undefined|Infinity/)
  })

  it.each([
    ['one event', [record('lock:attempt', 0)]],
    ['no waits', [record('document.locked', 0, { stream: 'document' })]],
    ['waits of 0 ms', [record('lock:acquired', 0, { waitedMs: 0 })]],
    ['every acquire refused', acquires(0, 0, 30)],
  ] as const)('the HTML report is complete for %s', (_, records) => {
    expect(renderReport(healthOf(records), NOON)).not.toMatch(/NaN|undefined|Infinity/)
  })

  it('the HTML report shades only the plots of the figures that required a rollback', () => {
    const html = renderReport(open, NOON)
    const shaded = html.split('<figure').filter((plot) => plot.includes('class="band"'))
    expect(shaded.map((plot) => /<h3>(.*?)</.exec(plot)?.[1])).toEqual(['Failed for good'])
  })

  it.each([
    ['no data', [record('lock:released', 0)], 'Successful heartbeats', 'no data'],
    ['few data', acquires(0, 0, 3), 'Successful acquires', 'too few samples: 3 of 20'],
    ['good data', acquires(0, 20, 0), 'Successful acquires', 'within bounds (90&nbsp;%)'],
    ['bad data', acquires(0, 10, 10), 'Successful acquires', 'out of bounds (90&nbsp;%)'],
    [
      'good data after bad data',
      [...acquires(0, 10, 10), ...acquires(1, 20, 0)],
      'Successful acquires',
      'back within bounds (90&nbsp;%), not yet over',
    ],
  ] as const)('the HTML report says what it knows about a figure with %s', (_, records, title, state) => {
    const html = renderReport(healthOf(records), NOON)
    expect(new RegExp(`<span>${title}</span>\n<b>.*</b><span>(.*?)</span>`).exec(html)?.[1]).toBe(state)
  })

  it('the HTML report says "1 window", and not "1 windows"', () => {
    const health = healthOf([record('lock:acquired', 0)])
    expect(describeHealth(health)).toContain('1 event in 1 window of')
    expect(renderReport(health, NOON)).toContain('1 event, 1 acquire<')
  })

  it.each([0, 1])('the HTML report has text with enough contrast in theme %i', (theme) => {
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

describe('the page of an incident', () => {
  it('the page of an incident has all sections of its template', () => {
    const text = incidentMarkdown(incident, open)
    expect(text).toContain('# incident-20300101T1215Z: rollback required')
    expect(text).toContain('| Template | Incident-001 |')
    expect(text).toContain('| Since | 2030-01-01 12:15 UTC |')
    expect(text).toContain('| Acquires that failed for good | project | 40 % | 40 % | 5 % | 20 | 2 |')
    for (const title of ['What happened', 'Figures', 'Likely cause', 'What to do', 'How to roll back'])
      expect(text).toContain(`## ${title}`)
  })

  it('the page of an incident says when the incident ended', () => {
    const text = incidentMarkdown(closed, open)
    expect(text).toContain('# incident-20300101T1215Z: closed')
    expect(text).toContain('| Until | 2030-01-01 13:30 UTC |')
  })

  it.each([
    ['Web Locks are missing', [record('lock:acquired', WINDOW, { backend: 'fallback' })], 40],
    ['fallback file was corrupt', [record('lock:warning', WINDOW, { warning: 'fallback-corrupt' })], 1],
    ['Heartbeats were late', [record('lock:warning', WINDOW, { warning: 'heartbeat-delayed' })], 1],
    ['did not delete their file', [record('lock:cleanup-warning', WINDOW, { warning: 'cleanup' })], 1],
    ['Waits are long', [record('lock:acquired', WINDOW, { waitedMs: 9000 })], 40],
    ['These figures do not show one', [], 0],
  ] as const)('the page of an incident names a likely cause: %s', (cause, sign, times) => {
    const signs = Array.from({ length: times }, () => sign).flat()
    const health = healthOf([...acquires(1, 0, 20), ...signs])
    expect(health.incidents.map((one) => incidentMarkdown(one, health)).join()).toContain(cause)
  })
})

describe('the log of incidents', () => {
  const logged: LoggedIncident = { ...incident, told: { slack: 'opened' } }
  const over: LoggedIncident = { ...closed, told: { slack: 'closed' } }
  const at = (since: string, until: string | null = null) => ({
    ...incident,
    id: `incident-20300101T${since.replace(':', '')}Z`,
    since: `2030-01-01T${since}:00.000Z`,
    until: until && `2030-01-01T${until}:00.000Z`,
  })
  const quiet = (window: number) => healthOf(acquires(window, 40, 0))
  const LATER = NOON + 99 * WINDOW
  const spans = (incidents: readonly LoggedIncident[]) =>
    incidents.map(({ id, since, until, told }) => [
      id.slice(18, 22),
      since.slice(11, 16),
      until?.slice(11, 16),
      told,
    ])

  it.each([
    ['the windows of its start are gone', at('12:30'), '12:15'],
    ['late lines show an earlier start', at('11:45'), '11:45'],
  ])('the log of incidents finds a logged incident again when %s', (_, found, since) => {
    const matched = matchIncidents({ ...open, incidents: [found] }, [logged], LATER)
    expect(spans(matched)).toEqual([['1215', since, undefined, { slack: 'opened' }]])
  })

  it('the log of incidents opens a closed incident again when it touches a new one', () => {
    const matched = matchIncidents({ ...open, incidents: [at('13:30')] }, [over], LATER)
    expect(spans(matched)).toEqual([['1215', '12:15', undefined, { slack: 'closed' }]])
    expect(matched.map((one) => pendingAlert('slack', one))).toEqual(['opened'])
  })

  it('the log of incidents joins two incidents when late lines fill the gap, and continues the open one', () => {
    const second: LoggedIncident = { ...at('14:00'), told: { slack: 'opened' } }
    const matched = matchIncidents({ ...open, incidents: [at('12:15')] }, [over, second], LATER)
    expect(spans(matched)).toEqual([['1400', '12:15', undefined, { slack: 'opened' }]])
  })

  it('the log of incidents keeps an incident in one piece when late lines show a pause in it', () => {
    const matched = matchIncidents(
      { ...open, incidents: [at('12:15', '13:00'), at('14:00')] },
      [logged],
      LATER,
    )
    expect(spans(matched)).toEqual([['1215', '12:15', undefined, { slack: 'opened' }]])
  })

  it('the log of incidents does not confuse a new incident with an ended one', () => {
    const next = at('14:00')
    expect(matchIncidents({ ...open, incidents: [next] }, [over], LATER)).toEqual([{ ...next, told: {} }])
  })

  it('the log of incidents ends an incident that late lines took back, when it would have ended otherwise', () => {
    // Its last window out of bounds began at 12:30.
    expect(spans(matchIncidents(quiet(3), [logged], LATER))).toEqual([
      ['1215', '12:15', undefined, logged.told],
    ])
    expect(spans(matchIncidents(quiet(4), [logged], LATER))).toEqual([
      ['1215', '12:15', '13:15', logged.told],
    ])
  })

  it('the log of incidents keeps an open incident while nothing is known about the time since then', () => {
    expect(matchIncidents(quiet(-4), [logged], LATER)).toEqual([logged])
    expect(matchIncidents(healthOf([]), [logged], LATER)).toEqual([logged])
  })

  it('the log of incidents keeps an ended incident until its end was sent', () => {
    const unsent: LoggedIncident = { ...closed, told: { slack: 'opened', pagerduty: 'closed' } }
    expect(matchIncidents(quiet(40), [unsent, over], LATER)).toEqual([unsent])
  })

  it.each([
    ['it opened', null, undefined, 'opened'],
    ['it lasts', null, 'opened', undefined],
    ['it ended', closed.until, 'opened', 'closed'],
    ['the end was sent', closed.until, 'closed', undefined],
    ['it opened again', null, 'closed', 'opened'],
    ['it ended before the first run', closed.until, undefined, undefined],
  ] as const)('decides which alert is due: %s', (_, until, slack, alert) => {
    expect(pendingAlert('slack', { ...incident, until, told: slack ? { slack } : {} })).toBe(alert)
  })
})

describe('alerts', () => {
  it('alerts for PagerDuty trigger and resolve with the same key', () => {
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

  it('alerts for Slack have text and blocks', () => {
    expect(slackMessage(incident)).toMatchObject({
      text: 'Locks: rollback required',
      blocks: expect.any(Array),
    })
    expect(JSON.stringify(slackMessage(incident))).toContain('40 %')
  })
})

function healthOf(records: readonly TelemetryRecord[]) {
  const analysis = new Analysis()
  for (const one of records) analysis.add(one)
  return checkHealth(analysis)
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
