/**
 * The way to a project lease: Web Locks first, `project/.lock` where the browser refuses them. Being held by another
 * is contention, and is asked again after a pause; every attempt is one acquisition of the core.
 */
import { type Clock, type Lease, LeaseError, type Leases } from '../core/index.ts'
import { type Claim, HEARTBEAT_MS } from './claim.ts'
import { FallbackConflict, LockError, type LockErrorCode } from './errors.ts'
import { TTL_MS } from './lock-file.ts'
import { delayAfter } from './retry-policy.ts'
import type { LockRetryScheduledEvent, ProjectLockLease, RetryPolicyConfig } from './types.ts'

const WEB_LOCK_WAIT_MS = 10_000
/** A file that takes longer than this to answer is worth a warning. */
const SLOW_FALLBACK_MS = 1000

export interface Backends {
  readonly clock: Clock
  readonly web: Leases
  readonly fallback: Leases
  hasWebLocks(): boolean
}

export async function acquireInAttempts(
  backends: Backends,
  claim: Claim,
  policy: RetryPolicyConfig,
  signal: AbortSignal | undefined,
): Promise<ProjectLockLease> {
  const { clock } = backends
  for (let attempt = 1; ; attempt++) {
    const asked = clock.monotonic()
    const outcome = await ask(backends, claim, signal, () => {
      const { backend: strategy } = claim
      claim.emit({ type: 'lock:attempt', operation: 'acquire', strategy, retry: attempt - 1 })
      return strategy === 'web' ? WEB_LOCK_WAIT_MS : 0
    })
    if (!('reason' in outcome)) {
      const took = clock.monotonic() - asked
      return claim.granted(outcome, attempt, took > SLOW_FALLBACK_MS ? took : 0)
    }
    const delay = outcome.final ? null : delayAfter(attempt, policy)
    if (delay === null) throw giveUp(claim, outcome)
    claim.tellRetry(attempt, delay, outcome.reason)
    await pause(clock, delay, signal)
  }
}

/** Stands in line for as long as it takes, and tells of nothing but the grant. */
export async function acquireOnStandby(
  backends: Backends,
  claim: Claim,
  signal: AbortSignal | undefined,
): Promise<ProjectLockLease> {
  const outcome = await ask(backends, claim, signal, () => Infinity)
  if ('reason' in outcome) throw unavailable(outcome)
  return claim.granted(outcome, 1, 0)
}

/** Why an attempt failed. */
interface Failure {
  readonly cause: Error
  readonly reason: LockRetryScheduledEvent['reason']
  /** Present: another attempt cannot help. */
  readonly final?: LockErrorCode
}

/** One attempt, which goes over to the fallback at once when the browser refuses Web Locks. */
async function ask(
  backends: Backends,
  claim: Claim,
  signal: AbortSignal | undefined,
  begin: () => number,
): Promise<Lease | Failure> {
  if (claim.backend === 'web' && !backends.hasWebLocks()) claim.backend = 'fallback'
  const { id: owner, scope, backend, pauseAfter: retry } = claim
  const heartbeat = backend === 'web' ? false : HEARTBEAT_MS
  try {
    const options = {
      owner,
      ttl: TTL_MS,
      heartbeat,
      wait: begin(),
      retry,
      ...(signal && { signal }),
    } as const
    return await backends[backend].acquire(scope, options)
  } catch (error) {
    signal?.throwIfAborted()
    if (!(error instanceof LeaseError) || error.code === 'closed') throw error
    if (backend === 'fallback') return fallbackFailure(error)
    if (error.code !== 'store-failed') return webFailure(error)
    claim.backend = 'fallback'
    return ask(backends, claim, signal, begin)
  }
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
  const isDenied = cause.cause instanceof Error && cause.cause.name === 'NotAllowedError'
  return { cause, reason: 'unavailable', final: isDenied ? 'lock-unavailable' : 'web-lock-unsupported' }
}

function giveUp(claim: Claim, failure: Failure): LockError {
  const error = unavailable(failure)
  claim.fail('acquire', error)
  claim.enterReadonly('acquire-failed', error)
  return error
}

function unavailable({ final = 'lock-unavailable', cause }: Failure): LockError {
  return new LockError(final, `no project lock: ${cause.message}`, { retryable: false, cause })
}

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
    signal?.addEventListener('abort', stop, { once: true })
  })
}
