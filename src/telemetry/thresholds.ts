import { LeaseError } from '../core/index.ts'
import type { WindowMetrics } from './metrics.ts'

/** When a metric of a window is out of bounds, and what that means. */
export interface Threshold {
  /** Out of bounds above this … */
  readonly above?: number
  /** … or below this. */
  readonly below?: number
  /** A window with fewer samples proves nothing. Default 1. */
  readonly samples?: number
  /** `rollback`: the verdict becomes `rollback_required`. `warn`: it is told. `off`: it is not looked at. */
  readonly severity: Severity
}

export type Severity = 'rollback' | 'warn' | 'off'

export interface Thresholds {
  readonly rules: Readonly<Record<RuleName, Threshold>>
  /** Windows in a row that are out of bounds before a rule fires. Default 1. */
  readonly enter_after: number
  /** Windows in a row that are well within bounds before it clears. Default 2. */
  readonly clear_after: number
  /** Well within bounds: this share of the way from perfect to the bound. Default 0.8. */
  readonly clear_at: number
}

/** What each rule looks at: the value, how many samples it rests on, and the value when all is well. */
export const RULES = {
  retryable_false: { perfect: 0, read: (m) => [m.retryable_false, m.acquires] },
  readonly: { perfect: 0, read: (m) => [m.readonly_entered, m.readonly_entered] },
  fallback_rate: { perfect: 0, read: (m) => [m.fallback_rate, m.acquires] },
  success_rate: { perfect: 1, read: (m) => [m.success_rate, m.acquires] },
  heartbeat_success: { perfect: 1, read: (m) => [m.heartbeat_success, m.heartbeats] },
  wait_p95_ms: { perfect: 0, read: (m) => [m.wait_ms?.p95 ?? null, m.wait_ms?.count ?? 0] },
} as const satisfies Record<
  string,
  { perfect: number; read(metrics: WindowMetrics): readonly [value: number | null, samples: number] }
>
export type RuleName = keyof typeof RULES

export const DEFAULT_THRESHOLDS: Thresholds = {
  rules: {
    retryable_false: { above: 0.05, samples: 20, severity: 'rollback' },
    readonly: { above: 10, severity: 'rollback' },
    fallback_rate: { above: 0.25, samples: 20, severity: 'warn' },
    success_rate: { below: 0.9, samples: 20, severity: 'warn' },
    heartbeat_success: { below: 0.95, samples: 20, severity: 'warn' },
    wait_p95_ms: { above: 5000, samples: 20, severity: 'warn' },
  },
  enter_after: 1,
  clear_after: 2,
  clear_at: 0.8,
}

/** Fills what a configuration leaves out, and refuses what it cannot mean. */
export function makeThresholds(config: unknown): Thresholds {
  const { rules = {}, ...given } = object('thresholds', config)
  const overall = { ...DEFAULT_THRESHOLDS, ...given }
  for (const name of Object.keys(given)) {
    if (!(name in DEFAULT_THRESHOLDS))
      refuse(name, `one of ${Object.keys(DEFAULT_THRESHOLDS).join(', ')}`, name)
  }
  for (const name of ['enter_after', 'clear_after'] as const) {
    if (!Number.isInteger(overall[name]) || overall[name] < 1)
      refuse(name, 'a whole number from 1', overall[name])
  }
  if (!(overall.clear_at > 0 && overall.clear_at <= 1))
    refuse('clear_at', 'a share up to 1', overall.clear_at)
  const merged: Record<string, Threshold> = { ...DEFAULT_THRESHOLDS.rules }
  for (const [name, rule] of Object.entries(object('rules', rules))) {
    const known = merged[name]
    if (!known) refuse(`rules.${name}`, `one of ${Object.keys(RULES).join(', ')}`, name)
    merged[name] = makeThreshold(`rules.${name}`, known, object(`rules.${name}`, rule))
  }
  return { ...overall, rules: merged as Thresholds['rules'] }
}

function makeThreshold(path: string, defaults: Threshold, given: Record<string, unknown>): Threshold {
  const side = defaults.above === undefined ? 'below' : 'above'
  for (const [name, value] of Object.entries(given)) {
    if (name === 'severity') {
      if (value !== 'rollback' && value !== 'warn' && value !== 'off')
        refuse(`${path}.severity`, 'rollback, warn or off', value)
    } else if (name === side || name === 'samples') {
      if (!Number.isFinite(value) || (value as number) < 0)
        refuse(`${path}.${name}`, 'a number from 0', value)
    } else refuse(`${path}.${name}`, `${side}, samples or severity`, name)
  }
  return { ...defaults, ...given }
}

function object(path: string, value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(path, 'a table', value)
  return value as Record<string, unknown>
}

function refuse(option: string, expected: string, value: unknown): never {
  throw new LeaseError('invalid-argument', `${option}: expected ${expected}, got ${JSON.stringify(value)}`)
}
