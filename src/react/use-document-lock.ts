import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { expectOptions } from '../base/arguments.ts'
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
 * The lock of a document while the component is mounted. It requests nothing by itself: call `lock.acquire()`.
 * A change of room, address or `idleAfter` creates a new lock and releases the earlier one. New headers, such as a new token, are
 * used from the next request on. Others see a new name at once.
 *
 * @example
 * const { state, lock } = useDocumentLock('minutes-42', { name: 'Mika' })
 * return <textarea readOnly={!state.held} onFocus={() => lock?.acquire()} />
 */
export function useDocumentLock(
  roomId: string,
  options: Pick<DocumentLockOptions, 'url' | 'name' | 'headers' | 'idleAfter'> = {},
): UseDocumentLock {
  expectOptions(options, { url: 1, name: 1, headers: 1, idleAfter: 1 })
  const { url, name, headers, idleAfter } = options
  const [opened, setOpened] = useState<{ readonly key: string; readonly lock: DocumentLock } | null>(null)
  const latestHeaders = useRef(headers)
  useEffect(() => {
    latestHeaders.current = headers
  }, [headers])
  // Most callers create a new object with the same address at each render.
  const address = url instanceof URL ? url.href : url
  // The first render after a change still has the lock of the former room, which must not be used for this one.
  const key = JSON.stringify([roomId, address])
  const lock = opened?.key === key ? opened.lock : null
  useEffect(() => {
    const currentHeaders = () => {
      const { current = {} } = latestHeaders
      return typeof current === 'function' ? current() : current
    }
    const created = createDocumentLock({ roomId, url: address, headers: currentHeaders, idleAfter })
    setOpened({ key, lock: created })
    return () => {
      setOpened(null)
      void created.close()
    }
  }, [key, roomId, address, idleAfter])
  useEffect(() => {
    // Another hook for the same room may have a name.
    if (name !== undefined) lock?.rename(name)
  }, [lock, name])
  const subscribe = useCallback((listener: () => void) => lock?.subscribe(listener) ?? (() => {}), [lock])
  const state = useSyncExternalStore(
    subscribe,
    () => lock?.state ?? INITIAL_STATE,
    () => INITIAL_STATE,
  )
  return { state, lock }
}
