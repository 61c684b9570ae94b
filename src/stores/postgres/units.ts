/** The units of the tables, and expressions that several functions use. */
import { KEEP_FREE_MS, RESERVATION_MS } from '../options.ts'
import { PLACE_WITHOUT_CONNECTION_MS, PRUNE_EVERY_MS, WATCH_AHEAD_MS } from './options.ts'

/** Times in the tables are microseconds since 1970. */
export const MILLISECOND = 1000
export const SECOND = 1000 * MILLISECOND

/** `now()` would be the start of the transaction, before the wait for a lock. */
export const CLOCK = `(extract(epoch from clock_timestamp()) * ${SECOND})::bigint`

export const RESERVATION = RESERVATION_MS * MILLISECOND
export const PLACE_WITHOUT_CONNECTION = PLACE_WITHOUT_CONNECTION_MS * MILLISECOND
export const KEEP_FREE = KEEP_FREE_MS * MILLISECOND
export const PRUNE_EVERY = PRUNE_EVERY_MS * MILLISECOND
export const WATCH_AHEAD = WATCH_AHEAD_MS * MILLISECOND

/**
 * For functions that look rows up by key. A plan is kept until the next ANALYZE, and one that was made for a nearly
 * empty table would read the whole table after a burst. This cost makes the planner use the index of any table.
 */
export const BY_KEY = 'language plpgsql set random_page_cost = 0'

/** Whether the role may see which server processes are alive. Ask it in a statement before the one that looks. */
export const MAY_SEE_PROCESSES = `has_function_privilege('pg_stat_get_activity(integer)', 'execute')`
