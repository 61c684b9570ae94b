import type { LockError } from './errors.ts'
import type {
  AcquireProjectLockOptions,
  ReleaseProjectLockOptions,
  RenewProjectLockOptions,
  WithProjectLockOptions,
} from './options.ts'

export type LockScope = 'autosave' | 'history'

export type LockBackend = 'web' | 'fallback'

/** An immutable snapshot: a renewal returns a new one. */
export interface ProjectLockLease {
  /** A UUID; in a page on plain http, another unique text. */
  readonly id: string
  readonly backend: LockBackend
  readonly scope: LockScope
  /** Milliseconds since 1970. */
  readonly acquiredAt: number
  /** Milliseconds since 1970; `Infinity` for a Web Lock, which ends with its tab. */
  readonly ttlExpiresAt: number
}

export interface ProjectLockEventBase {
  /** Milliseconds since 1970. Never goes back from one event to the next. */
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
  /** The number of the next retry, from 1. */
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

/** A release has ended, or a wait was ended by its signal or by `close`. */
export interface LockReleasedEvent extends ProjectLockEventBase {
  readonly type: 'lock:released'
}

export interface LockErrorEvent extends ProjectLockEventBase {
  readonly type: 'lock:error'
  readonly operation: 'acquire' | 'renew' | 'release' | 'execute'
  /** If an executor threw: its error is the `cause`. */
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

/** The result of `createProjectLocks`. The module's free functions use one default instance. */
export interface ProjectLocks extends AsyncDisposable {
  /** The first part of the names of the Web Locks. */
  readonly namespace: string
  /**
   * Rejects with `lock-unavailable` if every attempt failed, `web-lock-unsupported` if the browser has no kind of lock,
   * `closed`, `invalid-argument`, or the reason of the signal.
   *
   * @throws `lock-unavailable`, `web-lock-unsupported`
   */
  acquireProjectLock(options?: AcquireProjectLockOptions): Promise<ProjectLockLease>
  /**
   * Renews now, in addition to the heartbeat and with the same retries. A Web Lock needs no renewal. Rejects with
   * `lock-renewal-failed` if the lease has ended, or with the reason of the signal.
   *
   * @throws `lock-renewal-failed`
   */
  renewProjectLock(lease: ProjectLockLease, options?: RenewProjectLockOptions): Promise<ProjectLockLease>
  /** Resolves even if the `.lock` could not be removed: events report that. Rejects only with `invalid-argument`. */
  releaseProjectLock(lease: ProjectLockLease, options?: ReleaseProjectLockOptions): Promise<void>
  /**
   * Rejects as `acquireProjectLock` does, with `lock-renewal-failed` if the lease was lost, or as `executor` does.
   *
   * @throws `lock-unavailable`, `web-lock-unsupported`, `lock-renewal-failed`
   */
  withProjectLock<T>(
    executor: (lease: ProjectLockLease) => Promise<T>,
    options?: WithProjectLockOptions,
  ): Promise<T>
  /** Events are delivered synchronously, ordered by `at`. Returns a function that ends the subscription. */
  subscribe(listener: LockEventListener): () => void
  /** The same as `subscribe`. */
  subscribeLockEvents(listener: LockEventListener): () => void
  /** The same events, as an object with `subscribe`. */
  readonly projectLockEvents: { subscribe(listener: LockEventListener): () => void }
  /**
   * Whether this lease may write now. Call it right before each write. It is false while a page that came back from
   * the back/forward cache checks whether it still has its lock.
   */
  holdsProjectLock(lease: ProjectLockLease): boolean
  /** Aborts when the lease is lost, not when it is released. */
  projectLockSignal(lease: ProjectLockLease): AbortSignal
  /** Ends every wait, releases every held lock, and stops listening to the page. */
  close(): Promise<void>
}
