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
export {
  type FollowContentOptions,
  type FollowedContent,
  followContent,
  NOT_LOADED,
  type SavedContent,
} from './follow-content.ts'
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
  HeadersOption,
} from './options.ts'
