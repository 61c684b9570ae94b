/**
 * Acquires a project lease: as a Web Lock, or through `project/.lock` if the browser refuses Web Locks. Every attempt
 * is one acquisition of the core. While another tab holds the lock, each attempt is followed by a pause.
 */
import type { Clock } from '../base/clock.ts'
import { asLeaseError, type LeaseError, type LockErrorCode } from '../base/errors.ts'
import { pauseUntilAborted } from '../base/pause.ts'
import { nameOf } from '../clients/browser-errors.ts'
import type { Manager } from '../core/manager.ts'
import type { Claim } from './claim.ts'
import { LockError } from './errors.ts'
import { type AcquireRequest, STANDBY_POLL_MS } from './options.ts'
import { UNREADABLE } from './project-lease.ts'
import type { LockRetryScheduledEvent, LockScope } from './types.ts'

export interface Backends {
  readonly clock: Clock
  readonly web: Manager
  /** Loads what the fallback needs, if it is not loaded yet. */
  readonly fallback: () => Promise<Manager>
}

/** Resolves when the claim is granted. With `standby` it waits in the queue without a time limit. */
export async function acquireClaim(
  backends: Backends,
  claim: Claim,
  { scope, signal, standby, retry }: AcquireRequest,
): Promise<void> {
  const { clock } = backends
  const options = {
    owner: claim.id,
    retry: claim.retryDelay,
    signal,
    ...(standby && { wait: Infinity }),
  }
  for (let attempt = 1; ; ) {
    const { backend } = claim.snapshot()
    claim.emit('attempt', { operation: 'acquire', strategy: backend, retry: attempt - 1 })
    const started = clock.monotonic()
    let failure: Failure
    try {
      const manager = backend === 'web' ? backends.web : await backends.fallback()
      const lease = await manager.acquire(scope, options)
      return claim.onGranted(lease, attempt, clock.monotonic() - started)
    } catch (error) {
      signal.throwIfAborted()
      failure = explain(asLeaseError(error), scope, backend === 'web')
    }
    claim.onWaiting()
    const { cause, reason, finalCode } = failure
    if (finalCode && backend === 'web') {
      claim.switchToFallback()
      continue
    }
    const delay = finalCode ? null : standby ? STANDBY_POLL_MS : retry(attempt)
    if (delay === null) {
      const error = new LockError(finalCode ?? 'lock-unavailable', cause.message, false, cause)
      claim.emitError('acquire', error, 'acquire-failed')
      throw error
    }
    claim.emitRetry(attempt++, delay, reason)
    await pauseUntilAborted(clock, delay, signal)
  }
}

/** Why an attempt failed. */
interface Failure {
  readonly cause: Error
  readonly reason: LockRetryScheduledEvent['reason']
  /** Set if another attempt on this backend cannot succeed. */
  readonly finalCode?: LockErrorCode | undefined
}

/** Names of the errors that a browser throws if it refuses or lacks the API. */
const UNSUPPORTED: readonly unknown[] = ['SecurityError', 'NotSupportedError', 'TypeError']

function explain(cause: LeaseError, scope: LockScope, isWeb: boolean): Failure {
  const { code } = cause
  if (code === 'closed') throw cause
  if (code === 'lease-held') {
    const heldCode = isWeb ? 'lock-timeout' : 'fallback-conflict'
    return { cause: new LockError(heldCode, whoHolds(cause, scope), true, cause), reason: 'contended' }
  }
  const reason = isWeb ? 'unavailable' : 'transient-error'
  const name = nameOf(cause.cause)
  const isDenied = !isWeb && name === 'NotAllowedError'
  const refusal = isDenied ? 'lock-unavailable' : undefined
  return { cause, reason, finalCode: UNSUPPORTED.includes(name) ? 'web-lock-unsupported' : refusal }
}

function whoHolds({ holders = [] }: LeaseError, scope: LockScope): string {
  const [{ owner = '' } = {}] = holders
  return owner.startsWith(UNREADABLE) ? owner : `another tab holds the ${scope} lock`
}
