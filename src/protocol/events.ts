import * as v from 'valibot'
import { handoffRequest, person } from './documents.ts'
import { instant, milliseconds, requestId, revision, token } from './fields.ts'

const room = { room_id: v.string() }
const lock = { ...room, session_id: v.string(), locked_at: instant, token, holder: person }

/** The events of a room's channel, by their plain names. */
export const documentEvents = {
  'document.locked': v.object({ ...lock, expires_at: instant, expires_in_ms: milliseconds }),
  /** The same lock lives longer. Sent to Holdfast's own client only, at most once in the time of a heartbeat. */
  'document.renewed': v.object({ ...lock, expires_at: instant, expires_in_ms: milliseconds }),
  'document.unlocked': v.object({ ...lock, reason: v.picklist(['released', 'expired', 'taken-over']) }),
  'document.saved': v.object({ ...room, session_id: v.string(), token, saved_at: instant, revision }),
  /** The content was deleted by this session. */
  'document.deleted': v.object({ ...room, session_id: v.string() }),
  /**
   * For the holder of `token`. `takeover`: save now. You are replaced when the time is over, or as soon as you agree.
   * `request`: agree or decline.
   */
  'document.takeover-requested': v.object({
    ...room,
    ...handoffRequest.entries,
    token,
  }),
  /** The holder has asked the one who wants the lock (`by`) for more time: `postponed_ms`. */
  'document.takeover-postponed': v.object({
    ...room,
    request_id: requestId,
    by: person,
    postponed_ms: milliseconds,
    answer_within_ms: milliseconds,
  }),
  /** Also sent if the request was withdrawn; then `granted` is false. */
  'document.takeover-answered': v.object({ ...room, request_id: requestId, granted: v.boolean() }),
  /** The first waiters for the lock, in their order, and how many there are. */
  'document.line': v.object({ ...room, line: v.array(person), waiting_count: v.number() }),
} as const

export type DocumentEventName = keyof typeof documentEvents
export type DocumentEvent<Name extends DocumentEventName> = v.InferOutput<(typeof documentEvents)[Name]>
