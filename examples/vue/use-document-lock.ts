import { onScopeDispose, type ShallowRef, shallowRef } from 'vue'
import {
  createDocumentLock,
  type DocumentLock,
  type DocumentLockOptions,
  type DocumentLockState,
  followContent,
  type SavedContent,
} from '../../src/client/index.ts'

export interface UseDocumentLock {
  readonly lock: DocumentLock
  readonly state: ShallowRef<DocumentLockState>
  readonly saved: ShallowRef<SavedContent>
}

/** The lock of a document, and what was last saved of it, until the component is unmounted. */
export function useDocumentLock(options: DocumentLockOptions): UseDocumentLock {
  const lock = createDocumentLock(options)
  const content = followContent(lock)
  const state = shallowRef(lock.state)
  const saved = shallowRef(content.state)
  lock.subscribe(() => {
    state.value = lock.state
  })
  content.subscribe(() => {
    saved.value = content.state
  })
  onScopeDispose(() => {
    void content.close()
    void lock.close()
  })
  return { lock, state, saved }
}
