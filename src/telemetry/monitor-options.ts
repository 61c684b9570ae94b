import type { StreamName } from './record.ts'

/** What a command prints and how it ends. With `json`, `stdout` is one JSON document. */
export interface MonitorResult {
  /**
   * 0 healthy or done; 1 rollback required (`score`), alert not delivered or what was remembered not readable
   * (`report`); 2 bad input.
   */
  readonly exitCode: 0 | 1 | 2
  readonly stdout: string
  readonly stderr: string
}

export interface CollectOptions {
  /** Events or records, one JSON object a line: standard input, or the stream of a file. */
  readonly input: AsyncIterable<Uint8Array | string>
  /** Where the records go. Default `telemetry`. */
  readonly directory?: string
  /** Which stream a raw event belongs to when its type does not tell. Default `lease`. */
  readonly stream?: StreamName
  /** Ends the collection in order: what was read is written. */
  readonly signal?: AbortSignal
  readonly json?: boolean
}

export interface ScoreOptions {
  /** The folder that `collect` fills. Default `telemetry`. */
  readonly directory?: string
  /** These files instead of a folder; `.gz` is read too. */
  readonly files?: readonly string[]
  /** A `.json` or `.toml` file with thresholds. Default: the built-in ones. */
  readonly config?: string
  readonly json?: boolean
  /** The moment to judge at, milliseconds. Default: the present. */
  readonly now?: number
  /** Called now and then while long files are read. */
  readonly onProgress?: (progress: Progress) => void
}

export interface Progress {
  readonly bytesRead: number
  readonly bytesTotal: number
  readonly lines: number
}

export interface ReportOptions extends ScoreOptions {
  /** The folder for `report.html` and `alerts/<incident>.md`. Default `reports`. */
  readonly reports?: string
  /** A Slack incoming webhook. */
  readonly slackUrl?: string
  /** The integration key of a PagerDuty service (Events API v2). */
  readonly pagerDutyKey?: string
  /** Default `https://events.pagerduty.com/v2/enqueue`. */
  readonly pagerDutyUrl?: string
}
