import type { Clock } from '../core/index.ts'
import { pause } from './acquiring.ts'
import type { Claim } from './claim.ts'
import { LockError } from './errors.ts'
import { delayAfter, retryPolicy } from './retry-policy.ts'
import type { ProjectLockLease, ProjectLocks, WithProjectLockOptions } from './types.ts'

/**
 * Acquires, executes, always releases. What the executor throws is told, and only an error that says
 * `retryable: true` makes it run again.
 */
export async function executeWithLock<T>(
  locks: ProjectLocks,
  claimOf: (lease: ProjectLockLease) => Claim | undefined,
  executor: (lease: ProjectLockLease) => Promise<T>,
  options: WithProjectLockOptions,
  clock: Clock,
): Promise<T> {
  const policy = retryPolicy(options.retry)
  for (let attempt = 1; ; attempt++) {
    const lease = await locks.acquireProjectLock(options)
    const claim = claimOf(lease)
    let delay: number | null
    try {
      const result = await executor(lease)
      // Another may have written meanwhile.
      claim?.signal.throwIfAborted()
      return result
    } catch (cause) {
      const error = asLockError(cause)
      delay = error.retryable ? delayAfter(attempt, policy) : null
      claim?.fail('execute', error)
      if (delay === null) {
        claim?.enterReadonly('executor-failed', error)
        throw cause
      }
      claim?.tellRetry(attempt, delay, 'transient-error')
    } finally {
      await locks.releaseProjectLock(lease)
    }
    await pause(clock, delay, options.signal)
  }
}

function asLockError(cause: unknown): LockError {
  if (cause instanceof LockError) return cause
  const retryable = (cause as { retryable?: unknown } | null)?.retryable === true
  return new LockError('lock-unavailable', `the executor failed: ${cause}`, { retryable, cause })
}
