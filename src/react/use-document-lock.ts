import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { expectOptions } from '../base/arguments.ts'
import {
  createDocumentLock,
  type DocumentLock,
  type DocumentLockOptions,
  type DocumentLockState,
  INITIAL_STATE,
} from '../client/index.ts'
import { useServer } from './provider.tsx'

export interface UseDocumentLockOptions
  extends Pick<DocumentLockOptions, 'url' | 'name' | 'headers' | 'idleAfter' | 'presence'> {}

export interface UseDocumentLock {
  readonly state: DocumentLockState
  /** `null` until the component is mounted, and on a server. */
  readonly lock: DocumentLock | null
}

/**
 * The lock of a document while the component is mounted. It requests nothing by itself: call `lock.acquire()`.
 * A change of room, address, `idleAfter` or `presence` creates a new lock and releases the earlier one. New headers,
 * such as a new token, are used from the next request on. Others see a new name at once. What the options do not say, a
 * `<HoldfastProvider>` says. Throws `invalid-argument` for options that it does not know.
 *
 * @example
 * const { state, lock } = useDocumentLock('minutes-42', { name: 'Mika' })
 * return <textarea readOnly={!state.held} onFocus={() => lock?.acquire()} />
 */
export function useDocumentLock(roomId: string, options: UseDocumentLockOptions = {}): UseDocumentLock {
  expectOptions(options, { url: 1, name: 1, headers: 1, idleAfter: 1, presence: 1 })
  const lock = useRoomLock(roomId, options)
  return { state: useLockState(lock), lock }
}

/** `null`: no document, so no lock. */
export function useRoomLock(
  roomId: string | null,
  options: UseDocumentLockOptions = {},
): DocumentLock | null {
  const { url, name, headers } = useServer(options)
  const { idleAfter, presence } = options
  const [opened, setOpened] = useState<{ readonly key: string; readonly lock: DocumentLock } | null>(null)
  const latestHeaders = useRef(headers)
  const latestName = useRef(name)
  useEffect(() => {
    latestHeaders.current = headers
    latestName.current = name
  }, [headers, name])
  // Most callers create a new object with the same address at each render.
  const address = url instanceof URL ? url.href : url
  // The first render after a change still has the lock of the former room, which must not be used for this one.
  const key = JSON.stringify([roomId, address])
  const lock = opened?.key === key ? opened.lock : null
  useEffect(() => {
    if (roomId === null) return
    const currentHeaders = () => {
      const { current = {} } = latestHeaders
      return typeof current === 'function' ? current() : current
    }
    const created = createDocumentLock(roomId, {
      url: address,
      headers: currentHeaders,
      name: latestName.current,
      idleAfter,
      presence,
    })
    setOpened({ key, lock: created })
    return () => {
      setOpened(null)
      void created.close()
    }
  }, [key, roomId, address, idleAfter, presence])
  useEffect(() => {
    // Another hook for the same room may have a name.
    if (name !== undefined) lock?.rename(name)
  }, [lock, name])
  return lock
}

/** The state of a lock. The component renders again when it changes. */
export function useLockState(lock: DocumentLock | null): DocumentLockState {
  const subscribe = useCallback((listener: () => void) => lock?.subscribe(listener) ?? (() => {}), [lock])
  return useSyncExternalStore(
    subscribe,
    () => lock?.state ?? INITIAL_STATE,
    () => INITIAL_STATE,
  )
}
