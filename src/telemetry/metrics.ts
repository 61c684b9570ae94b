/** From records to metrics: what a record means, what is counted in a window, and the metrics of that window. */

import { WINDOW_MS } from './options.ts'
import { QuantileSketch } from './quantile-sketch.ts'
import type { StreamName, TelemetryRecord } from './record.ts'

/**
 * What a record means for the metrics, for every stream. `refused`: an acquire that ended without a lease and will not
 * be retried (`retryable=false`). A grant that ends the read-only mode has the field `returned` as well.
 */
const RECORD_MEANINGS = [
  'granted',
  'refused',
  'renewed',
  'renewal-failed',
  'released',
  'backoff',
  'warning',
  'readonly-entered',
  'readonly-returned',
  'saved',
] as const
export type RecordMeaning = (typeof RECORD_MEANINGS)[number]

const MEANINGS: Readonly<Record<string, RecordMeaning>> = {
  acquired: 'granted',
  'lock:acquired': 'granted',
  'document.locked': 'granted',
  renewed: 'renewed',
  'lock:renewed': 'renewed',
  lost: 'renewal-failed',
  released: 'released',
  'lock:released': 'released',
  'document.unlocked': 'released',
  'lock:waiting': 'backoff',
  warning: 'warning',
  'lock:warning': 'warning',
  'lock:cleanup-warning': 'warning',
  'lock:readonly-entered': 'readonly-entered',
  'autosave:readonly-entered': 'readonly-entered',
  'autosave:readonly-left': 'readonly-returned',
  'autosave:saved': 'saved',
}

export function meaningOf(record: TelemetryRecord): RecordMeaning | undefined {
  const { type } = record
  if (type === 'lock:retry') return record.operation === 'renew' ? 'renewal-failed' : undefined
  if (type === 'error' || type === 'lock:error') return meaningOfError(record)
  return Object.hasOwn(MEANINGS, type) ? MEANINGS[type] : undefined
}

/** An error of the executor is the application's own failure. It does not affect the lock's metrics. */
function meaningOfError({ operation, retryable }: TelemetryRecord): RecordMeaning | undefined {
  if (operation === 'renew') return 'renewal-failed'
  if (operation === 'acquire' && retryable === false) return 'refused'
  return undefined
}

/** Another tab holds the lock, and this one waits for it. Nothing failed. */
function isWaiting({ held, reason }: TelemetryRecord): boolean {
  return held === true || reason === 'held'
}

/** Kinds of warnings that are counted separately. All other kinds share one count, so that a window stays small. */
const WARNINGS = [
  'heartbeat-delayed',
  'fallback-delayed',
  'fallback-corrupt',
  'cleanup',
  'lease-in-danger',
  'other',
] as const
export type WarningKind = (typeof WARNINGS)[number]

export function warningKindOf({ warning }: TelemetryRecord): WarningKind {
  return WARNINGS.find((kind) => kind === warning) ?? 'other'
}

/** The duration that a record with each meaning adds to the quantiles. */
const DURATIONS: { readonly [M in RecordMeaning]?: 'waitedMs' | 'leftMs' | 'releaseMs' | 'delayMs' } = {
  granted: 'waitedMs',
  refused: 'waitedMs',
  renewed: 'leftMs',
  released: 'releaseMs',
  backoff: 'delayMs',
}

/** The counts of one stream in one window. The order of `add` and `merge` calls does not matter. */
export class WindowCounts {
  /** How many records have each meaning. */
  readonly meanings = zeros(RECORD_MEANINGS)
  readonly counts = {
    records: 0,
    /** Attempts of all acquires that ended. */
    attempts: 0,
    /** Acquires that ended on the fallback. */
    fallback: 0,
    /** Entries into the read-only mode that only wait for another tab. */
    readonlyWaiting: 0,
  }
  readonly warnings = zeros(WARNINGS)
  readonly sketches = {
    waitedMs: new QuantileSketch(),
    leftMs: new QuantileSketch(),
    releaseMs: new QuantileSketch(),
    delayMs: new QuantileSketch(),
  }

  add(record: TelemetryRecord): void {
    this.counts.records++
    const meaning = meaningOf(record)
    if (!meaning) return
    this.meanings[meaning]++
    const field = DURATIONS[meaning]
    if (field && record[field] !== undefined) this.sketches[field].add(record[field])
    if (meaning === 'granted' || meaning === 'refused') {
      this.counts.attempts += record.attempts ?? 1
      if (record.backend === 'fallback') this.counts.fallback++
      if (record.returned) this.meanings['readonly-returned']++
    } else if (meaning === 'warning') this.warnings[warningKindOf(record)]++
    else if (meaning === 'readonly-entered' && isWaiting(record)) this.counts.readonlyWaiting++
  }

