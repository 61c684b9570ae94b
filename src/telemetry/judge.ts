/**
 * From windows to a verdict. Each rule of each stream is a small machine that walks through the windows:
 *
 *     quiet ── enter_after windows out of bounds ──▶ firing
 *     firing ── clear_after windows well within bounds ──▶ quiet
 *
 * Between the two bounds nothing changes, so a value that trembles around a threshold raises one incident,
 * not many. A window with too few samples cannot fire a rule, and one that has not ended cannot clear it.
 */
import { type Analysis, type Skipped, WINDOW_MS } from './analysis.ts'
import { findIncidents, type Incident } from './incidents.ts'
import type { WindowMetrics } from './metrics.ts'
import type { StreamName } from './record.ts'
import {
  DEFAULT_THRESHOLDS,
  RULES,
  type RuleName,
  type Severity,
  type Threshold,
  type Thresholds,
} from './thresholds.ts'

export interface Verdict {
  readonly rollback_required: boolean
  readonly status: 'healthy' | 'degraded' | 'rollback'
  /** Rules that fire now. */
  readonly reasons: readonly Firing[]
  /** Times in which a rollback was called for, also those that are over. */
  readonly incidents: readonly Incident[]
  readonly windows: readonly WindowMetrics[]
  readonly skipped: Skipped
  readonly thresholds: Thresholds
}

/** A time in which a rule of a stream fired. */
export interface Firing {
  readonly rule: RuleName
  readonly stream: StreamName
  readonly severity: Exclude<Severity, 'off'>
  readonly bound: number
  /** The value of the newest window that was out of bounds, and of the worst one. */
  readonly value: number
  readonly worst: number
  /** How many samples the value rests on. */
  readonly samples: number
  /** Starts of the windows that were out of bounds. */
  readonly windows: readonly string[]
  readonly since: string
  /** End of the window in which it cleared; `null` while it lasts. */
  readonly until: string | null
}

export interface JudgeOptions {
  readonly thresholds?: Thresholds
  /** A window that ends after this moment is not over. Default: all are. */
  readonly now?: number
}

export function judge(
  analysis: Pick<Analysis, 'metrics' | 'skipped'>,
  { thresholds = DEFAULT_THRESHOLDS, now = Number.POSITIVE_INFINITY }: JudgeOptions = {},
): Verdict {
  const windows = analysis.metrics()
  const firings = [...Map.groupBy(windows, ({ stream }) => stream).values()].flatMap((ofStream) =>
    (Object.keys(RULES) as RuleName[]).flatMap((rule) => walk(rule, ofStream, thresholds, now)),
  )
  const reasons = firings.filter(({ until }) => until === null)
  const rollback = reasons.some(({ severity }) => severity === 'rollback')
  return {
    rollback_required: rollback,
    status: rollback ? 'rollback' : reasons.length > 0 ? 'degraded' : 'healthy',
    reasons,
    incidents: findIncidents(firings.filter(({ severity }) => severity === 'rollback')),
    windows,
    skipped: { ...analysis.skipped },
    thresholds,
  }
}

interface Observation {
  readonly state: 'out' | 'within' | 'between'
  readonly start: number
  readonly end: number
  readonly value: number
  readonly samples: number
}

function walk(
  rule: RuleName,
  windows: readonly WindowMetrics[],
  thresholds: Thresholds,
  now: number,
): Firing[] {
  const threshold = thresholds.rules[rule]
  const stream = windows[0]?.stream
  if (threshold.severity === 'off' || !stream) return []
  const about = { rule, stream, severity: threshold.severity, bound: boundOf(threshold) }
  const firings: Firing[] = []
  let out: Observation[] = []
  let calm = 0
  for (const seen of observe(rule, windows, thresholds, now)) {
    const fires = out.length >= thresholds.enter_after
    if (seen.state === 'out') {
      out.push(seen)
      calm = 0
      continue
    }
    calm = seen.state === 'within' ? calm + 1 : 0
    if (fires && calm < thresholds.clear_after) continue
    if (fires) firings.push(summarize(about, out, seen.end))
    out = []
  }
  return out.length >= thresholds.enter_after ? [...firings, summarize(about, out, null)] : firings
}

function* observe(
  rule: RuleName,
  windows: readonly WindowMetrics[],
  { rules, clear_at, clear_after }: Thresholds,
  now: number,
): Generator<Observation> {
  const threshold = rules[rule]
  let next = Date.parse(windows[0]?.start ?? '')
  for (const window of windows) {
    const start = Date.parse(window.start)
    const end = start + WINDOW_MS
    // Nothing happened in windows that are missing. More of them than clear a rule tell nothing new.
    for (let gaps = 0; next < start && gaps < clear_after; next += WINDOW_MS, gaps++)
      yield { state: 'within', start: next, end: next + WINDOW_MS, value: 0, samples: 0 }
    next = end
    const [value, samples] = RULES[rule].read(window)
    const state = stateOf(rule, threshold, clear_at, value, samples)
    if (state !== 'within' || end <= now) yield { state, start, end, value: value ?? 0, samples }
  }
}

function stateOf(
  rule: RuleName,
  threshold: Threshold,
  clearAt: number,
  value: number | null,
  samples: number,
): Observation['state'] {
  if (value === null) return 'within'
  const { perfect } = RULES[rule]
  const distance = Math.abs(value - perfect)
  const allowed = Math.abs(boundOf(threshold) - perfect)
  if (distance > allowed && samples >= (threshold.samples ?? 1)) return 'out'
  return distance <= allowed * clearAt ? 'within' : 'between'
}

function boundOf({ above, below }: Threshold): number {
  return above ?? below ?? 0
}

function summarize(
  about: Pick<Firing, 'rule' | 'stream' | 'severity' | 'bound'>,
  out: readonly Observation[],
  until: number | null,
): Firing {
  const { perfect } = RULES[about.rule]
  const worst = out.reduce((a, b) => (Math.abs(b.value - perfect) > Math.abs(a.value - perfect) ? b : a))
  const newest = out.at(-1) ?? worst
  const windows = out.map(({ start }) => new Date(start).toISOString())
  return {
    ...about,
    value: newest.value,
    worst: worst.value,
    samples: newest.samples,
    windows,
    since: windows[0] ?? '',
    until: until === null ? null : new Date(until).toISOString(),
  }
}
