import { parseDuration as parse } from '../base/duration.ts'
import { usageFailure } from './failure.ts'

/** `what` names it in the error. */
export function parseDuration(text: string, what: string): number {
  const ms = parse(text)
  if (ms === undefined)
    throw usageFailure(`${what}: expected a duration such as 500ms, 30s or 5m, got ${JSON.stringify(text)}`)
  return ms
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