  merge(other: WindowCounts): void {
    addCounts(this.meanings, other.meanings)
    addCounts(this.counts, other.counts)
    addCounts(this.warnings, other.warnings)
    for (const [field, sketch] of Object.entries(this.sketches))
      sketch.merge(other.sketches[field as keyof WindowCounts['sketches']])
  }
}

function zeros<K extends string>(names: readonly K[]): Record<K, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<K, number>
}

/** Adds the counts of `other` to the counts with the same names. */
export function addCounts<K extends string>(
  counts: Record<K, number>,
  other: Readonly<Record<K, number>>,
): void {
  for (const name of Object.keys(counts) as K[]) counts[name] += other[name]
}

/** The metrics of one stream in one window, as `score --json` prints them. Shares are from 0 to 1. */
export interface WindowMetrics {
  readonly stream: StreamName
  /** ISO 8601. */
  readonly start: string
  readonly end: string
  /** Records of the window. */
  readonly records: number
  /** Acquires that ended: with a grant, or without one for good. */
  readonly acquires: number
  /** Attempts per acquire that ended. */
  readonly attempts_per_acquire: number | null
  /** Share of the acquires that ended with a grant. */
  readonly success_rate: number | null
  /** Share of the acquires that failed for good: their error has `retryable=false`. Errors of the executor do not count. */
  readonly retryable_false: number | null
  /** Share of the acquires that ended on the fallback file. */
  readonly fallback_rate: number | null
  /** Time from the call to the end of an acquire. */
  readonly wait_ms: Quantiles | null
  /** Renewals, successful or not. */
  readonly heartbeats: number
  /** Share of the renewals that succeeded. */
  readonly heartbeat_success: number | null
  /** Rest of the TTL at a successful renewal. */
  readonly ttl_left_ms: Quantiles | null
  /** Time from the request to release to its end. */
  readonly release_ms: Quantiles | null
  /** Pauses before the next attempt. */
  readonly backoff_ms: Quantiles | null
  /** Warnings by kind: `autosave.lock.warning`. */
  readonly warnings: Readonly<Record<WarningKind, number>>
  /** Begins of the read-only mode: `autosave.lock.readonly`. */
  readonly readonly_entered: number
  /** Ends of the read-only mode. */
  readonly readonly_returned: number
  /** Those of `readonly_entered` that are not failures: another tab holds the lock, and this one waits for it. */
  readonly readonly_waiting: number
  /** Share of `readonly_chances` that ended in the read-only mode because of a failure. */
  readonly readonly_rate: number | null
  /** Grants of a lock, saves of AutoSave, and entries into the read-only mode because of a failure. */
  readonly readonly_chances: number
}

export interface Quantiles {
  readonly count: number
  readonly min: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

export function metricsOf(stream: StreamName, startMs: number, window: WindowCounts): WindowMetrics {
  const { meanings, counts, sketches, warnings } = window
  const { granted, refused, renewed, 'readonly-entered': entered } = meanings
  const acquires = granted + refused
  const heartbeats = renewed + meanings['renewal-failed']
  const readonlyFailures = entered - counts.readonlyWaiting
  const readonlyChances = readonlyFailures + granted + meanings.saved
  return {
    stream,
    start: new Date(startMs).toISOString(),
    end: new Date(startMs + WINDOW_MS).toISOString(),
    records: counts.records,
    acquires,
    attempts_per_acquire: ratio(counts.attempts, acquires),
    success_rate: ratio(granted, acquires),
    retryable_false: ratio(refused, acquires),
    fallback_rate: ratio(counts.fallback, acquires),
    wait_ms: quantilesOf(sketches.waitedMs),
    heartbeats,
    heartbeat_success: ratio(renewed, heartbeats),
    ttl_left_ms: quantilesOf(sketches.leftMs),
    release_ms: quantilesOf(sketches.releaseMs),
    backoff_ms: quantilesOf(sketches.delayMs),
    warnings: { ...warnings },
    readonly_entered: entered,
    readonly_returned: meanings['readonly-returned'],
    readonly_waiting: counts.readonlyWaiting,
    readonly_rate: ratio(readonlyFailures, readonlyChances),
    readonly_chances: readonlyChances,
  }
}

function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}

function quantilesOf(sketch: QuantileSketch): Quantiles | null {
  if (sketch.count === 0) return null
  const at = (q: number) => sketch.quantile(q) ?? 0
  const { count, min, max } = sketch
  return { count, min, p50: at(0.5), p95: at(0.95), p99: at(0.99), max }
}
