import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  CHANNELS,
  type Channel,
  isLoggedIncident,
  type LoggedIncident,
  newsFor,
  recognize,
} from './incident-log.ts'
import { incidentMarkdown } from './incident-markdown.ts'
import type { Incident } from './incidents.ts'
import type { Verdict } from './judge.ts'
import type { ReportOptions } from './monitor-options.ts'
import { PAGERDUTY_URL, pagerDutyEvent, postJson, slackMessage } from './notify.ts'
import { renderReport } from './report-html.ts'

export interface WrittenReport {
  readonly files: readonly string[]
  /** Notifications that were not delivered; the next run tries them again. */
  readonly failures: readonly string[]
}

/** Writes `report.html`, one file an incident in `alerts/`, and what is remembered of them. */
export async function writeReport(
  verdict: Verdict,
  options: ReportOptions,
  now: number,
): Promise<WrittenReport> {
  const directory = options.reports ?? 'reports'
  const alerts = join(directory, 'alerts')
  const logPath = join(alerts, 'incidents.json')
  await mkdir(alerts, { recursive: true })
  const failures: string[] = []
  const incidents = recognize(verdict.incidents, await readLog(logPath, failures), now)
  const html = join(directory, 'report.html')
  await replaceFile(html, renderReport({ ...verdict, incidents }, now))
  const files = [html]
  for (const [index, incident] of incidents.entries()) {
    const path = join(alerts, `${incident.id}.md`)
    await replaceFile(path, incidentMarkdown(incident, verdict))
    files.push(path)
    for (const channel of CHANNELS) {
      const told = await tell(channel, incidents[index] ?? incident, options, failures)
      incidents[index] = told
    }
    await replaceFile(logPath, JSON.stringify(incidents, null, 2))
  }
  return { files, failures }
}

async function readLog(path: string, failures: string[]): Promise<LoggedIncident[]> {
  const complain = (problem: string) => failures.push(`${path}: ${problem}, so an incident may be told again`)
  try {
    const entries: unknown = JSON.parse(await readFile(path, 'utf8'))
    if (!Array.isArray(entries)) throw new Error('this is no list of incidents')
    const sound = entries.filter(isLoggedIncident)
    if (sound.length < entries.length)
      complain(`${entries.length - sound.length} of ${entries.length} entries are skipped as no incidents`)
    return sound
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') complain((error as Error).message)
    return []
  }
}

async function tell(
  channel: Channel,
  incident: LoggedIncident,
  options: ReportOptions,
  failures: string[],
): Promise<LoggedIncident> {
  const news = newsFor(channel, incident)
  const letter = news && letterTo(channel, incident, options)
  if (!letter) return incident
  try {
    await postJson(...letter)
    return { ...incident, told: { ...incident.told, [channel]: news } }
  } catch (error) {
    failures.push(`${channel} was not told of ${incident.id}: ${(error as Error).message}`)
    return incident
  }
}

function letterTo(
  channel: Channel,
  incident: Incident,
  { slackUrl, pagerDutyKey, pagerDutyUrl = PAGERDUTY_URL }: ReportOptions,
): [url: string, body: object] | undefined {
  if (channel === 'slack') return slackUrl ? [slackUrl, slackMessage(incident)] : undefined
  return pagerDutyKey ? [pagerDutyUrl, pagerDutyEvent(incident, pagerDutyKey)] : undefined
}

/** Whoever reads it sees the old file or the new one, never a part. */
async function replaceFile(path: string, text: string): Promise<void> {
  const half = `${path}.${crypto.randomUUID().slice(0, 8)}.part`
  await writeFile(half, text)
  await rename(half, path)
}
