import * as v from 'valibot'
import { INCIDENT_ID, type Incident } from './incidents.ts'
import { STREAMS } from './record.ts'
import { RULES, type RuleName } from './thresholds.ts'

export const CHANNELS = ['slack', 'pagerduty'] as const
export type Channel = (typeof CHANNELS)[number]

/** An incident, and what each channel was last told of it. It is remembered between runs. */
export interface LoggedIncident extends Incident {
  readonly told: Readonly<Partial<Record<Channel, 'opened' | 'closed'>>>
}

const time = v.pipe(v.string(), v.isoTimestamp())
const span = { since: time, until: v.nullable(time) }
const firing = v.object({
  ...span,
  rule: v.picklist(Object.keys(RULES) as RuleName[]),
  stream: v.picklist(STREAMS),
  severity: v.picklist(['rollback', 'warn']),
  bound: v.number(),
  value: v.number(),
  worst: v.number(),
  samples: v.number(),
  windows: v.array(time),
})
const news = v.exactOptional(v.picklist(['opened', 'closed']))
const loggedIncident: v.GenericSchema<unknown, LoggedIncident> = v.object({
  ...span,
  id: v.pipe(v.string(), v.regex(INCIDENT_ID)),
  firings: v.array(firing),
  told: v.object({ slack: news, pagerduty: news }),
})

/** Whether what was read can be one of this version's: another one may have written it, or a person. */
export function isLoggedIncident(value: unknown): value is LoggedIncident {
  return v.is(loggedIncident, value)
}

/**
 * Finds the incidents of earlier runs again. The windows in which one began may be gone by now: what overlaps
 * with it in time is the same incident. One that was open and is seen no more is over.
 */
export function recognize(
  found: readonly Incident[],
  log: readonly LoggedIncident[],
  now: number,
): LoggedIncident[] {
  const seen = new Set<LoggedIncident>()
  const recognized = found.map((incident): LoggedIncident => {
    const known = log.find((logged) => !seen.has(logged) && isSame(logged, incident))
    if (!known) return { ...incident, told: {} }
    seen.add(known)
    return { ...incident, id: known.id, since: known.since, told: known.told }
  })
  const vanished = log.filter((logged) => logged.until === null && !seen.has(logged))
  return [...vanished.map((logged) => ({ ...logged, until: new Date(now).toISOString() })), ...recognized]
}

function isSame(logged: LoggedIncident, { since }: Incident): boolean {
  return logged.since <= since && (logged.until === null || since < logged.until)
}

/** What a channel is yet to be told. Nobody is woken for what was over before it was seen. */
export function newsFor(channel: Channel, { until, told }: LoggedIncident): 'opened' | 'closed' | undefined {
  if (until === null) return told[channel] === undefined ? 'opened' : undefined
  return told[channel] === 'opened' ? 'closed' : undefined
}
