/**
 * One project lease from the first attempt to its end. The core carries it: attempts, heartbeat, deadline and loss
 * are those of its manager. A claim turns what the core tells into the events of the project lock.
 *
 *     asking ──▶ held ──▶ releasing ──▶ gone
 *                  └──▶ lost ──▶ gone
 */
import type { Lease, LeaseError, LeaseEvent, LossReason } from '../core/index.ts'
import { nameOf } from '../stores/web/index.ts'
import { rejectOnAbort } from './abort.ts'
import type { Emit, EventChannel } from './channel.ts'
import { LockError } from './errors.ts'
import { UNREADABLE } from './lock-file.ts'
import { delayAfter } from './retry-policy.ts'
import type {
  LockBackend,
  LockConditionWarningEvent,
  LockErrorEvent,
  LockReadonlyEnteredEvent,
  LockRetryScheduledEvent,
  LockScope,
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
  readonly scope: LockScope
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
  granted(lease: Lease, attempt: number, tookMs: number): ProjectLockLease
  /** The core's `retry`: after failed renewals, and after a `.lock` that could not be removed. */
  pauseAfter(failures: number): number | null
  hear(event: LeaseEvent): void
  /** A beat goes out. */
  beat(): void
  /** Renews now; resolves with the renewal that succeeds, be it a later one, and rejects with the loss. */
  renewNow(signal?: AbortSignal): Promise<ProjectLockLease>
  /** Resolves whether or not the `.lock` could be removed; calling it twice is calling it once. */
  release(): Promise<void>
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

export function createClaim(scope: LockScope, channel: EventChannel, standsBy: boolean): Claim {
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
  /** Called with the next renewal, or with the loss. */
  let waiters: ((loss?: LockError) => void)[] = []

  const claim: Claim = {
    id: crypto.randomUUID(),
    scope,
    backend: 'web',
    loss: undefined,
    lease: undefined,
    released: undefined,
    emit: (type, fields) => channel.emit({ leaseId: claim.id, backend: claim.backend, scope }, type, fields),
    signal() {
      ended ??= new AbortController()
      if (claim.loss) ended.abort(claim.loss)
      return ended.signal
    },
    isHeld: () => claim.lease?.held === true && !isChecking,
    snapshot: () => ({
      id: claim.id,
      backend: claim.backend,
      scope,
      acquiredAt: claim.lease?.acquiredAt ?? 0,
      ttlExpiresAt: claim.lease?.expiresAt ?? Infinity,
    }),

    granted(given, attempt, tookMs) {
      claim.lease = given
      const snapshot = claim.snapshot()
      if (claim.backend === 'fallback') {
        claim.emit('lock:fallback-engaged', { lease: snapshot })
        if (replacedUnreadable) warn('fallback-corrupt', 'project/.lock could not be read')
        if (tookMs > SLOW_FALLBACK_MS && !standsBy)
          warn('fallback-delayed', `project/.lock took ${Math.round(tookMs)} ms`)
      }
      claim.emit('lock:acquired', { attempt, lease: snapshot })
      tellNextBeat()
      return snapshot
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
      else if (event.type === 'warning') warn('heartbeat-delayed', `${Math.round(event.left)} ms are left`)
      else if (event.type === 'lost') onLost(event.reason)
      else if (event.type === 'error') {
        lastFailure = event.error
        if (claim.released) tellRemovalFailed(claim.emit, event.error, ++removals === MAX_REMOVALS)
      }
    },

    beat: () => claim.emit('lock:attempt', { operation: 'renew', strategy: claim.backend, retry: failures }),

    renewNow: (signal) =>
      new Promise((resolve, reject) => {
        if (claim.loss) return reject(claim.loss)
        waiters.push((loss) => (loss ? reject(loss) : resolve(claim.snapshot())))
        rejectOnAbort(signal, reject)
        // The failure of one beat is told by events, and the core tries again; the loss is told to all who wait.
        claim.lease?.renew().catch(() => {})
      }),

    release() {
      claim.released ??= Promise.resolve().then(async () => {
        claim.emit('lock:release-requested', { lease: claim.snapshot() })
        try {
          await claim.lease?.release()
          claim.emit('lock:released', {})
        } catch {
          // Each failure was told; the work goes on, and what is left ends with its TTL.
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
      claim.emit('lock:retry', { attempt, delayMs, reason })
      claim.emit('lock:waiting', { retry: attempt, delayMs })
    },

    fail(operation, error, readonly) {
      claim.emit('lock:error', { operation, error, retryable: error.retryable })
      if (readonly) claim.emit('lock:readonly-entered', { reason: readonly, lastError: error })
    },
  }
  return claim

  function isDenied(): boolean {
    return nameOf(lastFailure?.cause) === 'NotAllowedError'
  }

  function warn(warning: LockConditionWarningEvent['warning'], detail: string): void {
    claim.emit('lock:warning', { warning, detail, lease: claim.snapshot() })
  }

  function tellNextBeat(): void {
    if (claim.backend === 'fallback')
      claim.emit('lock:renew-scheduled', { lease: claim.snapshot(), nextHeartbeatInMs: HEARTBEAT_MS })
  }

  function onRenewed(): void {
    const renewed = claim.snapshot()
    failures = 0
    lastFailure = undefined
    isChecking = false
    if (claim.backend === 'fallback')
      claim.emit('lock:renewed', { ttlExpiresAt: renewed.ttlExpiresAt, lease: renewed })
    tellNextBeat()
    tellWaiters()
  }

  function onLost(reason: LossReason): void {
    const isExpired = reason === 'deadline'
    const retryable = !isExpired && !isDenied()
    const message = `the project lock was lost (${reason})`
    const loss = new LockError('lock-renewal-failed', message, retryable, lastFailure)
    claim.loss = loss
    ended?.abort(loss)
    claim.fail('renew', loss, !retryable && (isExpired ? 'lease-expired' : 'renewal-denied'))
    tellWaiters(loss)
  }

  function tellWaiters(loss?: LockError): void {
    const told = waiters
    waiters = []
    for (const settle of told) settle(loss)
  }
}

/** The lease is over all the same. */
export function tellRemovalFailed(emit: Emit, cause: unknown, isLast: boolean): void {
  const message = `project/.lock could not be removed: ${cause}`
  const error = new LockError('lock-release-failed', message, true, cause)
  if (isLast) emit('lock:error', { operation: 'release', error, retryable: true })
  emit('lock:cleanup-warning', { message })
}
