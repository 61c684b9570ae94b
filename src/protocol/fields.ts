import * as v from 'valibot'

/** ISO 8601, by the clock of the server's store: to show. To count down, take `expires_in_ms`. */
export const instant = v.string()
export const milliseconds = v.pipe(v.number(), v.integer(), v.minValue(0))
export const token = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
/** Of a browser tab, a process: whatever holds by itself. */
export const clientId = v.pipe(v.string(), v.regex(/^[\w-]{1,64}$/))
export const requestId = v.pipe(v.string(), v.minLength(1), v.maxLength(64))
export const success = v.object({ success: v.literal(true) })
