/**
 * The way to a project lease: Web Locks first, `project/.lock` where the browser refuses them. Being held by another
 * is contention, and is asked again after a pause; every attempt is one acquisition of the core.
 */
import { type Clock, LeaseError, type Leases } from '../core/index.ts'
import { nameOf } from '../stores/web/index.ts'
import { pause } from './abort.ts'
import { type Claim, HEARTBEAT_MS, STANDBY_POLL_MS } from './claim.ts'
import { LockError, type LockErrorCode } from './errors.ts'
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
    if (policy) claim.emit('attempt', { operation: 'acquire', strategy: backend, retry: attempt - 1 })
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
      failure = whyFailed(error, isWeb)
    }
    const { cause, reason, final } = failure
    if (final && isWeb) {
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
  if (cause.code === 'lease-held') return { cause: contention(cause, isWeb), reason: 'contended' }
  const name = nameOf(cause.cause) ?? ''
  if (UNSUPPORTED.includes(name)) return { cause, reason: 'unavailable', final: 'web-lock-unsupported' }
  if (isWeb) return { cause, reason: 'unavailable' }
  return {
    cause,
    reason: 'transient-error',
    ...(name === 'NotAllowedError' && { final: 'lock-unavailable' }),
  }
}

function contention(cause: LeaseError, isWeb: boolean): Error {
  if (!isWeb) return Object.assign(new Error(cause.message, { cause }), { code: 'fallback-conflict' })
  return new LockError('lock-timeout', cause.message, true, cause)
}
