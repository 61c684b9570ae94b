import { useCallback, useEffect, useState, useSyncExternalStore } from 'react'
import { expectOptions, refuse } from '../base/arguments.ts'
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
 * A change of room, address or headers creates a new lock and releases the earlier one.
 *
 * @example
 * const { state, lock } = useDocumentLock('minutes-42', { name: 'Mika' })
 * return <textarea readOnly={state.phase !== 'held'} onFocus={() => lock?.acquire()} />
 */
export function useDocumentLock(
  roomId: string,
  options: Pick<DocumentLockOptions, 'url' | 'name' | 'headers'> = {},
): UseDocumentLock {
  expectOptions(options, { url: 1, name: 1, headers: 1 })
  const { url, name, headers } = options
  const [lock, setLock] = useState<DocumentLock | null>(null)
  // Most callers create new objects with the same address and headers at each render.
  const address = url instanceof URL ? url.href : url
  const headersJson = jsonOf(headers)
  useEffect(() => {
    const opened = createDocumentLock({ roomId, url: address, headers: JSON.parse(headersJson) })
    setLock(opened)
    return () => {
      setLock(null)
      void opened.close()
    }
  }, [roomId, address, headersJson])
  useEffect(() => lock?.rename(name), [lock, name])
  const subscribe = useCallback((listener: () => void) => lock?.subscribe(listener) ?? (() => {}), [lock])
  const state = useSyncExternalStore(
    subscribe,
    () => lock?.state ?? INITIAL_STATE,
    () => INITIAL_STATE,
  )
  return { state, lock }
}

function jsonOf(headers: unknown): string {
  try {
    return JSON.stringify(headers ?? {})
  } catch {
    refuse('headers', 'HTTP headers', headers)
  }
}
