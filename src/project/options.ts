/** The options of the project lock, their defaults, limits and checks, and the numbers that it is tuned with. */
import {
  type Checks,
  checkEach,
  expectBoolean,
  expectFunction,
  expectMethods,
  expectOneOf,
  expectSignal,
  hasMethods,
  refuse,
} from '../base/arguments.ts'
import { type Clock, expectClock } from '../base/clock.ts'
import type { Duration } from '../base/duration.ts'
import { type Pauses, type ProjectRetry, type RetryPolicyConfig, retryCheck } from '../base/retry.ts'
import { checkTakeover } from '../stores/browser/frozen-tabs.ts'
import { TAKEOVER_MS } from '../stores/browser/options.ts'
import type { DirectorySource, WebLocks } from '../stores/browser/platform.ts'
import { workerClock } from '../worker-clock/index.ts'
import { SCOPES } from './project-lease.ts'
import type { LockScope } from './types.ts'

export const TTL_MS = 30_000
export const HEARTBEAT_MS = 10_000
/** The time limit of one attempt to get the Web Lock. */
export const WEB_LOCK_WAIT_MS = 10_000
/** A file that takes longer to answer causes a warning. */
export const SLOW_FALLBACK_MS = 1000
/** How often the removal of a `.lock` is tried. */
export const MAX_REMOVALS = 3
/** How often a waiting tab reads a `.lock`, which cannot wake it. */
export const STANDBY_POLL_MS = 2000

const DEFAULT_RETRY: RetryPolicyConfig = {
  initialDelayMs: 500,
  maxDelayMs: 4000,
  multiplier: 2,
  maxAttempts: 5,
}

/** Checks `retry`. What it leaves out has the defaults of the project lock. */
export const checkRetry = retryCheck(DEFAULT_RETRY)

/** Milliseconds to wait after attempt number `attempt`, counted from 1; `null`: it was the last attempt. */
export const delayAfter = checkRetry('retry', {})

export interface ProjectLocksOptions {
  /** The first part of the names of the Web Locks: `${namespace}:project:${scope}`. */
  readonly namespace: string
  /** `null`: no Web Locks, only the fallback. Default: `navigator.locks`. */
  readonly locks?: WebLocks | null | undefined
  /** The directory that contains `project/`, which is created if necessary. Default: the origin's private directory (OPFS). */
  readonly directory?: DirectorySource | undefined
  /**
   * A tab that holds a Web Lock and does not answer for this long is frozen: a waiting tab takes the lock. At least 5 s.
   * `false`: the lock ends only with its tab, as the browser does it. Default 30 s.
   */
  readonly takeoverAfter?: Duration | false | undefined
  /** Default: `workerClock()`, whose timers are also on time in hidden pages. */
  readonly clock?: Clock | undefined
  /** Fires `pageshow` and `resume` when the page comes back. Default: the window. */
  readonly page?: Pick<EventTarget, 'addEventListener'> | undefined
}

const CHECKS: Checks<ProjectLocksOptions> = {
  namespace(option, value) {
    if (typeof value !== 'string' || !/^[^-]/.test(value)) refuse(option, 'a name without a leading -', value)
  },
  locks(option, value) {
    if (value !== null) expectMethods(option, value, 'a LockManager or null', 'request', 'query')
  },
  directory(option, value) {
    if (typeof value !== 'function' && !hasMethods(value, 'getDirectoryHandle'))
      refuse(option, 'a directory handle or a function', value)
  },
  takeoverAfter: checkTakeover,
  clock: expectClock,
  page: (option, value) => expectMethods(option, value, 'an EventTarget', 'addEventListener'),
}

/** What `checkEach` returns: the options that are set, with times in milliseconds. */
type CheckedOptions = Pick<ProjectLocksOptions, 'namespace' | 'directory'> & {
  readonly locks?: WebLocks | null
  readonly takeoverAfter?: number | false
  readonly clock?: Clock
  readonly page?: Pick<EventTarget, 'addEventListener'>
}

/** Every default filled in and every value checked. Times in milliseconds. */
export function checkOptions(options: ProjectLocksOptions) {
  const checked = checkEach(options, CHECKS) as CheckedOptions
  CHECKS.namespace('namespace', checked.namespace)
  const { clock = workerClock() } = checked
  const defaults = {
    locks: globalThis.navigator?.locks,
    takeoverAfter: TAKEOVER_MS,
    page: globalThis.window,
  }
  return { ...defaults, ...checked, clock }
}

/** The options of one acquisition, with every default filled in and every value checked. */
export interface AcquireRequest {
  readonly scope: LockScope
  readonly signal: AbortSignal
  readonly retry: Pauses
  readonly standby: boolean
  readonly steal: boolean
  readonly onWaiting?: () => void
}

const ACQUIRE_CHECKS: Checks<AcquireProjectLockOptions> = {
  scope: (option, value) => expectOneOf(option, value, SCOPES),
  signal: expectSignal,
  retry: checkRetry,
  standby: expectBoolean,
  steal: expectBoolean,
  onWaiting: expectFunction,
}

export function checkAcquireOptions(options: AcquireProjectLockOptions = {}): AcquireRequest {
  return {
    scope: 'autosave',
    signal: new AbortController().signal,
    retry: delayAfter,
    standby: false,
    steal: false,
    ...checkEach(options, ACQUIRE_CHECKS),
  }
}

export interface AcquireLockOptions {
  /** Default `autosave`. */
  readonly scope?: LockScope | undefined
  /** Ends the wait: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Default `{ initialDelayMs: 500, multiplier: 2, maxDelayMs: 4000, maxAttempts: 5 }`. A function works, too. */
  readonly retry?: ProjectRetry | undefined
  /**
   * Called when the lock is not granted at once: another tab holds it, or an attempt failed. Not called while the
   * browser only takes long to answer.
   */
  readonly onWaiting?: (() => void) | undefined
}

export interface AcquireProjectLockOptions extends AcquireLockOptions {
  /**
   * Waits in the queue without a time limit, and emits no event before the grant. For a read-only tab that wants to
   * write again when the writing tab is closed. `retry` does not apply. Default false.
   */
  readonly standby?: boolean | undefined
  /**
   * Takes the lock away from the tab that holds it. That tab notices the loss of a Web Lock at once, and of a `.lock` with
   * its next heartbeat. Default false.
   */
  readonly steal?: boolean | undefined
}

export interface RenewProjectLockOptions {
  /** Ends the wait for the answer. The renewal itself continues. */
  readonly signal?: AbortSignal | undefined
}

export interface ReleaseProjectLockOptions {
  /** Removes the record of the lease's scope from `project/.lock`, even if another tab wrote it. Default false. */
  readonly force?: boolean | undefined
}

export type WithProjectLockOptions = AcquireProjectLockOptions
