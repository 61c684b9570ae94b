export {
  createDocumentLock,
  type DocumentLock,
  type DocumentLockOptions,
  type SavedDocument,
} from './document-lock.ts'
export {
  type DocumentHolder,
  type DocumentLockPhase,
  type DocumentLockState,
  type HandOverRequest,
  INITIAL_STATE,
  type Person,
} from './state.ts'
