import type { LockError, ProjectLockEvent, ProjectLockLease } from '../project/index.ts'

export interface ProjectLockStatus {
  readonly status: 'free' | 'waiting' | 'held' | 'read-only'
  /** While the lock is held. */
  readonly lease: ProjectLockLease | null
  /** The last one; gone with the next grant. */
  readonly error: LockError | null
}

/** What the events of one scope have told so far. */
export interface Heard extends Omit<ProjectLockStatus, 'status'> {
  /** The ids of those that ask for the lock now: several may, and each ends for itself. */
  readonly asking: ReadonlySet<string>
  readonly isReadOnly: boolean
}

export const NOTHING_HEARD: Heard = { asking: new Set(), lease: null, error: null, isReadOnly: false }

export function statusOf({ asking, lease, error, isReadOnly }: Heard): ProjectLockStatus {
  if (lease) return { status: 'held', lease, error }
  if (asking.size > 0) return { status: 'waiting', lease, error }
  return { status: isReadOnly ? 'read-only' : 'free', lease, error }
}

export function hearEvent(heard: Heard, event: ProjectLockEvent): Heard {
  const { leaseId } = event
  const isHolders = heard.lease?.id === leaseId
  switch (event.type) {
    case 'lock:attempt':
      return event.operation === 'acquire' ? { ...heard, asking: new Set([...heard.asking, leaseId]) } : heard
    case 'lock:acquired':
      return { ...NOTHING_HEARD, asking: without(leaseId, heard), lease: event.lease }
    case 'lock:renewed':
      return isHolders ? { ...heard, lease: event.lease } : heard
    case 'lock:released':
      return { ...(isHolders ? NOTHING_HEARD : heard), asking: without(leaseId, heard) }
    case 'lock:error': {
      const { error, operation } = event
      // It was lost, or given up though its file is still there. What an executor threw ends in a release.
      const isOver = isHolders && operation !== 'execute'
      return { ...heard, asking: without(leaseId, heard), lease: isOver ? null : heard.lease, error }
    }
    case 'lock:readonly-entered':
      return heard.lease && !isHolders
        ? heard
        : { ...heard, lease: null, error: event.lastError, isReadOnly: true }
    default:
      return heard
  }
}

function without(leaseId: string, { asking }: Heard): ReadonlySet<string> {
  return new Set([...asking].filter((id) => id !== leaseId))
}
