import { type Clock, LeaseError, systemClock } from '../core/index.ts'
import { invalid } from './json.ts'

/** One at a time among all contexts that write to the storage. What `createLeases` returns is one as well. */
export interface SyncLocks {
  withLease<T>(resource: string, work: () => Promise<T>): Promise<T>
}

export interface WebLocksOptions {
  /** Default: `navigator.locks`. */
  readonly locks?: Pick<LockManager, 'request'>
  /** Milliseconds to wait for the lock. Default 10 000. */
  readonly wait?: number
  readonly clock?: Clock
}

/**
 * Web Locks, for pages and workers of one origin. Not for content scripts: their locks are the host page's.
 *
 * @example
 * createSync({ storage: chromeStorage('local'), locks: webLocks() })
 */
export function webLocks(options: WebLocksOptions = {}): SyncLocks {
  const { locks = navigator.locks, wait = 10_000, clock = systemClock } = options
  // On pages without https there are none.
  if (typeof locks?.request !== 'function') throw invalid('locks', 'Web Locks', locks)
  return {
    async withLease(resource, work) {
      const limit = new AbortController()
      const cancel = clock.setTimer(() => limit.abort(), wait)
      // The error of the work is kept apart from that of the request.
      const outcome = await locks
        .request(resource, { signal: limit.signal }, () => {
          cancel()
          return work().then(
            (value) => ({ value }),
            (error: unknown) => ({ error }),
          )
        })
        .catch((cause: unknown) => {
          throw new LeaseError('lease-held', `${resource} was not free within ${wait} ms`, {
            cause,
            resource,
          })
        })
      if ('error' in outcome) throw outcome.error
      return outcome.value
    },
  }
}
