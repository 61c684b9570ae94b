/**
 * From windows to the health of the locks. Each rule of each stream is a small state machine over the windows:
 *
 *     quiet ── enter_after windows out of bounds ──▶ firing
 *     firing ── clear_after windows well within bounds ──▶ quiet
 *
 * A window between the two bounds changes nothing. So a value that moves around its threshold causes one incident,
 * not many. A window with too few samples cannot make a rule fire. A window that has not ended cannot end it.
 */
import { expectMethods, expectOptions, refuse } from '../base/arguments.ts'
import { type Analysis, expectMoment, type Skipped } from './analysis.ts'
import { WINDOW_MS, type WindowMetrics } from './metrics.ts'
import type { StreamName } from './record.ts'
import {
  makeThresholds,
  RULE_NAMES,
  RULES,
  type RuleName,
  type Severity,
  type Threshold,
  type Thresholds,
  type ThresholdsConfig,
} from './thresholds.ts'

/** The health of the locks, as `score --json` prints it. */
export interface LockHealth {
  readonly rollback_required: boolean
  readonly status: 'healthy' | 'degraded' | 'rollback'
  /** The rules that fire now. */
  readonly reasons: readonly FiringRule[]
  /** The times in which a rollback was required, also those that have ended. */
  readonly incidents: readonly Incident[]
  readonly windows: readonly WindowMetrics[]
  readonly skipped: Skipped
  readonly thresholds: Thresholds
}

/** A time in which one rule of one stream fired. */
export interface FiringRule {
  readonly rule: RuleName
  readonly stream: StreamName
  readonly severity: Exclude<Severity, 'off'>
  readonly bound: number
  /** The value in the newest window that was out of bounds. */
  readonly value: number
  /** The worst value of all windows. */
  readonly worst: number
  /** The number of samples behind `value`. */
  readonly samples: number
  /** The starts of the windows that were out of bounds. */
  readonly windows: readonly string[]
  readonly since: string
  /** The end of the window in which the rule stopped to fire; `null` while it fires. */
  readonly until: string | null
}

/** A time in which a rollback was required, because of one rule or of several whose times overlap. */
export interface Incident {
  /** Made from its start, so that the same incident has the same id in every run. */
  readonly id: string
  readonly since: string
  /** `null` while it lasts. */
  readonly until: string | null
  readonly firings: readonly FiringRule[]
}

export interface HealthOptions {
  /** Default: `DEFAULT_THRESHOLDS`, also for what is left out. */
  readonly thresholds?: ThresholdsConfig
  /** Milliseconds since 1970. A window that ends later has not ended. Default: all windows have ended. */
  readonly now?: number
}

/**
 * Compares the metrics of an analysis with thresholds.
 *
 * @example
 * const { status, reasons } = checkHealth(analysis, { now: Date.now() })
 */
export function checkHealth(
  analysis: Pick<Analysis, 'metrics' | 'skipped'>,
  options: HealthOptions = {},
): LockHealth {
  expectMethods('analysis', analysis, 'an Analysis', 'metrics')
  expectOptions(options, { thresholds: 1, now: 1 })
  const { now = Number.POSITIVE_INFINITY } = options
  if (now !== Number.POSITIVE_INFINITY) expectMoment('now', now)
  const thresholds = makeThresholds(options.thresholds === undefined ? {} : options.thresholds)
  const windows = analysis.metrics()
  const firings = [...Map.groupBy(windows, ({ stream }) => stream)].flatMap(([stream, ofStream]) =>
    RULE_NAMES.flatMap((rule) => findFirings(rule, stream, ofStream, thresholds, now)),
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

function findFirings(
  rule: RuleName,
  stream: StreamName,
  windows: readonly WindowMetrics[],
  thresholds: Thresholds,
  now: number,
): FiringRule[] {
  const threshold = thresholds.rules[rule]
  if (threshold.severity === 'off') return []
  const about = { rule, stream, severity: threshold.severity, bound: boundOf(threshold) }
  const firings: FiringRule[] = []
  let out: Observation[] = []
  let goodWindows = 0
  for (const observation of observe(rule, windows, thresholds, now)) {
    const fires = out.length >= thresholds.enter_after
    if (observation.state === 'out') {
      out.push(observation)
      goodWindows = 0
      continue
    }
    goodWindows = observation.state === 'within' ? goodWindows + 1 : 0
    if (fires && goodWindows < thresholds.clear_after) continue
    if (fires) firings.push(summarize(about, out, observation.end))
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
  let next = Date.parse(windows[0]?.start ?? '')
  for (const window of windows) {
    const start = Date.parse(window.start)
    const end = start + WINDOW_MS
    // A missing window had no events. More of them than `clear_after` change nothing.
    for (let gaps = 0; next < start && gaps < clear_after; next += WINDOW_MS, gaps++)
      yield { state: 'within', start: next, end: next + WINDOW_MS, value: 0, samples: 0 }
    next = end
    const [value, samples] = RULES[rule].read(window)
    const state = stateOf(rule, rules[rule], clear_at, value, samples)
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

/** The value beyond which the rule is out of bounds. */
export function boundOf({ above, below }: Threshold): number {
  return above ?? below ?? 0
}

function summarize(
  about: Pick<FiringRule, 'rule' | 'stream' | 'severity' | 'bound'>,
  out: readonly Observation[],
  until: number | null,
): FiringRule {
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

function findIncidents(firings: readonly FiringRule[]): Incident[] {
  const incidents: Incident[] = []
  for (const firing of firings.toSorted((a, b) => a.since.localeCompare(b.since))) {
    const { since, until } = firing
    const last = incidents.at(-1)
    if (last && (last.until === null || since <= last.until))
      incidents[incidents.length - 1] = extend(last, firing)
    else incidents.push({ id: incidentId(since), since, until, firings: [firing] })
  }
  return incidents
}

function extend(incident: Incident, firing: FiringRule): Incident {
  const ends = [incident.until, firing.until]
  return {
    ...incident,
    until: ends.includes(null) ? null : (ends.toSorted().at(-1) ?? null),
    firings: [...incident.firings, firing],
  }
}

/** Such as `incident-20300101T0015Z`. It is also the name of a file. */
export const INCIDENT_ID = /^incident-\d{8}T\d{4}Z$/

function incidentId(since: string): string {
  return `incident-${since.slice(0, 16).replaceAll(/[-:]/g, '')}Z`
}

export function expectHealth(option: string, value: unknown): asserts value is LockHealth {
  const { windows, reasons, incidents } = Object(value) as Partial<LockHealth>
  if (![windows, reasons, incidents].every(Array.isArray)) refuse(option, 'the result of checkHealth', value)
}

export function expectIncident(option: string, value: unknown): asserts value is Incident {
  const { id, since, firings } = Object(value) as Partial<Incident>
  if (typeof id !== 'string' || typeof since !== 'string' || !Array.isArray(firings))
    refuse(option, 'an incident of checkHealth', value)
}

/** @deprecated Use `checkHealth`. */
export const judge = checkHealth
/** @deprecated Use `HealthOptions`. */
export type JudgeOptions = HealthOptions
/** @deprecated Use `LockHealth`. */
export type Verdict = LockHealth
/** @deprecated Use `FiringRule`. */
export type Firing = FiringRule
