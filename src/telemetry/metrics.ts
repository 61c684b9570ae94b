import type { StreamName } from './record.ts'
import type { WarningKind } from './signals.ts'
import type { Sketch } from './sketch.ts'
import type { Tally } from './tally.ts'

/** The metrics of one stream in one window, as `score --json` prints them. Shares are from 0 to 1. */
export interface WindowMetrics {
  readonly stream: StreamName
  /** ISO 8601. */
  readonly start: string
  readonly end: string
  readonly records: number
  /** Acquires that ended, by a grant or for good without one. */
  readonly acquires: number
  readonly attempts_per_acquire: number | null
  readonly success_rate: number | null
  /** Share of the acquires that ended with `retryable=false`. */
  readonly retryable_false: number | null
  readonly fallback_rate: number | null
  readonly wait_ms: Quantiles | null
  readonly heartbeats: number
  readonly heartbeat_success: number | null
  readonly ttl_left_ms: Quantiles | null
  readonly release_ms: Quantiles | null
  readonly backoff_ms: Quantiles | null
  /** `autosave.lock.warning`, by kind. */
  readonly warnings: Readonly<Record<WarningKind, number>>
  /** `autosave.lock.readonly`: entries, and grants that ended one. */
  readonly readonly_entered: number
  readonly readonly_returned: number
}

export interface Quantiles {
  readonly count: number
  readonly min: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

export function metricsOf(
  stream: StreamName,
  startMs: number,
  windowMs: number,
  tally: Tally,
): WindowMetrics {
  const { counts, sketches } = tally
  const acquires = counts.granted + counts.refused
  const heartbeats = counts.beats + counts.missedBeats
  return {
    stream,
    start: new Date(startMs).toISOString(),
    end: new Date(startMs + windowMs).toISOString(),
    records: counts.records,
    acquires,
    attempts_per_acquire: ratio(counts.attempts, acquires),
    success_rate: ratio(counts.granted, acquires),
    retryable_false: ratio(counts.refused, acquires),
    fallback_rate: ratio(counts.fallback, acquires),
    wait_ms: quantilesOf(sketches.waited),
    heartbeats,
    heartbeat_success: ratio(counts.beats, heartbeats),
    ttl_left_ms: quantilesOf(sketches.left),
    release_ms: quantilesOf(sketches.release),
    backoff_ms: quantilesOf(sketches.backoff),
    warnings: { ...tally.warnings },
    readonly_entered: counts.readonlyEntered,
    readonly_returned: counts.readonlyReturned,
  }
}

function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}

function quantilesOf(sketch: Sketch): Quantiles | null {
  if (sketch.count === 0) return null
  const at = (q: number) => sketch.quantile(q) ?? 0
  const { count, min, max } = sketch
  return { count, min, p50: at(0.5), p95: at(0.95), p99: at(0.99), max }
}
