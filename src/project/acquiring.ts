/**
 * The way to a project lease: Web Locks first, `project/.lock` where the browser refuses them. Being held by another
 * is contention, and is asked again after a pause; every attempt is one acquisition of the core.
 */
import { type Clock, LeaseError, type Leases } from '../core/index.ts'
import { type Claim, HEARTBEAT_MS } from './claim.ts'
import { FallbackConflict, LockError, type LockErrorCode } from './errors.ts'
import { TTL_MS } from './lock-file.ts'
import { delayAfter } from './retry-policy.ts'
import type { LockRetryScheduledEvent, ProjectLockLease, RetryPolicyConfig } from './types.ts'

const WEB_LOCK_WAIT_MS = 10_000

export interface Backends {
  readonly clock: Clock
  readonly web: Leases
  readonly fallback: Leases
  hasWebLocks(): boolean
}

/** Without a policy it stands in line for as long as it takes, and tells of nothing but the grant. */
export async function acquireClaim(
  backends: Backends,
  claim: Claim,
  policy: RetryPolicyConfig | null,
  signal: AbortSignal | undefined,
): Promise<ProjectLockLease> {
  const { clock } = backends
  for (let attempt = 1; ; ) {
    if (!backends.hasWebLocks()) claim.backend = 'fallback'
    const { id: owner, scope, backend, pauseAfter: retry } = claim
    const isWeb = backend === 'web'
    if (policy) claim.emit('lock:attempt', { operation: 'acquire', strategy: backend, retry: attempt - 1 })
    const asked = clock.monotonic()
    const wait = !policy ? Infinity : isWeb ? WEB_LOCK_WAIT_MS : 0
    const heartbeat = isWeb ? false : HEARTBEAT_MS
    const options = { owner, ttl: TTL_MS, heartbeat, wait, retry, ...(signal && { signal }) } as const
    let failure: Failure
    try {
      const lease = await backends[backend].acquire(scope, options)
      return claim.granted(lease, attempt, clock.monotonic() - asked)
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof LeaseError) || error.code === 'closed') throw error
      if (isWeb && error.code === 'store-failed') {
        claim.backend = 'fallback'
        continue
      }
      failure = isWeb ? webFailure(error) : fallbackFailure(error)
    }
    const { cause, reason, final } = failure
    const delay = final || !policy ? null : delayAfter(attempt, policy)
    if (delay === null) {
      const code = final ?? 'lock-unavailable'
      const error = new LockError(code, `no project lock: ${cause.message}`, { retryable: false, cause })
      if (policy) claim.fail('acquire', error, 'acquire-failed')
      throw error
    }
    claim.tellRetry(attempt++, delay, reason)
    await pause(clock, delay, signal)
  }
}

/** Why an attempt failed. */
interface Failure {
  readonly cause: Error
  readonly reason: LockRetryScheduledEvent['reason']
  /** Present: another attempt cannot help. */
  readonly final?: LockErrorCode
}

function webFailure(cause: LeaseError): Failure {
  if (cause.code !== 'lease-held') return { cause, reason: 'unavailable' }
  const message = `the Web Lock was not free within ${WEB_LOCK_WAIT_MS} ms`
  return { cause: new LockError('lock-timeout', message, { retryable: true, cause }), reason: 'contended' }
}

function fallbackFailure(cause: LeaseError): Failure {
  if (cause.code === 'lease-held')
    return { cause: new FallbackConflict(`project/.lock: ${cause.message}`, { cause }), reason: 'contended' }
  if (cause.retryable) return { cause, reason: 'transient-error' }
  const isDenied = (cause.cause as Error | undefined)?.name === 'NotAllowedError'
  return { cause, reason: 'unavailable', final: isDenied ? 'lock-unavailable' : 'web-lock-unsupported' }
}

/** Rejects with the signal's reason when that aborts. */
export function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      cancel()
      reject(signal?.reason)
    }
    const cancel = clock.setTimer(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop)
  })
}
