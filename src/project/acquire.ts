/**
 * The way to a project lease: Web Locks first, `project/.lock` where the browser refuses them. Being held by another
 * is contention, and is asked again after a pause; every attempt is one acquisition of the core.
 */

import { WakeSignal } from '../base/wake-signal.ts'
import type { Clock, LeaseError, Leases } from '../core/index.ts'
import { nameOf } from '../stores/browser/index.ts'
import { type Claim, STANDBY_POLL_MS } from './claim.ts'
import { LockError, type LockErrorCode } from './errors.ts'
import type { Wish } from './options.ts'
import { delayAfter } from './retry-policy.ts'
import type { LockRetryScheduledEvent } from './types.ts'

export interface Backends {
  readonly clock: Clock
  readonly web: Leases
  readonly fallback: Leases
}

/** On standby it stands in line for as long as it takes. */
export async function acquireClaim(
  backends: Backends,
  claim: Claim,
  { scope, signal, standby, policy }: Wish,
): Promise<void> {
  const { clock } = backends
  const { id: owner, pauseAfter: retry } = claim
  const options = { owner, retry, signal, ...(standby && { wait: Infinity }) }
  for (let attempt = 1; ; ) {
    const { backend } = claim
    claim.emit('attempt', { operation: 'acquire', strategy: backend, retry: attempt - 1 })
    const asked = clock.monotonic()
    let failure: Failure
    try {
      const lease = await backends[backend].acquire(scope, options)
      return claim.granted(lease, attempt, clock.monotonic() - asked)
    } catch (error) {
      signal.throwIfAborted()
      failure = whyFailed(error as LeaseError, backend === 'web')
    }
    const { cause, reason, final } = failure
    if (final && backend === 'web') {
      claim.backend = 'fallback'
      continue
    }
    const delay = final ? null : standby ? STANDBY_POLL_MS : delayAfter(attempt, policy)
    if (delay === null) {
      const error = new LockError(final || 'lock-unavailable', cause.message, false, cause)
      claim.fail('acquire', error, 'acquire-failed')
      throw error
    }
    claim.tellRetry(attempt++, delay, reason)
    await new WakeSignal(clock).sleep(delay, signal)
  }
}

/** Why an attempt failed. */
interface Failure {
  readonly cause: Error
  readonly reason: LockRetryScheduledEvent['reason']
  /** A code when another attempt on this backend cannot help. */
  readonly final?: LockErrorCode | false
}

/** What a browser throws where the API is refused or missing. */
const UNSUPPORTED = ['SecurityError', 'NotSupportedError', 'TypeError']

function whyFailed(cause: LeaseError, isWeb: boolean): Failure {
  const { code, message } = cause
  if (code === 'closed') throw cause
  if (code === 'lease-held') {
    const held = isWeb ? 'lock-timeout' : 'fallback-conflict'
    return { cause: new LockError(held, message, true, cause), reason: 'contended' }
  }
  const name = nameOf(cause.cause) ?? ''
  const isDenied = !isWeb && name === 'NotAllowedError'
  const final = UNSUPPORTED.includes(name) ? 'web-lock-unsupported' : isDenied && 'lock-unavailable'
  return { cause, reason: isWeb ? 'unavailable' : 'transient-error', final }
}
