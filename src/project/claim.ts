/**
 * One project lease from the first attempt to its end. The core carries it: attempts, heartbeat, deadline and loss
 * are those of its manager. A claim turns what the core tells into the events of the project lock.
 *
 *     asking ──▶ held ──▶ releasing ──▶ gone
 *                  └──▶ lost ──▶ gone
 */

import { WakeSignal } from '../base/wake-signal.ts'
import type { Clock, Lease, LeaseError, LeaseEvent, LossReason } from '../core/index.ts'
import { nameOf } from '../stores/browser/index.ts'
import type { Emit, EventChannel } from './channel.ts'
import { LockError, notHeld } from './errors.ts'
import { UNREADABLE } from './lock-file.ts'
import { delayAfter } from './retry-policy.ts'
import type {
  LockBackend,
  LockConditionWarningEvent,
  LockErrorEvent,
  LockReadonlyEnteredEvent,
  LockRetryScheduledEvent,
  ProjectLockLease,
} from './types.ts'

export const HEARTBEAT_MS = 10_000
/** A file that takes longer than this to answer is worth a warning. */
const SLOW_FALLBACK_MS = 1000
const MAX_REMOVALS = 3
/** How often a tab that stands by looks at a `.lock`, which cannot call it. */
export const STANDBY_POLL_MS = 2000

export interface Claim {
  readonly id: string
  backend: LockBackend
  /** The core's lease, once it was granted. */
  lease: Lease | undefined
  /** Present once a release was begun. */
  released: Promise<void> | undefined
  /** Why it was lost; absent as long as it was not. */
  loss: LockError | undefined
  /** Aborts with the loss. */
  signal(): AbortSignal
  emit: Emit
  isHeld(): boolean
  snapshot(): ProjectLockLease
  granted(lease: Lease, attempt: number, tookMs: number): void
  /** The core's `retry`: after failed renewals, and after a `.lock` that could not be removed. */
  pauseAfter(failures: number): number | null
  hear(event: LeaseEvent): void
  /** A beat goes out. */
  beat(): void
  /**
   * Renews now; resolves with the renewal that succeeds, be it a later one, and rejects with the loss. A Web Lock
   * needs no renewal.
   */
  renewNow(signal: AbortSignal): Promise<ProjectLockLease>
  /**
   * Resolves whether or not the `.lock` could be removed; calling it twice is calling it once. `force` removes what
   * another wrote.
   */
  release(force?: () => Promise<void>): Promise<void>
  /** After the page was away: nothing may be written until the lease was confirmed. */
  check(): void
  tellRetry(attempt: number, delayMs: number, reason: LockRetryScheduledEvent['reason']): void
  /** With a `readonly` reason the tab may not write any more. */
  fail(
    operation: LockErrorEvent['operation'],
    error: LockError,
    readonly?: LockReadonlyEnteredEvent['reason'] | false,
  ): void
}

