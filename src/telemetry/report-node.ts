/** Writes the report and the pages of incidents, sends alerts, and keeps a log of what was sent. */

import { copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { type Checks, expectText, refuseClient } from '../base/arguments.ts'
import { systemClock } from '../base/clock.ts'
import { LeaseError, messageOf } from '../base/errors.ts'
import { randomId } from '../base/random-id.ts'
import { compareUtf8 } from '../base/utf8-order.ts'
import { createLeases } from '../core/index.ts'
import { fileStore } from '../stores/file/index.ts'
import { PAGERDUTY_URL, pagerDutyEvent, postJson, slackMessage } from './alerts.ts'
import { INCIDENT_ID, type Incident, isFinal, type LockHealth, lastEnd, overlap } from './health.ts'
import { incidentMarkdown } from './incident-page.ts'
import { type MonitorResult, reportBadInput, toJson } from './monitor-node.ts'
import { LOCK_WAIT_MS, type ReportOptions, WINDOW_MS } from './options.ts'
import { STREAMS } from './record.ts'
import { renderReport } from './report-page.ts'
import { checkScoreOptions, SCORE_CHECKS, scoreFiles } from './score-node.ts'
import { RULE_NAMES } from './thresholds.ts'

interface WrittenReport {
  readonly files: readonly string[]
  /** Alerts that were not delivered, and problems with the log. The next run sends the alerts again. */
  readonly failures: readonly string[]
}

/**
 * Writes the HTML report and the pages of incidents, and sends each alert to Slack and PagerDuty once.
 *
 * @example
 * const { exitCode } = await report({ directory: 'telemetry', reports: 'reports' })
 */
export async function report(options: ReportOptions = {}): Promise<MonitorResult> {
  checkScoreOptions(options, REPORT_CHECKS)
  return reportBadInput(async () => {
    const now = options.now ?? systemClock.now()
    const { health, skippedLines } = await scoreFiles(options, now)
    const alerts = join(options.reports ?? 'reports', 'alerts')
    await mkdir(alerts, { recursive: true })
    const { files, failures } = await withLock(alerts, (signal) => writeReport(health, options, now, signal))
    return {
      exitCode: failures.length > 0 ? 1 : 0,
      stdout: options.json ? toJson({ files, failures }) : `${files.join('\n')}\n`,
      stderr: skippedLines + failures.map((failure) => `${failure}\n`).join(''),
    }
  })
}

const REPORT_CHECKS: Checks<ReportOptions> = {
  ...SCORE_CHECKS,
  reports: expectText,
  slackUrl: expectUrl,
  pagerDutyKey(option, value) {
    if (typeof value !== 'string') refuseClient(option, 'a string', value)
  },
  pagerDutyUrl: expectUrl,
}

/** The address of a webhook is a secret, so no message shows it. */
function expectUrl(option: string, value: unknown): void {
  if (typeof value !== 'string' || !URL.canParse(value)) refuseClient(option, 'an absolute URL', value)
}

/** One run at a time reads the log, sends alerts and notes them, so that no alert is sent twice. */
async function withLock(
  alerts: string,
  work: (signal: AbortSignal) => Promise<WrittenReport>,
): Promise<WrittenReport> {
  await using store = fileStore(join(alerts, 'leases'))
  await using leases = createLeases(store, { owner: 'holdfast monitor report' })
  try {
    return await leases.withLease('report', (_, signal) => work(signal), { wait: LOCK_WAIT_MS })
  } catch (error) {
    if (!(error instanceof LeaseError) || !/^lease-/.test(error.code)) throw error
    return { files: [], failures: [`${alerts}: ${error.message}; the next run sends what this one did not`] }
  }
}

/** Writes `report.html`, one page per incident in `alerts/`, and the log `alerts/incidents.json`. */
async function writeReport(
  health: LockHealth,
  options: ReportOptions,
  now: number,
  signal: AbortSignal,
): Promise<WrittenReport> {
  const directory = options.reports ?? 'reports'
  const alerts = join(directory, 'alerts')
  const logPath = join(alerts, 'incidents.json')
  const failures: string[] = []
  const log = await readLog(logPath, failures)
  const incidents = matchIncidents(health, log, now)
  const html = join(directory, 'report.html')
  await replaceFile(html, renderReport({ ...health, incidents }, now))
  const files = [html]
  for (const incident of incidents) {
    const path = join(alerts, `${incident.id}.md`)
    // Otherwise this run knows nothing new about it, and may not have its figures any more.
    if (!log.includes(incident)) await replaceFile(path, incidentMarkdown(incident, health))
    files.push(path)
  }
  const saveLog = () => replaceFile(logPath, JSON.stringify(incidents, null, 2))
  await saveLog()
  for (const [index, incident] of incidents.entries())
    for (const recipient of RECIPIENTS) {
      const alert = pendingAlert(recipient, incident)
      const request = alert && requestFor(recipient, incident, options)
      if (!request) continue
      signal.throwIfAborted()
      try {
        await postJson(request.url, request.body)
      } catch (error) {
        failures.push(`${incident.id} was not sent to ${recipient}: ${messageOf(error)}`)
        continue
      }
      const { told } = incidents[index] ?? incident
      incidents[index] = { ...incident, told: { ...told, [recipient]: alert } }
      // At once, so that no later failure can cause a second alert.
      await saveLog()
    }
  return { files, failures }
}

/** `undefined` if the options do not name this recipient. */
function requestFor(
  recipient: Recipient,
  incident: Incident,
  { slackUrl, pagerDutyKey, pagerDutyUrl = PAGERDUTY_URL }: ReportOptions,
): { readonly url: string; readonly body: object } | undefined {
  if (recipient === 'slack') return slackUrl ? { url: slackUrl, body: slackMessage(incident) } : undefined
  return pagerDutyKey ? { url: pagerDutyUrl, body: pagerDutyEvent(incident, pagerDutyKey) } : undefined
}

/** A reader sees the old file or the new file, never a part of it. */
async function replaceFile(path: string, text: string): Promise<void> {
  const partial = `${path}.${randomId().slice(0, 8)}.part`
  await writeFile(partial, text)
  await rename(partial, path)
}

const RECIPIENTS = ['slack', 'pagerduty'] as const
type Recipient = (typeof RECIPIENTS)[number]

/** An incident and the last alert that each recipient got. The log keeps it between runs. */
export interface LoggedIncident extends Incident {
  readonly told: Readonly<Partial<Record<Recipient, 'opened' | 'closed'>>>
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

/** Another version, or a person, may have written the file. A copy of what cannot be used is kept. */
async function readLog(path: string, failures: string[]): Promise<LoggedIncident[]> {
  const onDamage = async (problem: string) => {
    const copy = path.replace('.json', '.damaged.json')
    await copyFile(path, copy)
    failures.push(`${path}: ${problem}, so an alert may be sent again; ${copy} is a copy`)
  }
  try {
    const entries: unknown = JSON.parse(await readFile(path, 'utf8'))
    if (!Array.isArray(entries)) throw new Error('this is not a list of incidents')
    const valid = entries.filter((entry): entry is LoggedIncident => v.is(loggedIncident, entry))
    const skipped = entries.length - valid.length
    if (skipped > 0)
      await onDamage(`${skipped} of ${entries.length} entries are not incidents and were skipped`)
    return valid
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') await onDamage(messageOf(error))
    return []
  }
}

/**
 * The state of each incident after this run, as far as all lines tell that are known now. Lines come late, so a run
 * may find an earlier start or a later end than the run before, or a gap that was filled. So incidents of this run
 * and of the log are the same if their times overlap, also through a third one. The id stays the one in the log: an
 * incident is never reported as over and as new at once.
 */
export function matchIncidents(
  health: LockHealth,
  log: readonly LoggedIncident[],
  now: number,
): LoggedIncident[] {
  let groups: (Incident | LoggedIncident)[][] = []
  for (const incident of [...log, ...health.incidents]) {
    const isTouched = (group: readonly Incident[]) => group.some((member) => overlap(member, incident))
    groups = [...groups.filter((group) => !isTouched(group)), [...groups.filter(isTouched).flat(), incident]]
  }
  return groups
    .flatMap((group) => {
      const logged = group.filter((member) => 'told' in member)
      const found = group.filter((member) => !('told' in member))
      return found.length > 0 ? joinIncidents(logged, found) : endUnfound(logged, health, now)
    })
    .toSorted((a, b) => compareUtf8(a.since, b.since))
}

function joinIncidents(logged: readonly LoggedIncident[], found: readonly Incident[]): LoggedIncident {
  // PagerDuty resolves an open incident by its id, so that one continues.
  const known = logged.find(({ until }) => until === null) ?? logged.at(-1)
  const since = [...logged, ...found].map((member) => member.since).toSorted()[0] ?? ''
  return {
    id: known?.id ?? found[0]?.id ?? '',
    since,
    until: lastEnd(found),
    firings: found.flatMap(({ firings }) => firings),
    told: known?.told ?? {},
  }
}

/**
 * Late lines took the incident back, or its windows are gone. It ends when it would have ended with good windows
 * since then, and only if there are later lines: a collection that stopped tells nothing.
 */
function endUnfound(
  logged: readonly LoggedIncident[],
  { windows, thresholds }: LockHealth,
  now: number,
): LoggedIncident[] {
  return logged.flatMap((incident) => {
    const { since, until, firings } = incident
    if (until !== null)
      return RECIPIENTS.some((recipient) => pendingAlert(recipient, incident)) ? incident : []
    const lastOut =
      firings
        .flatMap((one) => one.windows)
        .toSorted()
        .at(-1) ?? since
    const lastGood = Date.parse(lastOut) + thresholds.clear_after * WINDOW_MS
    const isOver = windows.some(
      ({ start, end }) => Date.parse(start) >= lastGood && isFinal(Date.parse(end), now),
    )
    return isOver ? { ...incident, until: new Date(lastGood + WINDOW_MS).toISOString() } : incident
  })
}

/** The alert that a recipient still has to get. An incident that was over before the first run causes no alert. */
export function pendingAlert(
  recipient: Recipient,
  { until, told }: LoggedIncident,
): 'opened' | 'closed' | undefined {
  const last = told[recipient]
  if (until === null) return last === 'opened' ? undefined : 'opened'
  return last === 'opened' ? 'closed' : undefined
}
