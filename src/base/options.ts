/**
 * The defaults and limits of leases, names and calls that several parts share. A page loads some of them with a part of
 * the core only, so this file contains constants and nothing else.
 */

/** A shorter lease would end before its first renewal is answered. */
export const MIN_TTL_MS = 10
/** A holder renews this many times in the TTL. */
export const HEARTBEATS_PER_TTL = 3
/** The longest time between two heartbeats, as a part of the TTL. */
export const MAX_HEARTBEAT_PART = 0.9
/**
 * The next heartbeat is planned from the answer: holders whose renewals collided in the store come apart. But no
 * answer moves it past this part of the TTL, so that a slow store still has the time for it.
 */
export const LATEST_BEAT = 0.4
/** This part of the TTL allows for clocks that run at different rates: a holder stops that much earlier. */
export const DRIFT = 0.02
/** Timers fire slightly late, and a loss must not be signalled after the deadline. */
export const TIMER_LEAD_MS = 2

/** The longest that a store may take to answer one call, unless `callTimeout` says otherwise. */
export const CALL_TIMEOUT_MS = 5000
/** The first call of a wait has at least this long, so that a short wait gets what a call without one gets. */
export const FIRST_CALL_MS = 1000
/** The pause before the first retry. It doubles with each further one, up to the longest. */
export const RETRY_MS = 50
export const LONGEST_RETRY_MS = 2000
/**
 * A push may be lost, so a waiter asks again after this long in any case, and the later the more are ahead: ten
 * thousand waiters must not keep the store busy with asking.
 */
export const POLL_BEHIND_PUSH_MS = 5000
export const POLL_LATER_PER_PLACE_MS = 100

export const MAX_NAME_BYTES = 512
export const MAX_METADATA_BYTES = 4096

/** The limit of an answer is counted in this many ticks. */
export const ANSWER_LIMIT_TICKS = 5
/** How many characters of a wrong value a message shows. */
export const LONGEST_SHOWN = 60
/** Longer words may differ in more letters: one letter per this number. */
export const LETTERS_PER_MISTAKE = 3
/** A longer text is no misspelt name, and to compare it takes seconds. */
export const LONGEST_GUESSED_NAME = 100

/** How deep an error is searched for the causes of its causes. */
export const MAX_CAUSES = 10
