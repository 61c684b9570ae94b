export { createDocumentLock } from './document-lock.ts'
export type {
  AcquireDocumentOptions,
  DocumentLock,
  DocumentLockOptions,
  SavedDocument,
} from './document-lock-types.ts'
export { type FollowedContent, followContent, NOT_LOADED, type SavedContent } from './follow-content.ts'
export {
  type Demand,
  type DocumentHolder,
  type DocumentLockPhase,
  type DocumentLockState,
  type HandOverRequest,
  INITIAL_STATE,
  type Person,
} from './lock-state.ts'
