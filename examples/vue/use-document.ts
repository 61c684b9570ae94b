import { onScopeDispose, type ShallowRef, shallowRef } from 'vue'
import {
  createDocumentLock,
  createDraft,
  type DocumentLock,
  type DocumentLockOptions,
  type DocumentLockState,
  type Draft,
  type DraftState,
} from '../../src/client/index.ts'

export interface UseDocument {
  readonly lock: DocumentLock
  readonly lockState: ShallowRef<DocumentLockState>
  readonly draft: Draft<string>
  readonly draftState: ShallowRef<DraftState<string>>
}

/** The lock of a document, and what the user types in it, until the component is unmounted. */
export function useDocument(roomId: string, options?: DocumentLockOptions): UseDocument {
  const lock = createDocumentLock(roomId, options)
  const draft = createDraft(lock)
  const lockState = shallowRef(lock.state)
  const draftState = shallowRef(draft.state)
  lock.subscribe(() => {
    lockState.value = lock.state
  })
  draft.subscribe(() => {
    draftState.value = draft.state
  })
  onScopeDispose(async () => {
    await draft.close()
    await lock.close()
  })
  return { lock, lockState, draft, draftState }
}
