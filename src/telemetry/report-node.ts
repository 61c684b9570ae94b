/** Writes the report and the pages of incidents, sends alerts, and keeps a log of what was sent. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { expectText, type Known, refuseClient } from '../base/arguments.ts'
import { messageOf } from '../base/errors.ts'
import { randomId } from '../base/random-id.ts'
import { PAGERDUTY_URL, pagerDutyEvent, postJson, slackMessage } from './alerts.ts'
import { INCIDENT_ID, type Incident, type LockHealth } from './health.ts'
import { incidentMarkdown } from './incident-page.ts'
import { STREAMS } from './record.ts'
import { renderReport } from './report-page.ts'
import { checkScoreOptions, SCORE_OPTIONS, type ScoreOptions } from './score-node.ts'
import { RULE_NAMES } from './thresholds.ts'

export interface ReportOptions extends ScoreOptions {
  /** The folder for `report.html` and `alerts/<incident>.md`. Default `reports`. */
  readonly reports?: string
  /** The address of a Slack incoming webhook. */
  readonly slackUrl?: string
  /** The integration key of a PagerDuty service (Events API v2). */
  readonly pagerDutyKey?: string
  /** Default `https://events.pagerduty.com/v2/enqueue`. */
  readonly pagerDutyUrl?: string
}

export interface WrittenReport {
  readonly files: readonly string[]
  /** Alerts that were not delivered, and problems with the log. The next run sends the alerts again. */
  readonly failures: readonly string[]
}

export function checkReportOptions(options: ReportOptions): void {
  const known: Known<ReportOptions> = {
    ...SCORE_OPTIONS,
    reports: 1,
    slackUrl: 1,
    pagerDutyKey: 1,
    pagerDutyUrl: 1,
  }
  checkScoreOptions(options, known)
  const { reports, slackUrl, pagerDutyKey, pagerDutyUrl } = options
  if (reports !== undefined) expectText('reports', reports)
  for (const [option, url] of Object.entries({ slackUrl, pagerDutyUrl }))
    if (url !== undefined && (typeof url !== 'string' || !URL.canParse(url)))
      refuseClient(option, 'an absolute URL', url)
  if (pagerDutyKey !== undefined && typeof pagerDutyKey !== 'string')
    refuseClient('pagerDutyKey', 'a string', pagerDutyKey)
}

/** Writes `report.html`, one page per incident in `alerts/`, and the log `alerts/incidents.json`. */
export async function writeReport(
  health: LockHealth,
  options: ReportOptions,
  now: number,
): Promise<WrittenReport> {
  const directory = options.reports ?? 'reports'
  const alerts = join(directory, 'alerts')
  const logPath = join(alerts, 'incidents.json')
  await mkdir(alerts, { recursive: true })
  const failures: string[] = []
  const incidents = matchIncidents(health.incidents, await readLog(logPath, failures), now)
  const html = join(directory, 'report.html')
  await replaceFile(html, renderReport({ ...health, incidents }, now))
  const files = [html]
  for (const [index, incident] of incidents.entries()) {
    const path = join(alerts, `${incident.id}.md`)
    await replaceFile(path, incidentMarkdown(incident, health))
    files.push(path)
    incidents[index] = await sendAlerts(incident, options, failures)
    // After each incident, so that a later failure cannot cause a second alert.
    await replaceFile(logPath, JSON.stringify(incidents, null, 2))
  }
  return { files, failures }
}

async function sendAlerts(
  incident: LoggedIncident,
  options: ReportOptions,
  failures: string[],
): Promise<LoggedIncident> {
  let logged = incident
  for (const channel of ALERT_CHANNELS) {
    const alert = pendingAlert(channel, incident)
    const request = alert && requestFor(channel, incident, options)
    if (!request) continue
    try {
      await postJson(request.url, request.body)
      logged = { ...logged, told: { ...logged.told, [channel]: alert } }
    } catch (error) {
      failures.push(`${incident.id} was not sent to ${channel}: ${messageOf(error)}`)
    }
  }
  return logged
}

