import { useCallback, useEffect, useState, useSyncExternalStore } from 'react'
import {
  createDocumentLock,
  type DocumentLock,
  type DocumentLockOptions,
  type DocumentLockState,
  INITIAL_STATE,
} from '../client/index.ts'

export interface UseDocumentLock {
  readonly state: DocumentLockState
  /** `null` until the component is mounted, and on a server. */
  readonly lock: DocumentLock | null
}

/**
 * The lock of a document while the component is mounted. It asks for nothing by itself: call `lock.acquire()`.
 * Another room, address or header is another lock; the earlier one is given back.
 *
 * @example
 * const { state, lock } = useDocumentLock('minutes-42', { name: 'Mika' })
 * return <textarea readOnly={state.phase !== 'held'} onFocus={() => lock?.acquire()} />
 */
export function useDocumentLock(
  roomId: string,
  { url, name, headers }: Pick<DocumentLockOptions, 'url' | 'name' | 'headers'> = {},
): UseDocumentLock {
  const [lock, setLock] = useState<DocumentLock | null>(null)
  // Most callers write a new object with the same headers each time they render.
  const sent = JSON.stringify(headers ?? {})
  useEffect(() => {
    const opened = createDocumentLock({
      roomId,
      headers: JSON.parse(sent),
      ...(url !== undefined && { url }),
    })
    setLock(opened)
    return () => {
      setLock(null)
      void opened.close()
    }
  }, [roomId, url, sent])
  useEffect(() => lock?.rename(name), [lock, name])
  const subscribe = useCallback((listener: () => void) => lock?.subscribe(listener) ?? (() => {}), [lock])
  const state = useSyncExternalStore(
    subscribe,
    () => lock?.state ?? INITIAL_STATE,
    () => INITIAL_STATE,
  )
  return { state, lock }
}
