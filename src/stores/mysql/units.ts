import { RESERVATION_MS, TOKENS_PER_MS } from '../lease-row.ts'

/** Times in the tables are microseconds since 1970. */
export const MILLISECOND = TOKENS_PER_MS
export const SECOND = 1000 * MILLISECOND
export const HOUR = 3600 * SECOND

/** Stands for "no limit". */
export const MANY = Number.MAX_SAFE_INTEGER

/** How long a free resource is kept for a waiter that was woken. */
export const RESERVATION = RESERVATION_MS * MILLISECOND
/** A process that has not been heard of for so long has lost its places in all queues. */
export const ALIVE_FOR = 3 * SECOND
/**
 * For how long changes are announced to a process that watches, from when it was last heard of. It says so after a third
 * of this time, so a process that stands still for a minute misses nothing.
 */
export const WATCH_FOR = 90 * SECOND
/** Messages that nobody has fetched for so long are deleted. */
export const KEEP_MESSAGES = 120 * SECOND

/** Until when a lease takes room, as `keptUntil` of `lease-row.ts`. */
export const TAKES_UNTIL = `coalesce(kept_until, greatest(expires_at + lock_delay,
  if(at_least > 0, acquired_at + at_least, 0)))`
export const IS_LIVE = `kept_until is null and expires_at > _at`
/** How many may be live beside each other, as this one says. */
export const CAPACITY = 'coalesce(share, 1)'
