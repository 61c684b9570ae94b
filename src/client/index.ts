/*
 * The document lock of a tab.
 *
 *     document-lock.ts ─▶ room-lock.ts ─▶ holding.ts ─ keepLease ─▶ the core
 *     lock-requests.ts, socket.ts ─ answers, messages ─▶ lock-updates.ts ─▶ lock-state.ts ─▶ lock-view.ts ─▶ listeners
 *
 * Lock objects of one page share one `room-lock.ts` for each room. What shows the lock is there at once.
 * `holding.ts`, which acquires, keeps and gives up, its requests (`hold-requests.ts`) and the socket are loaded
 * right after it; until then the lock is read every 2 s. A call before that waits for them. A grant is kept by the
 * core's own lease, so heartbeat, deadline and loss are the same as everywhere. Answers and messages become actions
 * of a pure reducer. An older answer never wins over a newer message. What nobody pushes (another holder's
 * heartbeats) is read again in time.
 *
 * The first answer contains the channel and its key, so a page needs no settings of the server. It also brings the
 * session's cookie. Until then tabs send one request after the other, because each request without a cookie would
 * get its own session, and a lock belongs to a session. `follow-content.ts` loads what is saved after every grant,
 * save and gap. `handoff-requests.ts`, `idle-holder.ts` (a holder without input) and `presence.ts` (the people in
 * view) are loaded with `holding.ts`.
 */

export { createDocumentLock } from './document-lock.ts'
export type {
  DocumentLock,
  SavedDocument,
} from './document-lock-types.ts'
export { type DraftCodec, jsonCodec, textCodec } from './draft/codecs.ts'
export { createDraft } from './draft/draft.ts'
export type { Draft, DraftState, DraftStatus } from './draft/draft-types.ts'
export { mergeJson } from './draft/merge-json.ts'
export { type Merged, mergeText } from './draft/merge-text.ts'
export type { DraftOptions } from './draft/options.ts'
export { type FollowedContent, followContent, NOT_LOADED, type SavedContent } from './follow-content.ts'
export {
  type Demand,
  type DocumentHolder,
  type DocumentLockPhase,
  type DocumentLockState,
  type HandoffRequest,
  type IdleHolder,
  INITIAL_STATE,
  type Participant,
  type Person,
} from './lock-state.ts'
export type {
  AcquireDocumentOptions,
  DocumentLockOptions,
  DocumentLockRoomOptions,
  FollowContentOptions,
  HeadersOption,
} from './options.ts'
