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
  const [opened, setOpened] = useState<Opened | null>(null)
  // The first render after a change still has the content of the former lock.
  const followed = opened && opened.lock === lock ? opened.followed : undefined
  useEffect(() => {
    if (!lock) return
    const followed = followContent(lock)
    setOpened({ lock, followed })
    return () => {
      setOpened(null)
      void followed.close()
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

interface Opened {
  readonly lock: DocumentLock
  readonly followed: FollowedContent
}
