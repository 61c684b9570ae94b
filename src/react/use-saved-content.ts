import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import {
  type DocumentLock,
  type DraftCodec,
  type FollowContentOptions,
  type FollowedContent,
  followContent,
  NOT_LOADED,
  type SavedContent,
} from '../client/index.ts'
import { useRoomLock } from './use-document-lock.ts'

/**
 * What was last saved of a document: loaded after every grant, and whenever another tab has saved. What this page saves
 * itself is loaded when its turn has ended. Let the user write when `isLoaded` is true and the lock is held. With the
 * name of a room, it opens the lock by itself, on the server of the `<HoldfastProvider>`. Of the options, those of the
 * first render count. Throws `invalid-argument` for options that it does not know.
 *
 * @example
 * const { content, isLoaded } = useSavedContent<Minutes>('minutes-42')
 */
export function useSavedContent<T = unknown>(lock: DocumentLock | string | null): SavedContent<T | null>
export function useSavedContent<T>(
  lock: DocumentLock | string | null,
  options: FollowContentOptions<T> & { readonly codec: Pick<DraftCodec<T>, 'decode'> },
): SavedContent<T>
export function useSavedContent<T>(
  lock: DocumentLock | string | null,
  options?: FollowContentOptions<T>,
): SavedContent<T | null>
export function useSavedContent<T>(
  lockOrRoom: DocumentLock | string | null,
  options: FollowContentOptions<T> = {},
): SavedContent<T | null> {
  const isRoom = typeof lockOrRoom === 'string'
  const own = useRoomLock(isRoom ? lockOrRoom : null)
  const lock = isRoom ? own : lockOrRoom
  const { current: first } = useRef(options)
  const empty = useRef<SavedContent<T | null> | null>(null)
  empty.current ??= first.codec ? { ...NOT_LOADED, content: first.codec.decode(null) } : NOT_LOADED
  const none = empty.current
  const [opened, setOpened] = useState<Opened<T> | null>(null)
  // The first render after a change still has the content of the former lock.
  const followed = opened && opened.lock === lock ? opened.followed : undefined
  useEffect(() => {
    if (!lock) return
    const followed = followContent(lock, first)
    setOpened({ lock, followed })
    return () => {
      setOpened(null)
      void followed.close()
    }
  }, [lock, first])
  const subscribe = useCallback(
    (listener: () => void) => followed?.subscribe(listener) ?? (() => {}),
    [followed],
  )
  return useSyncExternalStore(
    subscribe,
    () => followed?.state ?? none,
    () => none,
  )
}

interface Opened<T> {
  readonly lock: DocumentLock
  readonly followed: FollowedContent<T | null>
}
