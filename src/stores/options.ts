/** The options of the store in memory, and the numbers that several stores share. Each store in a folder has its own. */

import type { Clock } from '../base/clock.ts'

/** How long the row of a free resource is kept, so that its token outlives a clock that steps back. */
export const KEEP_FREE_MS = 3_600_000
/** How long a free resource is kept for a waiter that was woken. */
export const RESERVATION_MS = 1000
/** How often a store in this process deletes rows that nobody needs. */
export const PRUNE_EVERY_MS = 60_000
/** How long a resource whose stored row is damaged counts as held, from when that is first noticed. */
export const QUARANTINE_MS = 30_000
/** So that no statement takes long. A caller that wants more asks for the next page. */
export const MAX_PAGE = 1000
/** Farther back, a place is the distance of the numbers: those who left in between count as well. */
export const EXACT_PLACES = 100
/** The table or collection of the leases in a database of the application. */
export const DEFAULT_TABLE = 'holdfast_leases'

export interface MemoryStoreOptions {
  /** The store's own clock. Default: the system's. */
  readonly clock?: Clock | undefined
}
