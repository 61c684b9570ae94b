/*
 * One tab writes a project's files. A facade of two managers, one on a Web Lock and one on `project/.lock`.
 * `acquire.ts` decides which one to ask, and when to try again. `claim.ts` is one lease from its first attempt on:
 * it turns the events of the core into those of the project lock. The id of a project lease is the core's `owner`,
 * because the core creates an id for each acquisition of a manager, and the file shows one id for all of them. Both
 * stores implement only the holding half of the port. A project lease shows neither token nor holder, so its Web
 * Lock needs no record and costs one request.
 */
import { createProjectLocks } from './project-locks.ts'
import type { ProjectLocks } from './types.ts'

export type { LockErrorCode } from '../base/errors.ts'
export type { ProjectRetry, RetryOptions, RetryPolicyConfig } from '../base/retry.ts'
export type {
  DirectorySource,
  WebDirectory,
  WebFile,
  WebLocks,
  WebWriter,
} from '../stores/browser/platform.ts'
export { LockError } from './errors.ts'
export type {
  AcquireLockOptions,
  AcquireProjectLockOptions,
  ProjectLocksOptions,
  ReleaseProjectLockOptions,
  RenewProjectLockOptions,
  WithProjectLockOptions,
} from './options.ts'
export { createProjectLocks } from './project-locks.ts'
export type * from './types.ts'

/** The default instance, created by the first call, because loading a module must not touch the page. */
let shared: ProjectLocks | undefined

function defaultLocks(): ProjectLocks {
  shared ??= createProjectLocks({ namespace: 'imgponic' })
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

/**
 * Renews now, in addition to the heartbeat. Resolves with the renewed lease.
 *
 * @example
 * const renewed = await renewProjectLock(lease)
 */
export const renewProjectLock: ProjectLocks['renewProjectLock'] = (...args) =>
  defaultLocks().renewProjectLock(...args)

/**
 * Ends the lease. Resolves even if the `.lock` could not be removed: events report that.
 *
 * @example
 * await releaseProjectLock(lease)
 */
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

/**
 * Listens to every event of the default instance. Returns a function that ends the subscription.
 *
 * @example
 * const stop = subscribeLockEvents((event) => console.log(event.type))
 */
export const subscribeLockEvents: ProjectLocks['subscribeLockEvents'] = (listener) =>
  defaultLocks().subscribeLockEvents(listener)

/** The same events, as an object with `subscribe`. */
export const projectLockEvents: ProjectLocks['projectLockEvents'] = { subscribe: subscribeLockEvents }

/**
 * Whether this lease may write now.
 *
 * @example
 * if (holdsProjectLock(lease)) await file.write(text)
 */
export const holdsProjectLock: ProjectLocks['holdsProjectLock'] = (lease) =>
  defaultLocks().holdsProjectLock(lease)

/**
 * Aborts when the lease is lost.
 *
 * @example
 * await save(project, { signal: projectLockSignal(lease) })
 */
export const projectLockSignal: ProjectLocks['projectLockSignal'] = (lease) =>
  defaultLocks().projectLockSignal(lease)
