import * as v from 'valibot'
import { MAX_REQUEST_ID_LENGTH } from './options.ts'

/** ISO 8601, by the clock of the server's store. Only for display: use `expires_in_ms` to count down. */
export const instant = v.string()
export const milliseconds = v.pipe(v.number(), v.integer(), v.minValue(0))
export const token = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
/** Of a content. It rises with every save; 0: there is none. */
export const revision = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
/** Of a save. It rises within one grant, and its origin is up to the client. */
export const sequence = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
/** The id of a client, such as a browser tab or a process. */
export const clientId = v.pipe(v.string(), v.regex(/^[\w-]{1,64}$/))
/** The name that others see of a person. */
export const personName = v.pipe(v.string(), v.regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]{1,80}$/u))
export const requestId = v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_REQUEST_ID_LENGTH))
export const success = v.object({ success: v.literal(true) })
