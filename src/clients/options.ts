/** The numbers that the clients of the databases are tuned with. */

/** A driver takes longer to notice that a server has stopped, or tries to connect forever. */
export const ANSWER_LIMIT_MS = 5000

/** How long a call waits for a busy SQLite database: less than the five seconds that callers wait for an answer. */
export const BUSY_LIMIT_MS = 4000
/** The longest pause between two tries at it. */
export const BUSY_LONGEST_PAUSE_MS = 20

/** How long a migration may take on Postgres. */
export const SCRIPT_LIMIT_MS = 60_000

/** The connections of a pool of `pg`, Postgres.js or `mysql2` that names no number. */
export const DEFAULT_CONNECTIONS = 10

/** How deep a call of gRPC is searched for its connection. */
export const MAX_WRAPPERS = 10

/** A request of etcd has at most 1.5 MiB by default. The rest is for what else is in it. */
export const MAX_ETCD_BYTES = 1_500_000
/** After this many failures in a row, an etcd host is avoided. */
export const HOST_FAILURES = 3
/** How often a host that is avoided is tried. */
export const TRY_HOST_EVERY_MS = 5000
/** gRPC waits longer and longer before it connects again. A new connection is opened at once. */
export const RECONNECT_EVERY_MS = 250
/** How many etcd leases are renewed at once. */
export const RENEWALS_AT_ONCE = 32

/** When a silent Firestore is probed. Its answer usually takes much less. */
export const PROBE_AFTER_MS = 1000
/** How long the probe waits for an answer. */
export const PROBE_LIMIT_MS = 3000

/** How many characters of a malformed answer a message shows. */
export const SHOWN_CHARACTERS = 80