/** `asked` is what is known of the lease before it is granted; of another's lease, all. */
export function createClaim(
  asked: ProjectLockLease,
  channel: EventChannel,
  clock: Clock,
  standsBy: boolean,
): Claim {
  const { id, scope } = asked
  /** Made when first asked for: most leases end without anybody looking at their signal. */
  let ended: AbortController | undefined
  let lastFailure: LeaseError | undefined
  /** Renewals that failed in a row. */
  let failures = 0
  /** How often the `.lock` could not be removed. */
  let removals = 0
  let replacedUnreadable = false
  /** The page was away, and the lease was not renewed since. */
  let isChecking = false
  /** Rung by the next renewal, and by the end. */
  const waiters: WakeSignal[] = []

  const claim: Claim = {
    id,
    backend: asked.backend,
    loss: undefined,
    lease: undefined,
    released: undefined,
    emit(name, fields) {
      if (standsBy && !claim.lease) return
      channel.emit({ leaseId: id, backend: claim.backend, scope }, name, fields)
    },
    signal() {
      ended ??= new AbortController()
      if (claim.loss) ended.abort(claim.loss)
      return ended.signal
    },
    isHeld: () => !!claim.lease?.held && !isChecking,
    snapshot() {
      const { lease, backend } = claim
      if (!lease) return asked
      return { id, backend, scope, acquiredAt: lease.acquiredAt, ttlExpiresAt: lease.expiresAt ?? Infinity }
    },

    granted(given, attempt, tookMs) {
      claim.lease = given
      const snapshot = claim.snapshot()
      if (claim.backend === 'fallback') {
        claim.emit('fallback-engaged', { lease: snapshot })
        if (replacedUnreadable) warn('fallback-corrupt')
        if (tookMs > SLOW_FALLBACK_MS && !standsBy) warn('fallback-delayed', `${Math.round(tookMs)} ms`)
      }
      claim.emit('acquired', { attempt, lease: snapshot })
      tellNextBeat()
    },

    pauseAfter(count) {
      if (!claim.lease) return standsBy ? STANDBY_POLL_MS : null
      if (claim.released) return count < MAX_REMOVALS ? delayAfter(count) : null
      const delay = isDenied() ? null : delayAfter(count)
      failures = count
      if (delay !== null) claim.tellRetry(count, delay, 'transient-error')
      return delay
    },

    hear(event) {
      if (event.type === 'expired') replacedUnreadable = event.lease.owner === UNREADABLE
      else if (event.type === 'renewed') onRenewed()
      else if (event.type === 'warning') warn('heartbeat-delayed', `${Math.round(event.left)} ms left`)
      else if (event.type === 'lost') onLost(event.reason)
      else if (event.type === 'error') {
        lastFailure = event.error
        if (claim.released) onRemovalFailed(event.error, ++removals === MAX_REMOVALS)
      }
    },

    beat: () => claim.emit('attempt', { operation: 'renew', strategy: claim.backend, retry: failures }),

    async renewNow(signal) {
      if (!claim.loss && claim.backend === 'fallback') {
        const bell = new WakeSignal(clock)
        waiters.push(bell)
        // The failure of one beat is told by events, and the core tries again; the loss is told to all who wait.
        claim.lease?.renew().catch(() => {})
        await bell.sleep(Infinity, signal)
      }
      if (claim.loss) throw claim.loss
      if (claim.released) throw notHeld()
      return claim.snapshot()
    },

    release(force) {
      claim.released ??= Promise.resolve().then(async () => {
        claim.emit('release-requested', { lease: claim.snapshot() })
        wakeWaiters()
        try {
          await claim.lease?.release()
          await force?.()
          claim.emit('released', {})
        } catch (error) {
          // The others were told one by one. The work goes on, and what is left ends with its TTL.
          if (force && removals < MAX_REMOVALS) onRemovalFailed(error, true)
        }
      })
      return claim.released
    },

    check() {
      if (!claim.isHeld()) return
      isChecking = true
      claim.lease?.renew().catch(() => {})
    },

    tellRetry(attempt, delayMs, reason) {
      claim.emit('retry', { attempt, delayMs, reason })
      claim.emit('waiting', { retry: attempt, delayMs })
    },

    fail(operation, error, readonly) {
      claim.emit('error', { operation, error, retryable: error.retryable })
      if (readonly) claim.emit('readonly-entered', { reason: readonly, lastError: error })
    },
  }
  return claim

  function isDenied(): boolean {
    return nameOf(lastFailure?.cause) === 'NotAllowedError'
  }

  function warn(warning: LockConditionWarningEvent['warning'], detail?: string): void {
    claim.emit('warning', { warning, ...(detail && { detail }), lease: claim.snapshot() })
  }

  function tellNextBeat(): void {
    if (claim.backend === 'fallback')
      claim.emit('renew-scheduled', { lease: claim.snapshot(), nextHeartbeatInMs: HEARTBEAT_MS })
  }

  function onRenewed(): void {
    const renewed = claim.snapshot()
    failures = 0
    lastFailure = undefined
    isChecking = false
    if (claim.backend === 'fallback')
      claim.emit('renewed', { ttlExpiresAt: renewed.ttlExpiresAt, lease: renewed })
    tellNextBeat()
    wakeWaiters()
  }

  function onLost(reason: LossReason): void {
    const isExpired = reason === 'deadline'
    const retryable = !isExpired && !isDenied()
    const message = `the lock was lost (${reason})`
    const loss = new LockError('lock-renewal-failed', message, retryable, lastFailure)
    claim.loss = loss
    ended?.abort(loss)
    claim.fail('renew', loss, !retryable && (isExpired ? 'lease-expired' : 'renewal-denied'))
    wakeWaiters()
  }

  function onRemovalFailed(cause: unknown, isLast: boolean): void {
    const message = `.lock was not removed: ${cause}`
    if (isLast) claim.fail('release', new LockError('lock-release-failed', message, true, cause))
    claim.emit('cleanup-warning', { message })
  }

  function wakeWaiters(): void {
    for (const bell of waiters.splice(0)) bell.wake()
  }
}
