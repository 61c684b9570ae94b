/**
 * The way to a project lease: Web Locks first, `project/.lock` where the browser refuses them. Being held by another
 * is contention, and is asked again after a pause; every attempt is one acquisition of the core.
 */
import type { Clock, LeaseError, Leases } from '../core/index.ts'
import { nameOf } from '../stores/browser/index.ts'
import { pause } from './abort.ts'
import { type Claim, STANDBY_POLL_MS } from './claim.ts'
import { LockError, type LockErrorCode } from './errors.ts'
import { delayAfter } from './retry-policy.ts'
import type { LockRetryScheduledEvent, ProjectLockLease, RetryPolicyConfig } from './types.ts'

export interface Backends {
  readonly clock: Clock
  readonly web: Leases
  readonly fallback: Leases
}

/** Without a policy it stands in line for as long as it takes, and tells of nothing but the grant. */
export async function acquireClaim(
  backends: Backends,
  claim: Claim,
  policy: RetryPolicyConfig | null,
  signal: AbortSignal | undefined,
): Promise<ProjectLockLease> {
  const { clock } = backends
  const { id: owner, pauseAfter: retry } = claim
  const options = { owner, retry, ...(signal && { signal }), ...(!policy && { wait: Infinity }) }
  for (let attempt = 1; ; ) {
    const { backend } = claim
    if (policy) claim.emit('attempt', { operation: 'acquire', strategy: backend, retry: attempt - 1 })
    const asked = clock.monotonic()
    let failure: Failure
    try {
      const lease = await backends[backend].acquire(claim.scope, options)
      return claim.granted(lease, attempt, clock.monotonic() - asked)
    } catch (error) {
      signal?.throwIfAborted()
      failure = whyFailed(error as LeaseError, backend === 'web')
    }
    const { cause, reason, final } = failure
    if (final && backend === 'web') {
      claim.backend = 'fallback'
      continue
    }
    const delay = final ? null : policy ? delayAfter(attempt, policy) : STANDBY_POLL_MS
    if (delay === null) {
      const error = new LockError(final ?? 'lock-unavailable', cause.message, false, cause)
      if (policy) claim.fail('acquire', error, 'acquire-failed')
      throw error
    }
    if (policy) claim.tellRetry(attempt++, delay, reason)
    await pause(clock, delay, signal)
  }
}

/** Why an attempt failed. */
interface Failure {
  readonly cause: Error
  readonly reason: LockRetryScheduledEvent['reason']
  /** Present: another attempt on this backend cannot help. */
  readonly final?: LockErrorCode
}

/** What a browser throws where the API is refused or missing. */
const UNSUPPORTED = ['SecurityError', 'NotSupportedError', 'TypeError']

function whyFailed(cause: LeaseError, isWeb: boolean): Failure {
  if (cause.code === 'closed') throw cause
  if (cause.code === 'lease-held') {
    const conflict = Object.assign(new Error(cause.message, { cause }), { code: 'fallback-conflict' })
    return {
      cause: isWeb ? new LockError('lock-timeout', cause.message, true, cause) : conflict,
      reason: 'contended',
    }
  }
  const name = nameOf(cause.cause) ?? ''
  if (UNSUPPORTED.includes(name)) return { cause, reason: 'unavailable', final: 'web-lock-unsupported' }
  if (isWeb) return { cause, reason: 'unavailable' }
  return {
    cause,
    reason: 'transient-error',
    ...(name === 'NotAllowedError' && { final: 'lock-unavailable' }),
  }
}
