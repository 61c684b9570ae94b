import { isWhole, refuse } from './arguments.ts'
import { MAX_TIMER_MS } from './clock.ts'
import { MAX_HEARTBEAT_PART, MIN_TTL_MS } from './options.ts'

/** Milliseconds, or text such as `'500ms'`, `'30s'`, `'1.5m'`, `'2h'`, `'1d'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * The milliseconds of a duration, for settings of your own. Text without a unit is milliseconds, too. Throws
 * `invalid-argument` if it is not a duration.
 *
 * @example
 * const idle = parseDuration(process.env.IDLE_AFTER ?? '5m')
 */
export function parseDuration(duration: Duration | string): number {
  const ms = millisOf(duration)
  return ms >= 0 ? ms : refuse('duration', "milliseconds, or text such as '30s'", duration)
}

/** The milliseconds of a number, or of a text with or without a unit; `NaN` if it is neither. */
export function millisOf(value: unknown): number {
  if (typeof value !== 'string') return typeof value === 'number' ? value : Number.NaN
  const [, amount, unit = ''] = /^([\d.]+)(ms|[smhd])?$/.exec(value.trim()) ?? []
  return Math.round(Number(amount) * (UNITS[unit] ?? 1))
}

/** For a message: whether somebody who wrote less than a second without a unit meant seconds; `undefined` for others. */
export function unitQuestion(value: unknown): string | undefined {
  const ms = typeof value === 'string' || typeof value === 'number' ? Number(value) : 0
  return ms > 0 && ms < 1000
    ? `${ms}, which is ${ms} ms; did you mean ${ms}s? If not, write ${ms}ms`
    : undefined
}

/** The milliseconds of a time option. Throws unless they are whole and from `min` to `max`. */
export function expectDuration(option: string, value: unknown, min: number, max = MAX_TIMER_MS): number {
  const ms = millisOf(value)
  if (isWhole(ms, min, max)) return ms
  refuse(option, `whole milliseconds from ${min} to ${max}, or text such as '30s'`, value)
}

/** The milliseconds of a lease's TTL. */
export function expectTtl(ttl: unknown): number {
  return expectDuration('ttl', ttl, MIN_TTL_MS)
}

/** The milliseconds between two heartbeats: at most nine tenths of the TTL. */
export function expectHeartbeat(heartbeat: unknown, ttlMs: number): number {
  return expectDuration('heartbeat', heartbeat, 1, Math.floor(ttlMs * MAX_HEARTBEAT_PART))
}