/** `undefined` if the options do not name this channel. */
function requestFor(
  channel: AlertChannel,
  incident: Incident,
  { slackUrl, pagerDutyKey, pagerDutyUrl = PAGERDUTY_URL }: ReportOptions,
): { readonly url: string; readonly body: object } | undefined {
  if (channel === 'slack') return slackUrl ? { url: slackUrl, body: slackMessage(incident) } : undefined
  return pagerDutyKey ? { url: pagerDutyUrl, body: pagerDutyEvent(incident, pagerDutyKey) } : undefined
}

/** A reader sees the old file or the new file, never a part of it. */
async function replaceFile(path: string, text: string): Promise<void> {
  const partial = `${path}.${randomId().slice(0, 8)}.part`
  await writeFile(partial, text)
  await rename(partial, path)
}

const ALERT_CHANNELS = ['slack', 'pagerduty'] as const
type AlertChannel = (typeof ALERT_CHANNELS)[number]

/** An incident and the last alert that each channel got. The log keeps it between runs. */
export interface LoggedIncident extends Incident {
  readonly told: Readonly<Partial<Record<AlertChannel, 'opened' | 'closed'>>>
}

const time = v.pipe(v.string(), v.isoTimestamp())
const span = { since: time, until: v.nullable(time) }
const firing = v.object({
  ...span,
  rule: v.picklist(RULE_NAMES),
  stream: v.picklist(STREAMS),
  severity: v.picklist(['rollback', 'warn']),
  bound: v.number(),
  value: v.number(),
  worst: v.number(),
  samples: v.number(),
  windows: v.array(time),
})
const lastAlert = v.exactOptional(v.picklist(['opened', 'closed']))
const loggedIncident: v.GenericSchema<unknown, LoggedIncident> = v.object({
  ...span,
  id: v.pipe(v.string(), v.regex(INCIDENT_ID)),
  firings: v.array(firing),
  told: v.object({ slack: lastAlert, pagerduty: lastAlert }),
})

async function readLog(path: string, failures: string[]): Promise<LoggedIncident[]> {
  const report = (problem: string) => failures.push(`${path}: ${problem}, so an alert may be sent again`)
  try {
    const entries: unknown = JSON.parse(await readFile(path, 'utf8'))
    if (!Array.isArray(entries)) throw new Error('this is not a list of incidents')
    // Another version, or a person, may have written the file.
    const valid = entries.filter((entry): entry is LoggedIncident => v.is(loggedIncident, entry))
    const skipped = entries.length - valid.length
    if (skipped > 0) report(`${skipped} of ${entries.length} entries are not incidents and were skipped`)
    return valid
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') report(messageOf(error))
    return []
  }
}

/**
 * Finds the incidents of earlier runs among those of this run. The windows of an incident's start may be gone, so two
 * incidents are the same if their times overlap. A logged incident that is open and not found has ended.
 */
export function matchIncidents(
  found: readonly Incident[],
  log: readonly LoggedIncident[],
  now: number,
): LoggedIncident[] {
  const matched = new Set<LoggedIncident>()
  const current = found.map((incident): LoggedIncident => {
    const known = log.find((logged) => !matched.has(logged) && isSame(logged, incident))
    if (!known) return { ...incident, told: {} }
    matched.add(known)
    return { ...incident, id: known.id, since: known.since, told: known.told }
  })
  const ended = log.filter((logged) => logged.until === null && !matched.has(logged))
  return [...ended.map((logged) => ({ ...logged, until: new Date(now).toISOString() })), ...current]
}

function isSame(logged: LoggedIncident, { since }: Incident): boolean {
  return logged.since <= since && (logged.until === null || since < logged.until)
}

/** The alert that a channel still has to get. An incident that was over before the first run causes no alert. */
export function pendingAlert(
  channel: AlertChannel,
  { until, told }: LoggedIncident,
): 'opened' | 'closed' | undefined {
  if (until === null) return told[channel] === undefined ? 'opened' : undefined
  return told[channel] === 'opened' ? 'closed' : undefined
}
