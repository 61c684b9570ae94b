import { usageFailure } from './failure.ts'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `500ms`, `30s`, `5m`, `2h`, `1d`, or plain milliseconds. `what` names it in the error. */
export function parseDuration(text: string, what: string): number {
  const [, amount, unit = 'ms'] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim()) ?? []
  if (amount === undefined)
    throw usageFailure(`${what}: expected a duration such as 500ms, 30s or 5m, got ${JSON.stringify(text)}`)
  return Math.round(Number(amount) * (UNITS[unit] ?? 1))
}

/** At most two units: `850ms`, `21s`, `2m 10s`, `3h 5m`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`
  const seconds = Math.floor(ms / 1000)
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3600) return pair(seconds, 60, 'm', 1, 's')
  if (seconds < 86_400) return pair(seconds, 3600, 'h', 60, 'm')
  return pair(seconds, 86_400, 'd', 3600, 'h')
}

function pair(seconds: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((seconds % large) / small)
  return `${Math.floor(seconds / large)}${largeUnit}${rest ? ` ${rest}${smallUnit}` : ''}`
}
