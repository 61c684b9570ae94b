/** The numbers that telemetry is tuned with. The thresholds of alerts are in `thresholds.ts`. */

// Lines

export const COLLECTOR_DEFAULTS = { interval: 1000, maxWaiting: 10_000 }

/** How much of a hash stands for a name. */
export const PSEUDONYM_BYTES = 8
/** The longest name in a line. */
export const MAX_NAME_LENGTH = 512
/** How many pseudonyms are remembered, so that a name is not hashed for each of its lines. */
export const MAX_REMEMBERED_PSEUDONYMS = 2000
/** Salt, separator and a lease id (a UUID) then fit into one block of SHA-256, which halves the time of a hash. */
export const SALT_LENGTH = 18
/** How many characters the name of a collector has. */
export const SOURCE_LENGTH = 8
/** A burst of events leaves no time for the timer. After this many events the queue is flushed, to bound memory. */
export const MAX_QUEUED_EVENTS = 4096
/** Lines whose time is farther ahead come from a wrong clock. */
export const CLOCK_TOLERANCE_MS = 24 * 3_600_000
/** The most acquires and leases that are followed at the same time. Beyond it the oldest is forgotten. */
export const MAX_TRACKED_LOCKS = 1000

// Files

/** How large a file and all files of a folder become, unless `maxFileBytes` and `maxTotalBytes` say otherwise. */
export const MAX_FILE_BYTES = 64 * 2 ** 20
export const MAX_TOTAL_BYTES = 1024 * 2 ** 20
/** A file of yesterday is compressed when it has not changed for this long: until then its writer may add lines. */
export const UNCHANGED_MS = 60_000
/** A file that was left half compressed is deleted after this time. */
export const PARTIAL_FILE_MS = 3_600_000
/** How much is read at once. */
export const CHUNK_BYTES = 2 ** 16
/** How often progress is shown while files are read. */
export const PROGRESS_BYTES = 4 * 2 ** 20
/** How often a folder is listed again when one of its files has vanished. */
export const MAX_LISTINGS = 3
/** How many skipped lines are named. All are counted. */
export const MAX_NAMED_LINES = 10
/** A longer line is no record, and is skipped. */
export const MAX_LINE_LENGTH = 2 ** 16
/** How many characters of the name of a file stand for its writer. */
export const WRITER_LENGTH = 8

// Pages

/** How long a server may take to accept a batch, unless `timeout` says otherwise. */
export const SINK_TIMEOUT_MS = 30_000
/** Browsers refuse more than 64 KiB with `keepalive`, which lets a request outlive its page. */
export const MAX_BATCH_BYTES = 50_000
/** How many records one `POST /telemetry` may contain. */
export const MAX_BATCH_RECORDS = 500
/** How much a page keeps while it is offline, unless `maxBytes` says otherwise. */
export const MAX_BUFFER_BYTES = 2 ** 20
/** A buffer that no page has changed for this long was left behind. */
export const LEFT_AFTER_MS = 600_000

// Health and incidents

/** Figures are counted in windows of this length. */
export const WINDOW_MS = 15 * 60_000
/** How many windows an analysis keeps, unless `maxWindows` says otherwise: one week. */
export const MAX_WINDOWS = 7 * 96
/** How long after the end of a window its last lines may come. */
export const INCIDENT_FINAL_AFTER_MS = 60_000
/** A wait that an incident calls long. */
export const LONG_WAIT_MS = 5000
export const GOOD_HEARTBEAT_FRACTION = 0.95
/** How long a run waits for another one: longer than a run takes that cannot reach Slack and PagerDuty. */
export const LOCK_WAIT_MS = 300_000
/** How long Slack and PagerDuty may take to answer, and the pauses before a message is sent again. */
export const ALERT_TIMEOUT_MS = 10_000
export const ALERT_PAUSE_MS = 500
export const LONGEST_ALERT_PAUSE_MS = 30_000

/** How often an alert is sent until it is given up, unless `attempts` says otherwise. */
export const ALERT_ATTEMPTS = 4
