import type { Incident } from './incidents.ts'

export const CHANNELS = ['slack', 'pagerduty'] as const
export type Channel = (typeof CHANNELS)[number]

/** An incident, and what each channel was last told of it. It is remembered between runs. */
export interface LoggedIncident extends Incident {
  readonly told: Readonly<Partial<Record<Channel, 'opened' | 'closed'>>>
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
