/** The options of the lock manager, and the numbers that it is tuned with. */

import type { LeasesOptions } from '../core/index.ts'

/** A release does not wait longer for requests that have no place yet, because the store does not answer. */
export const PLACED_WITHIN_MS = 1000
/** How many leases `query` reads at once. */
export const LEASES_PER_PAGE = 1000
/** How many waiters of a lock `query` reads at most. */
export const WAITERS_PER_LOCK = 10_000

/** `owner` is what `query()` shows as `clientId`. Each manager needs its own. Default: `host:pid` and a random part. */
export type LockManagerOptions = Omit<LeasesOptions, 'wait'>
