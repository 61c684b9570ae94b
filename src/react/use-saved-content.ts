import { useCallback, useEffect, useState, useSyncExternalStore } from 'react'
import {
  type DocumentLock,
  type FollowedContent,
  followContent,
  NOT_LOADED,
  type SavedContent,
} from '../client/index.ts'

/**
 * What was last saved of a document: loaded after every grant, and whenever another tab has saved. Let the user write
 * when `isLoaded` is true and the lock is held.
 *
 * @example
 * const { state, lock } = useDocumentLock('minutes-42')
 * const { content, isLoaded } = useSavedContent(lock)
 */
export function useSavedContent(lock: DocumentLock | null): SavedContent {
  const [followed, setFollowed] = useState<FollowedContent | null>(null)
  useEffect(() => {
    if (!lock) return
    const opened = followContent(lock)
    setFollowed(opened)
    return () => {
      setFollowed(null)
      void opened.close()
    }
  }, [lock])
  const subscribe = useCallback(
    (listener: () => void) => followed?.subscribe(listener) ?? (() => {}),
    [followed],
  )
  return useSyncExternalStore(
    subscribe,
    () => followed?.state ?? NOT_LOADED,
    () => NOT_LOADED,
  )
}
