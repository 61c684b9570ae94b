import { createProjectLocks } from './create.ts'
import type { ProjectLocks } from './types.ts'

export { createProjectLocks, type ProjectLocksOptions } from './create.ts'
export { LockError, type LockErrorCode } from './errors.ts'
export type * from './types.ts'

/** The default instance, made at the first call: a module must not look at the page when it is loaded. */
let shared: ProjectLocks | undefined

function defaultLocks(): ProjectLocks {
  shared ??= createProjectLocks()
  return shared
}

/**
 * Waits for the right to write `project/`: up to 10 s for the Web Lock, five attempts in all.
 *
 * @example
 * const lease = await acquireProjectLock()
 * try {
 *   await save(project)
 * } finally {
 *   await releaseProjectLock(lease)
 * }
 */
export const acquireProjectLock: ProjectLocks['acquireProjectLock'] = (...args) =>
  defaultLocks().acquireProjectLock(...args)

/** Beats now, beside the heartbeat. Resolves with the lease as it is then. */
export const renewProjectLock: ProjectLocks['renewProjectLock'] = (...args) =>
  defaultLocks().renewProjectLock(...args)

/** Ends the lease. Resolves also when the `.lock` could not be removed: that is told by events. */
export const releaseProjectLock: ProjectLocks['releaseProjectLock'] = (...args) =>
  defaultLocks().releaseProjectLock(...args)

/**
 * Acquires, executes, always releases.
 *
 * @example
 * await withProjectLock(async () => save(project), { scope: 'history' })
 */
export const withProjectLock: ProjectLocks['withProjectLock'] = (...args) =>
  defaultLocks().withProjectLock(...args)

/** Listens to every event of the default instance. Returns how to stop. */
export const subscribeLockEvents: ProjectLocks['subscribeLockEvents'] = (listener) =>
  defaultLocks().subscribeLockEvents(listener)

/** The same channel as `subscribeLockEvents`. */
export const projectLockEvents: ProjectLocks['projectLockEvents'] = { subscribe: subscribeLockEvents }

/** Whether this lease may write at this moment. */
export const holdsProjectLock: ProjectLocks['holdsProjectLock'] = (lease) =>
  defaultLocks().holdsProjectLock(lease)

/** Aborts when the lease was lost. */
export const projectLockSignal: ProjectLocks['projectLockSignal'] = (lease) =>
  defaultLocks().projectLockSignal(lease)
