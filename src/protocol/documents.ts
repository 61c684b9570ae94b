import * as v from 'valibot'
import { clientId, instant, milliseconds, requestId, success, token } from './fields.ts'

/** Somebody as all may see them: never the ids by which the server knows them. */
const personal = {
  session_id: v.string(),
  client_id: v.exactOptional(v.string()),
  name: v.exactOptional(v.string()),
}
export const person = v.object(personal)

const held = { locked_at: instant, expires_at: instant, expires_in_ms: milliseconds }
/**
 * To the caller: how long a lock lives and how often to beat, where to hear of the room (its channel and the key of
 * the WebSocket), and what others see of the caller.
 */
const terms = {
  ttl_ms: milliseconds,
  heartbeat_ms: milliseconds,
  channel: v.string(),
  channel_key: v.string(),
  you: person,
}
const holder = v.object({ ...personal, is_you: v.boolean() })

/** The body of all that asks for a lock; it may be empty. */
export const lockAsk = v.object({
  name: v.exactOptional(v.pipe(v.string(), v.regex(/^[^\p{Cc}]{1,80}$/u))),
})
export const lockGranted = v.object({ ...success.entries, ...held, token, ...terms })
export const lockRenewed = v.object({ ...success.entries, ...held, token })
export const alreadyLocked = v.object({
  error: v.literal('already_locked'),
  message: v.string(),
  /** Absent where the lock is free, but kept for the first in line. */
  locked_at: v.exactOptional(instant),
  expires_at: v.exactOptional(instant),
  expires_in_ms: v.exactOptional(milliseconds),
  holder: v.exactOptional(holder),
  /** How many stand before the caller; it keeps its place for a moment, to ask again. */
  place: v.nullable(v.number()),
  ...terms,
})
const line = v.array(person)
export const lockState = v.union([
  v.object({ is_locked: v.literal(false), waiting: line, ...terms }),
  v.object({ is_locked: v.literal(true), ...held, token, holder, waiting: line, ...terms }),
])

/** Of `sendBeacon`, which can set no header. */
export const releaseBody = v.object({ client_id: v.exactOptional(clientId), token })
export const handoverAnswer = v.object({ request_id: requestId, granted: v.boolean() })

/** `token` is that of the last save; `null` where nothing was saved. */
export const documentContent = v.object({
  content: v.unknown(),
  token: v.nullable(token),
  saved_at: v.nullable(instant),
})
export const documentSave = v.object({ content: v.unknown(), token })
export const documentSaved = v.object({ ...success.entries, token, saved_at: instant })

export type Person = v.InferOutput<typeof person>
export type LockGranted = v.InferOutput<typeof lockGranted>
export type LockRenewed = v.InferOutput<typeof lockRenewed>
export type LockState = v.InferOutput<typeof lockState>
export type AlreadyLocked = v.InferOutput<typeof alreadyLocked>
export type DocumentContent = v.InferOutput<typeof documentContent>
export type DocumentSaved = v.InferOutput<typeof documentSaved>
