/** The numbers that the command line is tuned with. What a user can set is an option of a command, or a setting. */

// Stores

/** The longest that a server may take to accept a connection. */
export const CONNECT_LIMIT_MS = 5000
/** A healthy server on another continent answers within this time, however short the wait for a lease is. */
export const MIN_REACH_MS = 2000
/** A command that has done its work does not wait longer for a server that does not answer. */
export const CLOSE_STORE_LIMIT_MS = 1000
/** The connections that a command opens to Postgres or MySQL. */
export const POOL_CONNECTIONS = 4
/** How often a lost connection to NATS is opened again. */
export const NATS_RECONNECT_EVERY_MS = 250
/** How often a lost connection to Postgres is opened again, in seconds. */
export const POSTGRES_RECONNECT_EVERY_S = 0.5

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
/** Shorter than the grace of `run`, so that `run` sends SIGTERM first. Some programs exit at once on a second one. */
export const WATCHDOG_GRACE_FRACTION = 0.8
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

/** On a terminal `run` keeps one line about the wait up to date. A log gets a line now and then. */
export const WAIT_SHOWN_EVERY_MS = 5000
export const WAIT_LOGGED_EVERY_MS = 60_000
/** The size of a screen that does not say its size. */
export const DEFAULT_COLUMNS = 80
export const DEFAULT_ROWS = 24

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
/** How many cycles run at once in the second measurement. */
export const BENCH_CALLS_AT_ONCE = 16
/** How many reads show how fast the store is. */
export const DOCTOR_READS = 10

// What is shown

/** How many leases `ls` lists, unless `--limit` says otherwise. */
export const LISTED_LEASES = 100
/** Progress is shown each time this number of leases was read. */
export const PROGRESS_EVERY_LEASES = 1000
/** How many waiters `inspect` shows. */
export const SHOWN_WAITERS = 10
/** How many of the latest changes `watch` shows. */
export const SHOWN_CHANGES = 8
/** The characters of a change beside the names of the resource and the holder, and of the shortest of these names. */
export const CHANGE_WIDTH = 26
export const NARROWEST_NAME = 8
/** An error of the store is shown whole, unless it is very long. */
export const PROBLEM_LINES = 3
/** A flexible column is not made narrower than this, unless all columns that can be left out are. */
export const NARROWEST_COLUMN = 24
/** The spaces between two columns. */
export const COLUMN_GAP = 2
/** The characters of a figure of `bench`, and of the name of a check of `doctor`. */
export const BENCH_NUMBER_WIDTH = 7
export const DOCTOR_NAME_WIDTH = 11
