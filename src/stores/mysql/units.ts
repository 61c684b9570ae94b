/** The units of the tables, and expressions that several procedures use. */
import { TOKENS_PER_MS } from '../lease-row.ts'
import { KEEP_FREE_MS, RESERVATION_MS } from '../options.ts'
import { ALIVE_FOR_MS, KEEP_MESSAGES_MS, WATCH_FOR_MS } from './options.ts'

/** Times in the tables are microseconds since 1970. */
export const MILLISECOND = TOKENS_PER_MS
export const SECOND = 1000 * MILLISECOND

/** Stands for "no limit". */
export const MANY = Number.MAX_SAFE_INTEGER

export const RESERVATION = RESERVATION_MS * MILLISECOND
export const KEEP_FREE = KEEP_FREE_MS * MILLISECOND
export const ALIVE_FOR = ALIVE_FOR_MS * MILLISECOND
export const WATCH_FOR = WATCH_FOR_MS * MILLISECOND
export const KEEP_MESSAGES = KEEP_MESSAGES_MS * MILLISECOND

/** Until when a lease takes room, as `keptUntil` of `lease-row.ts`. */
export const TAKES_UNTIL = `coalesce(kept_until, greatest(expires_at + lock_delay,
  if(at_least > 0, acquired_at + at_least, 0)))`
export const IS_LIVE = `kept_until is null and expires_at > _at`
/** How many may be live beside each other, as this one says. */
export const CAPACITY = 'coalesce(share, 1)'
