/** The options of telemetry, and the numbers that it is tuned with. The thresholds of alerts are in `thresholds.ts`. */

import type { Clock } from '../base/clock.ts'
import type { Duration } from '../base/duration.ts'
import type { Sink } from './collector.ts'
import type { RecordBuffer } from './http-batches.ts'
import type { StreamName } from './record.ts'
import type { Progress } from './score-node.ts'
import type { ThresholdsConfig } from './thresholds.ts'

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

// Options

export interface PostOptions {
  readonly fetch?: typeof fetch | undefined
  readonly clock?: Clock | undefined
  /** How many attempts in total. Default 4. */
  readonly attempts?: number | undefined
  /** The time for each attempt. Default 10 seconds. */
  readonly timeout?: Duration | undefined
}

export interface AnalysisOptions {
  /** Milliseconds since 1970. Records more than a day later are skipped. Default: no limit. */
  readonly now?: number | undefined
  /** How many windows are kept, the newest first. Default: those of one week. */
  readonly maxWindows?: number | undefined
}

export interface CollectorOptions {
  /** Where the records go. Every sink gets every record. */
  readonly sinks: readonly Sink[]
  /** How long events are gathered before their records go to the sinks. Default 1 second. */
  readonly interval?: Duration | undefined
  /** Names to write as they are. Default none: owners and resources are hashed. */
  readonly reveal?: readonly ('owner' | 'resource')[] | undefined
  /** Part of every hash. Collectors with the same salt give the same name the same hash. Default: random. */
  readonly salt?: string | undefined
  /** Names this collector: a letter or digit, then up to 63 letters, digits and `_:.+-`. Default: random. */
  readonly source?: string | undefined
  /** How many records wait for a sink that fails. Beyond it the oldest are dropped. Default 10 000. */
  readonly maxWaiting?: number | undefined
  /** Called when a sink fails and when records are dropped. Records that a sink did not take are sent again. */
  readonly onError?: ((error: unknown) => void) | undefined
  readonly clock?: Clock | undefined
}

export interface ListenOptions {
  /** The events were recorded earlier: durations come from their `at`, not from the clock. Default false. */
  readonly recorded?: boolean | undefined
  /** The backend of events that do not name theirs: the `kind` of the store, such as `sqlite`. */
  readonly backend?: string | undefined
}

export interface FileSinkOptions {
  /** When a file is larger, the next write begins another part. Default 64 MiB. */
  readonly maxFileBytes?: number | undefined
  /** When all files together are larger, the oldest are deleted. Default 1 GiB. */
  readonly maxTotalBytes?: number | undefined
  readonly clock?: Clock | undefined
  /** Called when old files could not be compressed or deleted. Records are still written. */
  readonly onError?: ((error: unknown) => void) | undefined
}

export interface HealthOptions {
  /** Default: `DEFAULT_THRESHOLDS`, also for what is left out. */
  readonly thresholds?: ThresholdsConfig | undefined
  /** Milliseconds since 1970. A window can clear a rule from a minute after its end. Default: all windows can. */
  readonly now?: number | undefined
}

export interface HttpSinkOptions {
  /** Where records wait while the server cannot be reached. Default: in memory, with the collector. */
  readonly buffer?: RecordBuffer | undefined
  /** Used in its place. Default: the global one. */
  readonly fetch?: typeof fetch | undefined
  /** Sent with each request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** How long to wait for an answer. Default 30 seconds. */
  readonly timeout?: Duration | undefined
}

export interface OpfsBufferOptions {
  /** The folder in the origin private file system. Default `holdfast-telemetry`. */
  readonly folder?: string | undefined
  /** The largest size of the file. Beyond it the oldest records are dropped. Default 1 MiB. */
  readonly maxBytes?: number | undefined
}

export interface ScoreOptions {
  /** The folder that `collect` fills. Default `telemetry`. */
  readonly directory?: string | undefined
  /** Files to read instead of a folder; `.gz` is decompressed. */
  readonly files?: readonly string[] | undefined
  /** Thresholds that differ from the defaults. */
  readonly thresholds?: ThresholdsConfig | undefined
  /** A `.json` or `.toml` file with thresholds, in place of `thresholds`. */
  readonly config?: string | undefined
  /** Prints JSON. Default false. */
  readonly json?: boolean | undefined
  /** The time of the check, milliseconds since 1970. Default: the present. */
  readonly now?: number | undefined
  /** Called from time to time while large files are read. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

export interface ReportOptions extends ScoreOptions {
  /** The folder for `report.html` and `alerts/<incident>.md`. Default `reports`. */
  readonly reports?: string | undefined
  /** The address of a Slack incoming webhook. */
  readonly slackUrl?: string | undefined
  /** The integration key of a PagerDuty service (Events API v2). */
  readonly pagerDutyKey?: string | undefined
  /** Default `https://events.pagerduty.com/v2/enqueue`. */
  readonly pagerDutyUrl?: string | undefined
}

export interface CollectOptions {
  /** Events or records, one JSON object per line, such as standard input. */
  readonly input?: AsyncIterable<Uint8Array | string> | undefined
  /** Files to read in place of `input`; `.gz` is decompressed. */
  readonly files?: readonly string[] | undefined
  /** The folder for the records. Default `telemetry`. */
  readonly directory?: string | undefined
  /** The stream of events whose type does not say it. Default `lease`. */
  readonly stream?: StreamName | undefined
  /** Ends the collection. Events that were already read are written. */
  readonly signal?: AbortSignal | undefined
  /** Prints JSON. Default false. */
  readonly json?: boolean | undefined
}

export interface TracingOptions {
  /** Whether spans contain the names of resources and jobs. Default true. */
  readonly names?: boolean | undefined
}
