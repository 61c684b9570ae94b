import { expectMethods, expectOptions } from '../base/arguments.ts'
import { systemClock } from '../base/clock.ts'
import { expectDuration } from '../base/duration.ts'
import { asLeaseError, LeaseError } from '../base/errors.ts'
import { LOCK_WAIT_MS, type WebLocksOptions } from './options.ts'

/** Lets one context at a time write to the storage. The result of `createLeases` fits as well. */
export interface SyncLocks {
  withLease<T>(resource: string, work: (lease?: HeldLease) => Promise<T>): Promise<T>
}

export interface HeldLease {
  /** Once this is `false`, another context may write, and this one no longer does. */
  readonly held: boolean
}

/** The part of `navigator.locks` that is used, so that programs without a page need no types of the DOM. */
export interface RequestsLocks {
  request<T>(name: string, work: (lock: { readonly name: string } | null) => Promise<T>): Promise<T>
  request<T>(
    name: string,
    options: { readonly signal?: AbortSignal; readonly ifAvailable?: boolean },
    work: (lock: { readonly name: string } | null) => Promise<T>,
  ): Promise<T>
}

/**
 * Web Locks, for pages and workers of one origin. Not for content scripts: their locks belong to the host page.
 *
 * @example
 * createSync({ storage: chromeStorage('local'), locks: webLocks({ wait: '5s' }) })
 */
export function webLocks(options: WebLocksOptions = {}): SyncLocks {
  expectOptions(options, { locks: 1, wait: 1, clock: 1 })
  const { locks, wait = LOCK_WAIT_MS, clock = systemClock } = options
  expectMethods('clock', clock, 'a Clock', 'setTimer')
  return locksWithin(wait === Infinity ? wait : expectDuration('wait', wait, 0), clock, locks)
}

/** Web Locks with checked options. */
export function locksWithin(
  waitMs = LOCK_WAIT_MS,
  clock = systemClock,
  locks: RequestsLocks | undefined = globalThis.navigator?.locks,
): SyncLocks {
  expectMethods('locks', locks, 'Web Locks, which need https or localhost', 'request')
  return {
    async withLease(resource, work) {
      const limit = new AbortController()
      const cancel = clock.setTimer(() => limit.abort(), waitMs)
      const { signal } = limit
      const hold = () => {
        cancel()
        return work()
      }
      return (locks as RequestsLocks).request(resource, { signal }, hold).catch((cause: unknown) => {
        if (!signal.aborted) throw asLeaseError(cause, resource)
        const message = `${resource} was not free within ${waitMs} ms`
        throw new LeaseError('lease-held', message, { cause, resource })
      })
    },
  }
}
