import { useCallback, useEffect, useReducer, useRef } from 'react'
import type {
  AcquireProjectLockOptions,
  LockScope,
  ProjectLockEvent,
  ProjectLockLease,
  ProjectLocks,
} from '../project/index.ts'
import {
  type Heard,
  hearEvent,
  NOTHING_HEARD,
  type ProjectLockStatus,
  statusOf,
} from './project-lock-status.ts'

export interface UseProjectLock extends ProjectLockStatus {
  /** Resolves with `null` when the lock cannot be had: `error` says why. */
  acquire(options?: Omit<AcquireProjectLockOptions, 'scope'>): Promise<ProjectLockLease | null>
  /** Ends the lease that `acquire` took; also done when the component goes. */
  release(): Promise<void>
}

/**
 * What becomes of the project lock, whoever in this tab asks for it.
 *
 * @example
 * const { status, acquire, release } = useProjectLock(locks)
 * return <button onClick={status === 'held' ? release : () => acquire()}>{status}</button>
 */
export function useProjectLock(
  locks: Pick<ProjectLocks, 'acquireProjectLock' | 'releaseProjectLock' | 'subscribeLockEvents'>,
  { scope = 'autosave' }: { readonly scope?: LockScope } = {},
): UseProjectLock {
  const [heard, hear] = useReducer(reduce, NOTHING_HEARD)
  const mine = useRef<ProjectLockLease | null>(null)
  /** Aborts when the component goes, or asks for another lock. */
  const leaving = useRef(new AbortController())

  const release = useCallback(async () => {
    const lease = mine.current
    mine.current = null
    if (lease) await locks.releaseProjectLock(lease)
  }, [locks])

  const acquire = useCallback<UseProjectLock['acquire']>(
    async ({ signal, ...options } = {}) => {
      const left = leaving.current.signal
      try {
        const either = signal ? AbortSignal.any([signal, left]) : left
        const lease = await locks.acquireProjectLock({ ...options, scope, signal: either })
        if (!left.aborted) {
          mine.current = lease
          return lease
        }
        // The grant has crossed our leaving.
        await locks.releaseProjectLock(lease)
      } catch {
        // An event has told it.
      }
      return null
    },
    [locks, scope],
  )

  useEffect(() => {
    if (leaving.current.signal.aborted) leaving.current = new AbortController()
    const stop = locks.subscribeLockEvents((event) => {
      if (event.scope === scope) hear(event)
    })
    return () => {
      stop()
      leaving.current.abort()
      hear({ type: 'left' })
      void release()
    }
  }, [locks, scope, release])

  return { ...statusOf(heard), acquire, release }
}

function reduce(heard: Heard, event: ProjectLockEvent | { readonly type: 'left' }): Heard {
  return event.type === 'left' ? NOTHING_HEARD : hearEvent(heard, event)
}
