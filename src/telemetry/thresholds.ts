import { definedIn, expectObject, expectOneOf, expectWhole, refuse } from '../base/arguments.ts'
import { type Duration, expectDuration } from '../base/duration.ts'
import type { WindowMetrics } from './metrics.ts'

/** When a metric of a window is out of bounds, and what follows from it. */
export interface Threshold {
  /** A value above this is out of bounds. */
  readonly above?: number
  /** A value below this is out of bounds. */
  readonly below?: number
  /** A window with fewer samples is never out of bounds. Default 1. */
  readonly samples?: number
  /** `rollback`: a rollback is required. `warn`: the status is degraded. `off`: the rule is not checked. */
  readonly severity: Severity
}

const SEVERITIES = ['rollback', 'warn', 'off'] as const
export type Severity = (typeof SEVERITIES)[number]

export interface Thresholds {
  readonly rules: Readonly<Record<RuleName, Threshold>>
  /** A rule fires after this many windows in a row that are out of bounds. Default 1. */
  readonly enter_after: number
  /** A rule that fires ends after this many windows in a row that are well within bounds. Default 2. */
  readonly clear_after: number
  /** Well within bounds: at most this share of the way from the perfect value to the bound. Default 0.8. */
  readonly clear_at: number
}

/** A part of `Thresholds`, such as a parsed configuration file. */
export interface ThresholdsConfig {
  readonly rules?: { readonly [R in RuleName]?: ThresholdConfig | undefined } | undefined
  /** As in `Thresholds`. Default 1. */
  readonly enter_after?: number | undefined
  /** As in `Thresholds`. Default 2. */
  readonly clear_after?: number | undefined
  /** As in `Thresholds`. Default 0.8. */
  readonly clear_at?: number | undefined
}

export interface ThresholdConfig {
  /** As in `Threshold`. */
  readonly below?: number | undefined
  /** As in `Threshold`. */
  readonly samples?: number | undefined
  /** As in `Threshold`. */
  readonly severity?: Severity | undefined
  /** Milliseconds or text such as `'5s'` for `wait_p95_ms`. */
  readonly above?: Duration | undefined
}

/** The metric of each rule: its perfect value, and how to read value and sample count. All but times are shares. */
export const RULES = {
  retryable_false: { perfect: 0, read: (m) => [m.retryable_false, m.acquires] },
  readonly: { perfect: 0, read: (m) => [m.readonly_rate, m.readonly_chances] },
  fallback_rate: { perfect: 0, read: (m) => [m.fallback_rate, m.acquires] },
  success_rate: { perfect: 1, read: (m) => [m.success_rate, m.acquires] },
  heartbeat_success: { perfect: 1, read: (m) => [m.heartbeat_success, m.heartbeats] },
  wait_p95_ms: { perfect: 0, read: (m) => [m.wait_ms?.p95 ?? null, m.wait_ms?.count ?? 0] },
} as const satisfies Record<string, Rule>
export type RuleName = keyof typeof RULES
export const RULE_NAMES = Object.keys(RULES) as RuleName[]

interface Rule {
  readonly perfect: number
  read(metrics: WindowMetrics): readonly [value: number | null, samples: number]
}

export const DEFAULT_THRESHOLDS: Thresholds = {
  rules: {
    retryable_false: { above: 0.05, samples: 20, severity: 'rollback' },
    readonly: { above: 0.1, samples: 20, severity: 'rollback' },
    fallback_rate: { above: 0.25, samples: 20, severity: 'warn' },
    success_rate: { below: 0.9, samples: 20, severity: 'warn' },
    heartbeat_success: { below: 0.95, samples: 20, severity: 'warn' },
    wait_p95_ms: { above: 5000, samples: 20, severity: 'warn' },
  },
  enter_after: 1,
  clear_after: 2,
  clear_at: 0.8,
}

/**
 * Checks a `ThresholdsConfig`, such as a parsed configuration file, and fills in the defaults.
 *
 * @example
 * makeThresholds({ clear_after: 3, rules: { wait_p95_ms: { above: '2s' } } })
 */
export function makeThresholds(config: unknown): Thresholds {
  expectObject('thresholds', config)
  for (const name of Object.keys(config)) expectKnown(name, name, Object.keys(DEFAULT_THRESHOLDS))
  const { rules: givenRules = {}, ...given } = config as Partial<Thresholds>
  const {
    enter_after = DEFAULT_THRESHOLDS.enter_after,
    clear_after = DEFAULT_THRESHOLDS.clear_after,
    clear_at = DEFAULT_THRESHOLDS.clear_at,
  } = given
  expectWhole('enter_after', enter_after, 1)
  expectWhole('clear_after', clear_after, 1)
  if (typeof clear_at !== 'number' || !(clear_at > 0 && clear_at <= 1))
    refuse('clear_at', 'a number above 0 and up to 1', clear_at)
  expectObject('rules', givenRules)
  const rules: Record<string, Threshold> = { ...DEFAULT_THRESHOLDS.rules }
  for (const [name, rule] of Object.entries(definedIn(givenRules))) {
    expectKnown(`rules.${name}`, name, RULE_NAMES)
    rules[name] = makeThreshold(name as RuleName, rule)
  }
  return { rules: rules as Thresholds['rules'], enter_after, clear_after, clear_at }
}

function makeThreshold(name: RuleName, given: unknown): Threshold {
  const path = `rules.${name}`
  expectObject(path, given)
  const defaults = DEFAULT_THRESHOLDS.rules[name]
  const side = defaults.above === undefined ? 'below' : 'above'
  const checked: Record<string, unknown> = definedIn(given)
  for (const [field, value] of Object.entries(checked)) {
    const option = `${path}.${field}`
    expectKnown(option, field, [side, 'samples', 'severity'])
    if (field === 'severity') expectOneOf(option, value, SEVERITIES)
    else if (field === 'samples') expectWhole(option, value, 0)
    else checked[side] = checkBound(option, name, value)
  }
  return { ...defaults, ...checked }
}

function checkBound(option: string, rule: RuleName, value: unknown): number {
  if (rule === 'wait_p95_ms') return expectDuration(option, value, 0, Number.MAX_SAFE_INTEGER)
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) refuse(option, 'a share from 0 to 1', value)
  return value
}

function expectKnown(option: string, name: string, names: readonly string[]): void {
  if (!names.includes(name)) refuse(option, `one of ${names.join(', ')}`, name)
}
