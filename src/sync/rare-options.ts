/** The numbers of what a sync loads on demand. A module of their own: see Pages in ARCHITECTURE. */

/** Records are carried out this long after the last one was appended. */
export const IDLE_MS = 100
/** But at the latest after this time. */
export const LONGEST_WAIT_MS = 1000
/** How long until a failed attempt is repeated. */
export const RETRY_MS = 1000
/** How long a context without locks waits for the result of an update or a clean-up. */
export const ANSWER_MS = 12_000
