/** The limits and times of the suites, the fake clock and the fake browser. */

/** Above all that code which works takes on a busy machine: only code that hangs needs longer. */
export const HANG_MS = 60_000

/** A TTL that no test outlives. */
export const LONG_MS = 600_000
/** How long a freed resource is kept for the first waiter. */
export const RESERVATION_MS = 1000
/** This much of the store's time passes while a case waits for something, and ten TTLs. */
export const PATIENCE_MS = 4000
export const PAUSE_MS = 20
/** The time between the ends of two permits. */
export const STEP_MS = 100

/** How long after the end of its work a process is asked what keeps it alive. */
export const ALIVE_LIMIT_MS = 5000
/** Together with five TTLs, much longer than it takes until the next one holds the lease. */
export const STUCK_MS = 2500
/** How often a worker notes that it believes to hold the lease. */
export const NOTE_EVERY_MS = 5
/** A worker that is told to let go does it within this time: less than a reservation lasts. */
export const IN_TIME_MS = 500

/** What a process has behind it when it reads its fake clock for the first time. */
export const STARTED_MS = 812.347_291

/** The sizes of the areas of a fake browser, as Chrome has them. */
export const LOCAL_QUOTA_BYTES = 10 * 1024 * 1024
export const SESSION_QUOTA_BYTES = 10 * 1024 * 1024

/** How much the suites do, unless their options say otherwise. */
export const STORE_DEFAULTS = { ttl: 400, contention: 300 }
export const LIFETIME_DEFAULTS = { ttl: 500 }
export const TORTURE_DEFAULTS = { workers: 4, kills: 30, stops: 10, restarts: 3 }

/** How many of the last calls a failed test shows. */
export const TRANSCRIPT_LINES = 30
/** How many characters of the errors of a worker a failed test shows. */
export const SHOWN_ERRORS_LENGTH = 4000
