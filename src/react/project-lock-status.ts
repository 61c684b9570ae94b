import type { LockError, ProjectLockEvent, ProjectLockLease } from '../project/index.ts'

export interface ProjectLockStatus {
  readonly status: 'free' | 'waiting' | 'held' | 'read-only'
  /** `null`: the lock is not held. */
  readonly lease: ProjectLockLease | null
  /** The last error; `null` after the next grant. */
  readonly error: LockError | null
}

/** What the events of one scope say about its lock. */
export interface LockState extends Omit<ProjectLockStatus, 'status'> {
  /** The ids of the requests under way. There may be several, and each ends independently. */
  readonly requests: ReadonlySet<string>
  readonly isReadOnly: boolean
}

export const INITIAL_LOCK_STATE: LockState = {
  requests: new Set(),
  lease: null,
  error: null,
  isReadOnly: false,
}

export function statusOf({ requests, lease, error, isReadOnly }: LockState): ProjectLockStatus {
  if (lease) return { status: 'held', lease, error }
  if (requests.size > 0) return { status: 'waiting', lease, error }
  return { status: isReadOnly ? 'read-only' : 'free', lease, error }
}

export function reduceLockEvent(state: LockState, event: ProjectLockEvent): LockState {
  const { leaseId } = event
  const isHolder = state.lease?.id === leaseId
  switch (event.type) {
    case 'lock:attempt':
      return event.operation === 'acquire'
        ? { ...state, requests: new Set([...state.requests, leaseId]) }
        : state
    case 'lock:acquired':
      return { ...INITIAL_LOCK_STATE, requests: without(leaseId, state), lease: event.lease }
    case 'lock:renewed':
      return isHolder ? { ...state, lease: event.lease } : state
    case 'lock:released':
      return { ...(isHolder ? INITIAL_LOCK_STATE : state), requests: without(leaseId, state) }
    case 'lock:error': {
      const { error, operation } = event
      // The lease was lost, or was released although its file is still there. After an executor's error, the release
      // follows as an event of its own.
      const isOver = isHolder && operation !== 'execute'
      return { ...state, requests: without(leaseId, state), lease: isOver ? null : state.lease, error }
    }
    case 'lock:readonly-entered':
      return state.lease && !isHolder
        ? state
        : { ...state, lease: null, error: event.lastError, isReadOnly: true }
    default:
      return state
  }
}

function without(leaseId: string, { requests }: LockState): ReadonlySet<string> {
  return new Set([...requests].filter((id) => id !== leaseId))
}
