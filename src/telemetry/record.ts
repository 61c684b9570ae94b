/**
 * One line of telemetry. Everything that an analysis needs of an event stands in its own line, also what
 * only the collector could know (how long the wait was, how much TTL was left), so lines may be read in any
 * order and in any number of parts. No field holds free text: codes, counts, durations and hashes only.
 */
export const RECORD_VERSION = 1

export const STREAMS = ['lease', 'project', 'autosave', 'document', 'sync'] as const
export type StreamName = (typeof STREAMS)[number]

/** The optional fields of a record, by kind. The order is the order in a line. */
export const FIELDS = {
  /** Names the collector that wrote the line: a process or a page. */
  source: 'code',
  /** The lease's id, hashed: whoever knows an id may end its lease. */
  lease: 'code',
  resource: 'name',
  owner: 'name',
  scope: 'code',
  backend: 'code',
  strategy: 'code',
  operation: 'code',
  /** Of an error. */
  code: 'code',
  retryable: 'flag',
  reason: 'code',
  warning: 'code',
  phase: 'code',
  /** Which attempt of an acquire this is, from 1. */
  attempt: 'count',
  /** How many attempts an acquire took until it ended. */
  attempts: 'count',
  token: 'count',
  /** From the call to the end of the acquire. */
  waitedMs: 'duration',
  /** A pause before the next attempt. */
  delayMs: 'duration',
  /** What was left of the TTL when a renewal came through. */
  leftMs: 'duration',
  heldMs: 'duration',
  /** From the request to release until it was done. */
  releaseMs: 'duration',
  /** This grant ended a time of read-only. */
  returned: 'flag',
} as const satisfies Record<string, FieldKind>

export type FieldKind = 'code' | 'name' | 'flag' | 'count' | 'duration'
type Kinds = { code: string; name: string; flag: boolean; count: number; duration: number }

export type RecordFields = {
  readonly [F in keyof typeof FIELDS]?: Kinds[(typeof FIELDS)[F]]
}

export interface TelemetryRecord extends RecordFields {
  readonly v: typeof RECORD_VERSION
  /** ISO 8601, UTC, milliseconds. */
  readonly at: string
  readonly stream: StreamName
  /** As the event stream names it, such as `lock:acquired`. */
  readonly type: string
}
