import { RESERVATION_MS } from '../lease-row.ts'

/** Times in the tables are microseconds since 1970. */
export const MILLISECOND = 1000
export const SECOND = 1000 * MILLISECOND
export const HOUR = 3600 * SECOND

/** `now()` would be the start of the transaction, before the wait for a lock. */
export const CLOCK = `(extract(epoch from clock_timestamp()) * ${SECOND})::bigint`

/** How long a free resource is kept for the first waiter. */
export const RESERVATION = RESERVATION_MS * MILLISECOND
/** How long a waiter that cannot be judged by its connection keeps its place after each request. */
export const PLACE_WITHOUT_CONNECTION = SECOND

/**
 * For functions that look rows up by key. A plan is kept until the next ANALYZE, and one that was made for a nearly
 * empty table would read the whole table after a burst. This cost makes the planner use the index of any table.
 */
export const BY_KEY = 'language plpgsql set random_page_cost = 0'

/** Whether the role may see which server processes are alive. Ask it in a statement before the one that looks. */
export const MAY_SEE_PROCESSES = `has_function_privilege('pg_stat_get_activity(integer)', 'execute')`
