/**
 * From windows to the health of the locks. Each rule of each stream is a small state machine over the windows:
 *
 *     quiet ── enter_after windows out of bounds ──▶ firing
 *     firing ── clear_after windows well within bounds ──▶ quiet
 *
 * A window between the two bounds changes nothing. So a value that moves around its threshold causes one incident,
 * not many. A window with too few samples cannot make a rule fire. A window that may still get lines cannot end it:
 * it has not ended, or only just, and collectors send their lines a few seconds late.
 */

import { expectMethods, expectOptions, refuse } from '../base/arguments.ts'
import { compareUtf8 } from '../base/utf8-order.ts'
import { type Analysis, expectMoment, type Skipped } from './analysis.ts'
import type { WindowMetrics } from './metrics.ts'
import { type HealthOptions, INCIDENT_FINAL_AFTER_MS, WINDOW_MS } from './options.ts'
import type { StreamName } from './record.ts'
import {
  makeThresholds,
  RULE_NAMES,
  RULES,
  type RuleName,
  type Severity,
  type Threshold,
  type Thresholds,
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
    RULE_NAMES.flatMap((rule) => findFirings(rule, stream, ofStream, { thresholds, now })),
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
  { thresholds, now }: { readonly thresholds: Thresholds; readonly now: number },
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
  thresholds: Thresholds,
  now: number,
): Generator<Observation> {
  const { clear_after } = thresholds
  let gap = Number.POSITIVE_INFINITY
  for (const window of windows) {
    const start = Date.parse(window.start)
    const end = start + WINDOW_MS
    // A missing window had no events. More of them than `clear_after` change nothing.
    for (
      let gaps = 0;
      gap < start && gaps < clear_after && isFinal(gap + WINDOW_MS, now);
      gap += WINDOW_MS, gaps++
    )
      yield { state: 'within', start: gap, end: gap + WINDOW_MS, value: 0, samples: 0 }
    gap = end
    const [value, samples] = RULES[rule].read(window)
    const state = stateOf(rule, window, thresholds)
    if (state !== 'within' || isFinal(end, now)) yield { state, start, end, value: value ?? 0, samples }
  }
}

/** Whether a window with this end has all its lines, except for those of pages that could not send them. */
export function isFinal(end: number, now: number): boolean {
  return end + INCIDENT_FINAL_AFTER_MS <= now
}

export function stateOf(
  rule: RuleName,
  window: WindowMetrics,
  { rules, clear_at }: Pick<Thresholds, 'rules' | 'clear_at'>,
): Observation['state'] {
  const { perfect, read } = RULES[rule]
  const [value, samples] = read(window)
  if (value === null) return 'within'
  const distance = Math.abs(value - perfect)
  const allowed = Math.abs(boundOf(rules[rule]) - perfect)
  if (distance > allowed && samples >= (rules[rule].samples ?? 1)) return 'out'
  return distance <= allowed * clear_at ? 'within' : 'between'
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
  for (const firing of firings.toSorted((a, b) => compareUtf8(a.since, b.since))) {
    const { since, until } = firing
    const last = incidents.at(-1)
    if (last && overlap(last, firing)) incidents[incidents.length - 1] = extend(last, firing)
    else incidents.push({ id: incidentId(since), since, until, firings: [firing] })
  }
  return incidents
}

function extend(incident: Incident, firing: FiringRule): Incident {
  return { ...incident, until: lastEnd([incident, firing]), firings: [...incident.firings, firing] }
}

type Span = Pick<Incident, 'since' | 'until'>

/** Spans that only touch belong together too. */
export function overlap(a: Span, b: Span): boolean {
  return (b.until === null || a.since <= b.until) && (a.until === null || b.since <= a.until)
}

/** `null` if one of the spans has not ended. */
export function lastEnd(spans: readonly Span[]): string | null {
  const ends = spans.flatMap(({ until }) => until ?? [])
  return ends.length < spans.length ? null : (ends.toSorted().at(-1) ?? null)
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
