/** The numbers that the command line is tuned with. What a user can set is an option of a command, or a setting. */

// Stores

/** The longest that a server may take to accept a connection. */
export const CONNECT_LIMIT_MS = 5000
/** A healthy server on another continent answers within this time, however short the wait for a lease is. */
export const MIN_REACH_MS = 2000
/** A command that has done its work does not wait longer for a server that does not answer. */
export const CLOSE_STORE_LIMIT_MS = 1000

// run

/** The time that SIGKILL may take: this fraction of the TTL, but at most the limit. */
export const KILL_FRACTION = 0.08
export const KILL_LIMIT_MS = 2000
/** A timer may stand still while the machine sleeps, so the time is checked again at least this often. */
export const COUNTDOWN_CHECK_EVERY_MS = 1000
/** How often the watchdog looks whether processes of the command are left. */
export const WATCHDOG_CHECK_EVERY_MS = 50
/** How long the watchdog looks for a command that `run` may have started before it was killed. */
export const WATCHDOG_SEARCH_LIMIT_MS = 2000
/** A watchdog that does not exit within this time is stopped, and has not ended the command. */
export const WATCHDOG_EXIT_LIMIT_MS = 1000
/** How often a session is looked at while it ends. */
export const SESSION_CHECK_EVERY_MS = 20
/** A process that is still there this long after SIGKILL hangs in the kernel. */
export const SESSION_KILL_LIMIT_MS = 1000

// watch

export const REDRAW_EVERY_MS = 1000
/** Collects changes that come together into one redraw. */
export const REDRAW_AFTER_MS = 50
/** Rates are counted over this time. */
export const RATE_MS = 60_000
/** How often the line that shows progress changes. */
export const PROGRESS_EVERY_MS = 1000

// doctor and bench

/** The TTL of the lease that the doctor takes. */
export const DOCTOR_TTL_MS = 30_000
/** How long it waits for a push. */
export const PUSH_LIMIT_MS = 10_000
/** With a larger difference, the logs of two machines are hard to compare. */
export const CLOCK_LIMIT_MS = 1000
/** A slower store needs a longer TTL than the default. */
export const SLOW_MS = 500
/** How long one check may take. */
export const CHECK_LIMIT_MS = 10_000
/** How long each measurement takes, unless `--duration` says otherwise. */
export const BENCH_DURATION_MS = 1000
