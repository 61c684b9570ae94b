/**
 * One project lease from the first attempt to its end. The core does the work: attempts, heartbeat, deadline and loss
 * are those of its manager. A claim turns the core's events into the events of the project lock.
 *
 *     acquiring ──▶ held ──▶ releasing ──▶ ended
 *                     └──▶ lost ──▶ ended
 */
import { orAborted } from '../base/abort.ts'
import { type LeaseError, messageOf } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { nameOf } from '../clients/browser-errors.ts'
import type { LeaseEvent, LossReason } from '../core/index.ts'
import type { Keeper } from '../core/manager.ts'
import { LockError, notHeld } from './errors.ts'
import type { EventFields, EventName, LockEvents } from './events.ts'
import {
  type AcquireProjectLockOptions,
  delayAfter,
  HEARTBEAT_MS,
  MAX_REMOVALS,
  SLOW_FALLBACK_MS,
  STANDBY_POLL_MS,
} from './options.ts'
import { UNREADABLE } from './project-lease.ts'
import type {
  LockConditionWarningEvent,
  LockErrorEvent,
  LockReadonlyEnteredEvent,
  LockRetryScheduledEvent,
  ProjectLockLease,
} from './types.ts'

export type Claim = ReturnType<typeof createClaim>

/**
 * `requested`: what is known before the grant; of another tab's lease, everything. A claim on standby emits no event
 * before the grant.
 */
