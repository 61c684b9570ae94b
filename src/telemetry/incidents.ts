import type { Firing } from './judge.ts'

/** A time in which a rollback was called for, by one rule or several that overlap. */
export interface Incident {
  /** From its start, so that the same incident has the same name in every run. */
  readonly id: string
  readonly since: string
  /** `null` while it lasts. */
  readonly until: string | null
  readonly firings: readonly Firing[]
}

export function findIncidents(firings: readonly Firing[]): Incident[] {
  const incidents: Incident[] = []
  for (const firing of firings.toSorted((a, b) => a.since.localeCompare(b.since))) {
    const last = incidents.at(-1)
    if (last && (last.until === null || firing.since <= last.until))
      incidents[incidents.length - 1] = join(last, firing)
    else
      incidents.push({ id: idOf(firing.since), since: firing.since, until: firing.until, firings: [firing] })
  }
  return incidents
}

function join(incident: Incident, firing: Firing): Incident {
  const ends = [incident.until, firing.until]
  return {
    ...incident,
    until: ends.includes(null) ? null : (ends.toSorted().at(-1) ?? null),
    firings: [...incident.firings, firing],
  }
}

/** `incident-20300101T0015Z`; a file is named so. */
export const INCIDENT_ID = /^incident-\d{8}T\d{4}Z$/

function idOf(since: string): string {
  return `incident-${since.slice(0, 16).replaceAll(/[-:]/g, '')}Z`
}
