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
        // Of a wait that was aborted there is no event.
        hear({ type: 'gave-up' })
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

  return { ...state, acquire, release }
}

type Action = ProjectLockEvent | { readonly type: 'gave-up' | 'left' }

function reduce(state: ProjectLockStatus, event: Action): ProjectLockStatus {
  switch (event.type) {
    case 'left':
      return FREE
    case 'gave-up':
      return state.status === 'waiting' ? FREE : state
    case 'lock:attempt':
      return state.status === 'held' || event.operation === 'renew' ? state : { ...state, status: 'waiting' }
    case 'lock:acquired':
      return { status: 'held', lease: event.lease, error: null }
    case 'lock:renewed':
      return isHeldBy(event, state) ? { ...state, lease: event.lease } : state
    case 'lock:released':
      return isHeldBy(event, state) ? FREE : state
    case 'lock:error': {
      const { error, operation } = event
      // It was lost, or given up though its file is still there. What an executor threw ends in a release.
      const isOver = isHeldBy(event, state) && operation !== 'execute'
      return isOver ? { status: 'free', lease: null, error } : { ...state, error }
    }
    case 'lock:readonly-entered': {
      const isAnothers = state.lease !== null && !isHeldBy(event, state)
      return isAnothers ? state : { status: 'read-only', lease: null, error: event.lastError }
    }
    default:
      return state
  }
}

function isHeldBy({ leaseId }: ProjectLockEvent, { lease }: ProjectLockStatus): boolean {
  return lease?.id === leaseId
}
