import { WakeSignal } from '../base/wake-signal.ts'
import type { Clock } from '../core/index.ts'
import type { Claim } from './claim.ts'
import { LockError } from './errors.ts'
import type { Wish } from './options.ts'
import { delayAfter } from './retry-policy.ts'
import type { ProjectLockLease } from './types.ts'

/**
 * Acquires, executes, always releases. What the executor throws is told, and only an error that says
 * `retryable: true` makes it run again.
 */
export async function executeWithLock<T>(
  acquire: () => Promise<Claim>,
  release: (claim: Claim) => Promise<void>,
  executor: (lease: ProjectLockLease) => Promise<T>,
  { policy, signal }: Wish,
  clock: Clock,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const claim = await acquire()
    let delay: number | null
    try {
      const result = await executor(claim.snapshot())
      // Another may have written meanwhile.
      if (claim.loss) throw claim.loss
      return result
    } catch (cause) {
      const error = asLockError(cause)
      delay = error.retryable ? delayAfter(attempt, policy) : null
      // A loss that is final has entered read-only already.
      const isKnown = claim.loss?.retryable === false
      claim.fail('execute', error, delay === null && !isKnown && 'executor-failed')
      if (delay === null) throw cause
      claim.tellRetry(attempt, delay, 'transient-error')
    } finally {
      await release(claim)
    }
    await new WakeSignal(clock).sleep(delay, signal)
  }
}

function asLockError(cause: unknown): LockError {
  if (cause instanceof LockError) return cause
  const retryable = (cause as { retryable?: unknown } | null)?.retryable === true
  return new LockError('lock-unavailable', `${cause}`, retryable, cause)
}
