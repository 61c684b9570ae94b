import * as v from 'valibot'
import { person } from './documents.ts'
import { instant, milliseconds, requestId, token } from './fields.ts'

const room = { room_id: v.string() }
const lock = { ...room, session_id: v.string(), locked_at: instant, token, holder: person }

/** What is told in a room's channel, by its plain name. */
export const documentEvents = {
  'document.locked': v.object({ ...lock, expires_at: instant, expires_in_ms: milliseconds }),
  'document.unlocked': v.object({ ...lock, reason: v.picklist(['released', 'expired', 'taken-over']) }),
  'document.saved': v.object({ ...room, session_id: v.string(), token, saved_at: instant }),
  /**
   * To the holder of `token`. `takeover`: save now, when the time is up it is replaced; saying yes ends the wait.
   * `request`: say yes or no.
   */
  'document.takeover-requested': v.object({
    ...room,
    request_id: requestId,
    kind: v.picklist(['takeover', 'request']),
    by: person,
    token,
    answer_within_ms: milliseconds,
  }),
  'document.takeover-answered': v.object({ ...room, request_id: requestId, granted: v.boolean() }),
  /** Who waits in line, the next one first. */
  'document.line': v.object({ ...room, line: v.array(person) }),
} as const

export type DocumentEventName = keyof typeof documentEvents
export type DocumentEvent<Name extends DocumentEventName> = v.InferOutput<(typeof documentEvents)[Name]>
