import { useCallback, useEffect, useReducer, useRef } from 'react'
import type {
  AcquireProjectLockOptions,
  LockError,
  LockScope,
  ProjectLockEvent,
  ProjectLockLease,
  ProjectLocks,
} from '../project/index.ts'

export interface ProjectLockStatus {
  readonly status: 'free' | 'waiting' | 'held' | 'read-only'
  /** While the lock is held. */
  readonly lease: ProjectLockLease | null
  /** The last one; gone with the next grant. */
  readonly error: LockError | null
}

export interface UseProjectLock extends ProjectLockStatus {
  /** Resolves with `null` when the lock cannot be had: `error` says why. */
  acquire(options?: Omit<AcquireProjectLockOptions, 'scope'>): Promise<ProjectLockLease | null>
  /** Ends the lease that `acquire` took; also done when the component goes. */
  release(): Promise<void>
}

const FREE: ProjectLockStatus = { status: 'free', lease: null, error: null }

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
  const [state, hear] = useReducer(reduce, FREE)
  const mine = useRef<ProjectLockLease | null>(null)

  const release = useCallback(async () => {
    const lease = mine.current
    mine.current = null
    if (lease) await locks.releaseProjectLock(lease)
  }, [locks])

  const acquire = useCallback<UseProjectLock['acquire']>(
    async (options) => {
      try {
        mine.current = await locks.acquireProjectLock({ ...options, scope })
      } catch {
        return null
      }
      return mine.current
    },
    [locks, scope],
  )

  useEffect(() => {
    const stop = locks.subscribeLockEvents((event) => {
      if (event.scope === scope) hear(event)
    })
    return () => {
      stop()
      void release()
    }
  }, [locks, scope, release])

  return { ...state, acquire, release }
}

function reduce(state: ProjectLockStatus, event: ProjectLockEvent): ProjectLockStatus {
  switch (event.type) {
    case 'lock:attempt':
      return state.status === 'held' || event.operation === 'renew' ? state : { ...state, status: 'waiting' }
    case 'lock:acquired':
      return { status: 'held', lease: event.lease, error: null }
    case 'lock:renewed':
      return state.lease?.id === event.leaseId ? { ...state, lease: event.lease } : state
    case 'lock:released':
      return state.lease?.id === event.leaseId ? FREE : state
    case 'lock:error':
      return { ...state, error: event.error }
    case 'lock:readonly-entered':
      return { status: 'read-only', lease: null, error: event.lastError }
    default:
      return state
  }
}
