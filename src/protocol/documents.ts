import * as v from 'valibot'
import {
  clientId,
  instant,
  milliseconds,
  personName,
  requestId,
  revision,
  sequence,
  success,
  token,
} from './fields.ts'
import { MAX_POSTPONE_MS, MAX_ROOMS, MIN_POSTPONE_MS } from './options.ts'

/** What everybody may see of a client. The ids that only the server knows are not part of it. */
const personal = {
  session_id: v.string(),
  client_id: v.exactOptional(v.string()),
  name: v.exactOptional(v.string()),
}
export const person = v.object(personal)

const held = { locked_at: instant, expires_at: instant, expires_in_ms: milliseconds }
/**
 * For the client that sent the request: how long a lock lives, how often to send a heartbeat, how long a holder may
 * take to save before a takeover and to answer a request, where to subscribe to the room (its channel and the key of
 * the WebSocket), and what others see of the client.
 */
const terms = {
  ttl_ms: milliseconds,
  heartbeat_ms: milliseconds,
  grace_ms: milliseconds,
  answer_within_ms: milliseconds,
  channel: v.string(),
  channel_key: v.string(),
  you: person,
}
const holder = v.object({ ...personal, is_you: v.boolean() })

/** The body of every request for a lock. It may be empty. */
export const lockAsk = v.object({ name: v.exactOptional(personName) })
/** The body of a heartbeat: the holder's name from now on; `null`: none. It may be empty, and the name stays. */
export const lockBeat = v.object({ name: v.exactOptional(v.nullable(personName)) })
/**
 * Somebody wants the lock of the holder. `passes`: the waiters who were in the queue before that client, the first of
 * them by name. Absent if there are none. `postponed_ms`: the additional time that the holder has asked for.
 */
export const handoffRequest = v.object({
  request_id: requestId,
  kind: v.picklist(['takeover', 'request']),
  by: person,
  passes: v.exactOptional(v.array(person)),
  answer_within_ms: milliseconds,
  postponed_ms: v.exactOptional(milliseconds),
})
/** For the holder only: the oldest request that is open and not answered. */
const asked = { request: v.exactOptional(handoffRequest) }
export const lockGranted = v.object({ ...success.entries, ...held, token, ...asked, ...terms })
export const lockRenewed = v.object({ ...success.entries, ...held, token, ...asked })
/** The time of the request is over, and the question to the holder still open. Ask again soon, or it ends. */
export const handoffPending = v.object({
  error: v.literal('handoff_pending'),
  message: v.string(),
  answer_within_ms: milliseconds,
  postponed_ms: v.exactOptional(milliseconds),
})
export const alreadyLocked = v.object({
  error: v.literal('already_locked'),
  message: v.string(),
  /** Absent if the lock is free but reserved for the first waiter. */
  locked_at: v.exactOptional(instant),
  expires_at: v.exactOptional(instant),
  expires_in_ms: v.exactOptional(milliseconds),
  holder: v.exactOptional(holder),
  /** How many waiters are ahead. The place is kept for a moment, so that the client may repeat the request. */
  place: v.nullable(v.number()),
  ...terms,
})
/** The first waiters, in their order, and how many there are. */
const queue = { waiting: v.array(person), waiting_count: v.number() }
export const lockState = v.union([
  v.object({ is_locked: v.literal(false), ...queue, ...terms }),
  v.object({ is_locked: v.literal(true), ...held, token, holder, ...asked, ...queue, ...terms }),
])

/** Rooms whose locks are read together, for the icons of a list. */
export const roomsQuery = v.object({ rooms: v.pipe(v.array(v.string()), v.maxLength(MAX_ROOMS)) })
const room = { room_id: v.string(), ...queue }
/** In the order of the query. */
export const roomLocks = v.object({
  locks: v.array(
    v.union([
      v.object({ ...room, is_locked: v.literal(false) }),
      v.object({ ...room, is_locked: v.literal(true), ...held, token, holder }),
    ]),
  ),
})

/** The body of `sendBeacon`, which cannot set a header. */
export const releaseBody = v.object({ client_id: v.exactOptional(clientId), token })
/** The holder hands over, declines, or asks for more time: the request stays open, and is shown again after it. */
export const handoffAnswer = v.union([
  v.object({ request_id: requestId, granted: v.boolean() }),
  v.object({
    request_id: requestId,
    postpone_ms: v.pipe(v.number(), v.integer(), v.minValue(MIN_POSTPONE_MS), v.maxValue(MAX_POSTPONE_MS)),
  }),
])

/** `token` is that of the last save. If nothing was saved, `revision` is 0 and all others are `null`. */
export const documentContent = v.object({
  content: v.unknown(),
  token: v.nullable(token),
  saved_at: v.nullable(instant),
  revision,
})
/**
 * A `sequence` that is lower than that of a stored save of the same grant is refused, so a request that the network
 * held back never replaces newer content. The same one again is a repeated request, and is answered as before.
 */
export const documentSave = v.object({ content: v.unknown(), token, sequence: v.exactOptional(sequence) })
/** `sequence` is that of the stored save. */
export const staleSave = v.object({ error: v.literal('stale_save'), message: v.string(), sequence })
/** `revision` is that of the stored content; 0: there is none. */
export const revisionMismatch = v.object({
  error: v.literal('revision_mismatch'),
  message: v.string(),
  revision,
})
export const documentSaved = v.object({ ...success.entries, token, saved_at: instant, revision })

export type HandoffRequest = v.InferOutput<typeof handoffRequest>
export type Person = v.InferOutput<typeof person>
export type LockGranted = v.InferOutput<typeof lockGranted>
export type LockRenewed = v.InferOutput<typeof lockRenewed>
export type LockState = v.InferOutput<typeof lockState>
export type AlreadyLocked = v.InferOutput<typeof alreadyLocked>
export type DocumentContent = v.InferOutput<typeof documentContent>
export type DocumentSaved = v.InferOutput<typeof documentSaved>
