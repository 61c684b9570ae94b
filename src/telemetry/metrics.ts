/** From records to metrics: what a record means, what is counted in a window, and the metrics of that window. */
import { QuantileSketch } from './quantile-sketch.ts'
import type { StreamName, TelemetryRecord } from './record.ts'

export const WINDOW_MS = 15 * 60_000

/** What a record means for the metrics, for every stream. */
export type RecordMeaning =
  | 'granted'
  /** An acquire that ended without a lease and will not be retried (`retryable=false`). */
  | 'refused'
  | 'renewed'
  | 'renewal-failed'
  | 'released'
  | 'backoff'
  | 'warning'
  | 'readonly-entered'
  | 'saved'
  /** The end of the read-only mode. A grant that ends it has the field `returned` instead. */
  | 'readonly-returned'

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

/** The counts of one stream in one window. The order of `add` and `merge` calls does not matter. */
export class WindowCounts {
  readonly counts = {
    records: 0,
    granted: 0,
    refused: 0,
    /** Attempts of all acquires that ended. */
    attempts: 0,
    /** Acquires that ended on the fallback. */
    fallback: 0,
    renewals: 0,
    failedRenewals: 0,
    readonlyEntered: 0,
    /** Those of `readonlyEntered` that only wait for another tab. */
    readonlyWaiting: 0,
    readonlyReturned: 0,
    saves: 0,
  }
  readonly warnings = Object.fromEntries(WARNINGS.map((kind) => [kind, 0])) as Record<WarningKind, number>
  readonly sketches = {
    waited: new QuantileSketch(),
    left: new QuantileSketch(),
    release: new QuantileSketch(),
    backoff: new QuantileSketch(),
  }

  add(record: TelemetryRecord): void {
    const { counts, sketches } = this
    counts.records++
    switch (meaningOf(record)) {
      case 'granted':
        counts.granted++
        this.#addAcquire(record)
        if (record.returned) counts.readonlyReturned++
        break
      case 'refused':
        counts.refused++
        this.#addAcquire(record)
        break
      case 'renewed':
        counts.renewals++
        if (record.leftMs !== undefined) sketches.left.add(record.leftMs)
        break
      case 'renewal-failed':
        counts.failedRenewals++
        break
      case 'released':
        if (record.releaseMs !== undefined) sketches.release.add(record.releaseMs)
        break
      case 'backoff':
        if (record.delayMs !== undefined) sketches.backoff.add(record.delayMs)
        break
      case 'warning':
        this.warnings[warningKindOf(record)]++
        break
      case 'readonly-entered':
        counts.readonlyEntered++
        if (isWaiting(record)) counts.readonlyWaiting++
        break
      case 'saved':
        counts.saves++
        break
      case 'readonly-returned':
        counts.readonlyReturned++
        break
    }
  }

  #addAcquire({ attempts, waitedMs, backend }: TelemetryRecord): void {
    this.counts.attempts += attempts ?? 1
    if (backend === 'fallback') this.counts.fallback++
    if (waitedMs !== undefined) this.sketches.waited.add(waitedMs)
  }

  merge(other: WindowCounts): void {
    addCounts(this.counts, other.counts)
    addCounts(this.warnings, other.warnings)
    for (const [name, sketch] of Object.entries(this.sketches))
      sketch.merge(other.sketches[name as keyof WindowCounts['sketches']])
  }
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
  readonly records: number
  /** Acquires that ended: with a grant, or without one for good. */
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
  /** `autosave.lock.readonly`: how often the read-only mode began and ended. */
  readonly readonly_entered: number
  readonly readonly_returned: number
  /** How many of the entries are not failures: another tab holds the lock, and this one waits for it. */
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
  const { counts, sketches, warnings } = window
  const acquires = counts.granted + counts.refused
  const heartbeats = counts.renewals + counts.failedRenewals
  const readonlyFailures = counts.readonlyEntered - counts.readonlyWaiting
  const readonlyChances = readonlyFailures + counts.granted + counts.saves
  return {
    stream,
    start: new Date(startMs).toISOString(),
    end: new Date(startMs + WINDOW_MS).toISOString(),
    records: counts.records,
    acquires,
    attempts_per_acquire: ratio(counts.attempts, acquires),
    success_rate: ratio(counts.granted, acquires),
    retryable_false: ratio(counts.refused, acquires),
    fallback_rate: ratio(counts.fallback, acquires),
    wait_ms: quantilesOf(sketches.waited),
    heartbeats,
    heartbeat_success: ratio(counts.renewals, heartbeats),
    ttl_left_ms: quantilesOf(sketches.left),
    release_ms: quantilesOf(sketches.release),
    backoff_ms: quantilesOf(sketches.backoff),
    warnings: { ...warnings },
    readonly_entered: counts.readonlyEntered,
    readonly_returned: counts.readonlyReturned,
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
