/** With its zone: without one, the same text is another instant on every machine. */
const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/

/** Milliseconds since 1970; `null` where there is nothing, `NaN` where it cannot be understood. */
export function parseTime(value: unknown): number | null {
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return ISO_8601.test(value) ? Date.parse(value) : Number.NaN
  if (value instanceof Date) return value.getTime()
  const { toMillis } = Object(value) as { readonly toMillis?: unknown }
  // A `Timestamp` of Firestore, as other programs may have written it.
  return typeof toMillis === 'function' ? Number(toMillis.call(value)) : Number.NaN
}

/** Rounded up, so that a lock never ends before the time that its holder was told. */
export function formatTime(ms: number | null): string | null {
  return ms === null ? null : new Date(Math.ceil(ms)).toISOString()
}
