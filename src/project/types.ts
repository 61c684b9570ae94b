import type { LockError } from './errors.ts'

export type LockScope = 'autosave' | 'history'

export interface AcquireLockOptions {
  /** Default `autosave`. */
  readonly scope?: LockScope
  /** Ends the waiting: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal
  readonly retry?: Partial<RetryPolicyConfig>
}

export interface RetryPolicyConfig {
  /** Default 500. */
  readonly initialDelayMs: number
  /** Default 4000. */
  readonly maxDelayMs: number
  /** Default 2. */
  readonly multiplier: number
  /** Default 5: the first attempt and four more. */
  readonly maxAttempts: number
}

export interface AcquireProjectLockOptions extends AcquireLockOptions {
  /**
   * Stands in line until the lock is free, however long that takes, and tells of nothing but the grant: for a tab
   * that is read-only and wants to write again when the writing one closes. `retry` does not apply.
   */
  readonly standby?: boolean
}

export interface RenewProjectLockOptions {
  /** Ends the waiting for the answer; the beat itself goes on. */
  readonly signal?: AbortSignal
}

export interface ReleaseProjectLockOptions {
  /** Removes the record of the lease's scope from `project/.lock` whoever wrote it. Default false. */
  readonly force?: boolean
}

export type WithProjectLockOptions = AcquireProjectLockOptions

export type LockBackend = 'web' | 'fallback'

/** A snapshot, which never changes: a renewal returns a new one. */
export interface ProjectLockLease {
  /** A UUID. */
  readonly id: string
  readonly backend: LockBackend
  readonly scope: LockScope
  /** Milliseconds since 1970. */
  readonly acquiredAt: number
  /** Milliseconds since 1970; `Infinity` for a Web Lock, which the browser itself ends with the tab. */
  readonly ttlExpiresAt: number
}

export interface ProjectLockEventBase {
  /** Milliseconds since 1970. Never less than that of the event before. */
  readonly at: number
  readonly leaseId: string
  readonly backend: LockBackend
  readonly scope: LockScope
}

export interface LockAttemptEvent extends ProjectLockEventBase {
  readonly type: 'lock:attempt'
  readonly operation: 'acquire' | 'renew'
  readonly strategy: LockBackend
  /** How many attempts came before this one. */
  readonly retry: number
}

export interface LockWaitingEvent extends ProjectLockEventBase {
  readonly type: 'lock:waiting'
  /** The number of the retry that is waited for, from 1. */
  readonly retry: number
  readonly delayMs: number
}

export interface LockRetryScheduledEvent extends ProjectLockEventBase {
  readonly type: 'lock:retry'
  /** The number of the attempt that failed, from 1. */
  readonly attempt: number
  readonly delayMs: number
  readonly reason: 'contended' | 'unavailable' | 'transient-error'
}

export interface LockFallbackEngagedEvent extends ProjectLockEventBase {
  readonly type: 'lock:fallback-engaged'
  readonly lease: ProjectLockLease
}

export interface LockConditionWarningEvent extends ProjectLockEventBase {
  readonly type: 'lock:warning'
  readonly warning: 'heartbeat-delayed' | 'fallback-delayed' | 'fallback-corrupt'
  readonly detail?: string
  readonly lease: ProjectLockLease
}

export interface LockWarningEvent extends ProjectLockEventBase {
  readonly type: 'lock:cleanup-warning'
  readonly message: string
}

export interface LockAcquiredEvent extends ProjectLockEventBase {
  readonly type: 'lock:acquired'
  /** The number of the attempt that succeeded, from 1. */
  readonly attempt: number
  readonly lease: ProjectLockLease
}

export interface LockRenewScheduledEvent extends ProjectLockEventBase {
  readonly type: 'lock:renew-scheduled'
  readonly lease: ProjectLockLease
  readonly nextHeartbeatInMs: number
}

export interface LockRenewedEvent extends ProjectLockEventBase {
  readonly type: 'lock:renewed'
  readonly ttlExpiresAt: number
  readonly lease: ProjectLockLease
}

export interface LockReleaseRequestedEvent extends ProjectLockEventBase {
  readonly type: 'lock:release-requested'
  readonly lease: ProjectLockLease
}

/** The release has ended, or a wait was ended by its signal or by `close`. */
export interface LockReleasedEvent extends ProjectLockEventBase {
  readonly type: 'lock:released'
}

export interface LockErrorEvent extends ProjectLockEventBase {
  readonly type: 'lock:error'
  readonly operation: 'acquire' | 'renew' | 'release' | 'execute'
  /** What an executor threw is the `cause` of the error. */
  readonly error: LockError
  readonly retryable: boolean
}

export interface LockReadonlyEnteredEvent extends ProjectLockEventBase {
  readonly type: 'lock:readonly-entered'
  readonly reason: 'acquire-failed' | 'lease-expired' | 'renewal-denied' | 'executor-failed'
  readonly lastError: LockError
}

export type ProjectLockEvent =
  | LockAttemptEvent
  | LockWaitingEvent
  | LockRetryScheduledEvent
  | LockFallbackEngagedEvent
  | LockConditionWarningEvent
  | LockWarningEvent
  | LockAcquiredEvent
  | LockRenewScheduledEvent
  | LockRenewedEvent
  | LockReleaseRequestedEvent
  | LockReleasedEvent
  | LockErrorEvent
  | LockReadonlyEnteredEvent

export type LockEventListener = (event: ProjectLockEvent) => void

/** What `createProjectLocks` makes; the module's free functions are those of one default instance. */
export interface ProjectLocks {
  acquireProjectLock(options?: AcquireProjectLockOptions): Promise<ProjectLockLease>
  /** Beats now, beside the heartbeat, and tries again as the heartbeat does. A Web Lock needs none. */
  renewProjectLock(lease: ProjectLockLease, options?: RenewProjectLockOptions): Promise<ProjectLockLease>
  releaseProjectLock(lease: ProjectLockLease, options?: ReleaseProjectLockOptions): Promise<void>
  withProjectLock<T>(
    executor: (lease: ProjectLockLease) => Promise<T>,
    options?: WithProjectLockOptions,
  ): Promise<T>
  /** Events come in the order of `at`, synchronously. Stopping twice is harmless. */
  subscribeLockEvents(listener: LockEventListener): () => void
  readonly projectLockEvents: { subscribe(listener: LockEventListener): () => void }
  /**
   * Whether this lease may write at this moment. False while a page that came back from the back/forward cache
   * looks whether it still has its lock. Ask right before each write.
   */
  holdsProjectLock(lease: ProjectLockLease): boolean
  /** Aborts when the lease was lost; never by a release. */
  projectLockSignal(lease: ProjectLockLease): AbortSignal
  /** Ends every wait, releases what is held, and stops listening to the page. */
  close(): Promise<void>
}
