/** How the values of a job are stored in its record, and how they are read again. Other programs write there too. */
import type { JsonValue } from '../base/records.ts'

/** With a time zone: without one, the same text means another time on every machine. */
const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/

/** Milliseconds since 1970. `null`: no time is stored. `NaN`: a value is stored, but it is not a time. */
export function parseTime(value: unknown): number | null {
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return ISO_8601.test(value) ? Date.parse(value) : Number.NaN
  if (value instanceof Date) return value.getTime()
  const { toMillis } = Object(value) as { readonly toMillis?: unknown }
  // A `Timestamp` of Firestore, written by another program.
  return typeof toMillis === 'function' ? Number(toMillis.call(value)) : Number.NaN
}

/** Rounded up, so that a lock never ends before the time that its holder was told. */
export function formatTime(ms: number | null): string | null {
  return ms === null ? null : new Date(Math.ceil(ms)).toISOString()
}

/** `null` for a text that is not JSON. */
export function parseJson(text: unknown): JsonValue {
  if (typeof text !== 'string') return null
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