export function createClaim(
  requested: ProjectLockLease,
  events: LockEvents,
  { standby, steal, onWaiting }: Pick<AcquireProjectLockOptions, 'standby' | 'steal' | 'onWaiting'> = {},
) {
  const { id, scope } = requested
  let backend = requested.backend
  /** The core's lease, once it is granted. */
  let lease: Keeper | undefined
  let loss: LockError | undefined
  let released: Promise<void> | undefined
  /** Created on first use, because most leases end before anybody reads their signal. */
  let lossController: AbortController | undefined
  let lastFailure: LeaseError | undefined
  /** Failed renewals in a row. */
  let failedRenewals = 0
  /** How often the `.lock` could not be removed. */
  let failedRemovals = 0
  let replacedUnreadable = false
  /** The page came back, and the lease has not been renewed since. */
  let isUnconfirmed = false
  /** Called at the next renewal, and when the lease ends. */
  const renewalWaiters: (() => void)[] = []

  return {
    id,
    /** Whether the lock is taken from the tab that holds it. */
    steal,
    onWaiting: () => notify(onWaiting),
    isHeld,
    isGranted: () => !!lease,
    /** Why the lease was lost; `undefined`: it was not. */
    loss: () => loss,
    lossSignal,
    snapshot,
    switchToFallback,
    emit,
    emitRetry,
    emitError,
    onGranted,
    onLeaseEvent,
    onHeartbeat,
    retryDelay,
    renewNow,
    confirm,
    release,
  }

  function isHeld(): boolean {
    return !!lease?.isHeld() && !isUnconfirmed
  }

  /** Aborts when the lease is lost. */
  function lossSignal(): AbortSignal {
    lossController ??= new AbortController()
    if (loss) lossController.abort(loss)
    return lossController.signal
  }

  /** The browser refuses Web Locks. */
  function switchToFallback(): void {
    backend = 'fallback'
  }

  function snapshot(): ProjectLockLease {
    const granted = lease && {
      acquiredAt: lease.record.acquiredAt,
      ttlExpiresAt: lease.expiresAt() ?? Infinity,
    }
    return { ...requested, backend, ...granted }
  }

  function emit<N extends EventName>(name: N, fields: EventFields<N>): void {
    if (!standby || lease) events.emit({ leaseId: id, backend, scope }, name, fields)
  }

  function emitRetry(attempt: number, delayMs: number, reason: LockRetryScheduledEvent['reason']): void {
    emit('retry', { attempt, delayMs, reason })
    emit('waiting', { retry: attempt, delayMs })
  }

  /** With a `readonlyReason`, this tab may no longer write. */
  function emitError(
    operation: LockErrorEvent['operation'],
    error: LockError,
    readonlyReason?: LockReadonlyEnteredEvent['reason'] | false,
  ): void {
    emit('error', { operation, error, retryable: error.retryable })
    if (readonlyReason) emit('readonly-entered', { reason: readonlyReason, lastError: error })
  }

  function emitWarning(warning: LockConditionWarningEvent['warning'], detail?: string): void {
    emit('warning', { warning, ...(detail && { detail }), lease: snapshot() })
  }

  function emitNextHeartbeat(): void {
    if (backend === 'fallback')
      emit('renew-scheduled', { lease: snapshot(), nextHeartbeatInMs: HEARTBEAT_MS })
  }

  function onGranted(granted: Keeper, attempt: number, tookMs: number): void {
    lease = granted
    if (backend === 'fallback') {
      emit('fallback-engaged', { lease: snapshot() })
      if (replacedUnreadable) emitWarning('fallback-corrupt')
      if (tookMs > SLOW_FALLBACK_MS && !standby) emitWarning('fallback-delayed', `${Math.round(tookMs)} ms`)
    }
    emit('acquired', { attempt, lease: snapshot() })
    emitNextHeartbeat()
  }

  function onLeaseEvent(event: LeaseEvent): void {
    if (event.type === 'expired') replacedUnreadable = event.lease.owner.startsWith(UNREADABLE)
    else if (event.type === 'waiting') notify(onWaiting)
    else if (event.type === 'renewed') onRenewed()
    else if (event.type === 'warning')
      emitWarning('heartbeat-delayed', `${Math.round(event.remaining)} ms left`)
    else if (event.type === 'lost') onLost(event.reason)
    else if (event.type === 'error') {
      lastFailure = event.error
      if (released) onRemovalFailed(event.error, ++failedRemovals === MAX_REMOVALS)
    }
  }

  /** A renewal is about to be sent. */
  function onHeartbeat(): void {
    emit('attempt', { operation: 'renew', strategy: backend, retry: failedRenewals })
  }

  /** The core's `retry` option, for refusals on standby, failed renewals and failed removals of the `.lock`. */
  function retryDelay(failures: number): number | null {
    if (!lease) return standby ? STANDBY_POLL_MS : null
    if (released) return failures < MAX_REMOVALS ? delayAfter(failures) : null
    const delay = isDenied() ? null : delayAfter(failures)
    failedRenewals = failures
    if (delay !== null) emitRetry(failures, delay, 'transient-error')
    return delay
  }

  /**
   * Renews now. Resolves with the first renewal that succeeds, which may be a later one, and rejects when the lease
   * ends. A Web Lock needs no renewal.
   */
  async function renewNow(signal: AbortSignal | undefined): Promise<ProjectLockLease> {
    if (!released && !loss && backend === 'fallback') {
      const renewed = new Promise<void>((resolve) => renewalWaiters.push(resolve))
      // Events report a failed renewal, and the core tries again.
      lease?.renew().catch(() => {})
      await orAborted(renewed, signal)
    }
    if (loss || released) throw loss ?? notHeld()
    return snapshot()
  }

  /** The page came back. The lease does not count as held until a renewal has confirmed it. */
  function confirm(): void {
    if (!isHeld()) return
    isUnconfirmed = true
    lease?.renew().catch(() => {})
  }

  /**
   * Resolves whether or not the `.lock` could be removed. A second call returns the same promise. `force` also removes
   * what another tab wrote.
   */
  function release(force?: () => Promise<void>): Promise<void> {
    released ??= Promise.resolve().then(async () => {
      emit('release-requested', { lease: snapshot() })
      wakeRenewalWaiters()
      try {
        await lease?.release()
        await force?.()
        emit('released', {})
      } catch (error) {
        // Failures of the core's release were reported one by one. What is left expires with its TTL.
        if (force && failedRemovals < MAX_REMOVALS) onRemovalFailed(error, true)
      }
    })
    return released
  }

  function isDenied(): boolean {
    return nameOf(lastFailure?.cause) === 'NotAllowedError'
  }

  function onRenewed(): void {
    const renewed = snapshot()
    failedRenewals = 0
    lastFailure = undefined
    isUnconfirmed = false
    if (backend === 'fallback') emit('renewed', { ttlExpiresAt: renewed.ttlExpiresAt, lease: renewed })
    emitNextHeartbeat()
    wakeRenewalWaiters()
  }

  function onLost(reason: LossReason): void {
    const isExpired = reason === 'deadline'
    const retryable = !isExpired && !isDenied()
    loss = new LockError('lock-renewal-failed', `the lock was lost (${reason})`, retryable, lastFailure)
    // A Web Lock that could not be confirmed may still be ours, and would block our next request.
    if (backend === 'web') lease?.release().catch(() => {})
    lossController?.abort(loss)
    emitError('renew', loss, !retryable && (isExpired ? 'lease-expired' : 'renewal-denied'))
    wakeRenewalWaiters()
  }

  function onRemovalFailed(cause: unknown, isLast: boolean): void {
    const message = `.lock was not removed: ${messageOf(cause)}`
    if (isLast) emitError('release', new LockError('lock-release-failed', message, true, cause))
    emit('cleanup-warning', { message })
  }

  function wakeRenewalWaiters(): void {
    for (const resolve of renewalWaiters.splice(0)) resolve()
  }
}
