import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import {
  createDraft,
  type DocumentLock,
  type Draft,
  type DraftCodec,
  type DraftOptions,
  type DraftState,
  textCodec,
} from '../client/index.ts'
import { useRoomLock } from './use-document-lock.ts'

export interface UseDraft<T> {
  /** What to show. The component renders again when it changes. */
  readonly state: DraftState<T>
  /** For `edit`, `takeMine` and the other calls; `null` without a lock, and until the component is mounted. */
  readonly draft: Draft<T> | null
  /** The lock that was given, or that of the room; `null` until the component is mounted. */
  readonly lock: DocumentLock | null
}

/**
 * What the user types in a document: loaded, saved by itself, kept while it is not saved, merged with what others have
 * saved. It saves before the lock is released. Another lock has another draft. Of the options, those of the first
 * render count. With the name of a room, it opens the lock by itself, on the server of the `<HoldfastProvider>`.
 * Throws `invalid-argument` for options that it does not know.
 *
 * @example
 * const { state, draft, lock } = useDraft('minutes-42')
 * return <textarea readOnly={!state.isWritable} value={state.content} onChange={(e) => draft?.edit(e.target.value)} />
 */
export function useDraft(lock: DocumentLock | string | null, options?: DraftOptions<string>): UseDraft<string>
export function useDraft<T>(
  lock: DocumentLock | string | null,
  options: DraftOptions<T> & { readonly codec: DraftCodec<T> },
): UseDraft<T>
export function useDraft<T>(
  lockOrRoom: DocumentLock | string | null,
  options: DraftOptions<T> = {},
): UseDraft<T> {
  const isRoom = typeof lockOrRoom === 'string'
  const own = useRoomLock(isRoom ? lockOrRoom : null)
  const lock = isRoom ? own : lockOrRoom
  const { codec = textCodec as unknown as DraftCodec<T> } = options
  const { current: first } = useRef({ ...options, codec })
  const [opened, setOpened] = useState<Opened<T> | null>(null)
  const empty = useRef<DraftState<T> | null>(null)
  empty.current ??= emptyState(first.codec)
  useEffect(() => {
    if (!lock) return
    const draft = createDraft<T>(lock, first)
    setOpened({ lock, draft })
    return () => {
      setOpened(null)
      void draft.close()
    }
  }, [lock, first])
  // In the first render with another lock, the draft of the former one must not be used.
  const draft = opened && opened.lock === lock ? opened.draft : null
  const subscribe = useCallback((listener: () => void) => draft?.subscribe(listener) ?? (() => {}), [draft])
  const none = empty.current
  const state = useSyncExternalStore(
    subscribe,
    () => draft?.state ?? none,
    () => none,
  )
  return { state, draft, lock }
}

interface Opened<T> {
  readonly lock: DocumentLock
  readonly draft: Draft<T>
}

function emptyState<T>(codec: DraftCodec<T>): DraftState<T> {
  const content = codec.decode(null)
  return {
    status: 'loading',
    content,
    version: 0,
    isWritable: false,
    isUnsaved: false,
    stored: content,
    savedAt: null,
    isOutdated: false,
    theirs: null,
    dropped: null,
    error: null,
  }
}
