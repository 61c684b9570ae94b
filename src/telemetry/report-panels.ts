import { milliseconds, percent } from './describe-verdict.ts'
import type { WindowMetrics } from './metrics.ts'
import { logScale, type Scale, scaleFromZero, scaleToOne } from './plot.ts'
import type { StreamName } from './record.ts'
import type { RuleName, Thresholds } from './thresholds.ts'

/** One plot of the report: which question it answers, and from what. */
export interface Panel {
  readonly title: string
  readonly rule?: RuleName
  readonly format: (value: number) => string
  readonly bars?: boolean
  /** Which streams know of it. Default: all that tell of locks. */
  readonly streams?: readonly StreamName[]
  readonly lines: readonly PanelLine[]
  scale(values: readonly number[], bound: number | undefined): Scale
}

interface PanelLine {
  readonly name: string
  readonly colour: string
  read(window: WindowMetrics): number | null
}

const LOCK_STREAMS: readonly StreamName[] = ['lease', 'project', 'document']

const PANELS: readonly Panel[] = [
  {
    title: 'Successful acquires',
    rule: 'success_rate',
    format: percent,
    lines: [{ name: 'share', colour: '--good', read: (window) => window.success_rate }],
    scale: sharesToOne,
  },
  {
    title: 'Ended with retryable=false',
    rule: 'retryable_false',
    format: percent,
    lines: [{ name: 'share', colour: '--bad', read: (window) => window.retryable_false }],
    scale: sharesFromZero,
  },
  {
    title: 'Wait for a lease',
    rule: 'wait_p95_ms',
    format: milliseconds,
    lines: [
      { name: 'p99', colour: '--waiting-faint', read: ({ wait_ms }) => wait_ms?.p99 ?? null },
      { name: 'p95', colour: '--waiting-soft', read: ({ wait_ms }) => wait_ms?.p95 ?? null },
      { name: 'p50', colour: '--waiting', read: ({ wait_ms }) => wait_ms?.p50 ?? null },
    ],
    scale: (values, bound) => logScale(bound === undefined ? values : [...values, bound]),
  },
  {
    title: 'On the fallback',
    streams: ['project'],
    rule: 'fallback_rate',
    format: percent,
    lines: [{ name: 'share', colour: '--fallback', read: (window) => window.fallback_rate }],
    scale: sharesFromZero,
  },
  {
    title: 'Read-only',
    streams: ['project', 'autosave'],
    rule: 'readonly',
    format: String,
    bars: true,
    lines: [
      { name: 'entered', colour: '--bad', read: (window) => window.readonly_entered },
      { name: 'returned', colour: '--good', read: (window) => window.readonly_returned },
    ],
    scale: (values, bound = 0) => scaleFromZero(Math.max(4, bound * 1.2, ...values)),
  },
  {
    title: 'Successful heartbeats',
    rule: 'heartbeat_success',
    format: percent,
    lines: [{ name: 'share', colour: '--good', read: (window) => window.heartbeat_success }],
    scale: sharesToOne,
  },
]

export function panelsOf(stream: StreamName): readonly Panel[] {
  return PANELS.filter(({ streams = LOCK_STREAMS }) => streams.includes(stream))
}

/** The bound of a panel's rule, unless nobody looks at it. */
export function boundOf({ rule }: Panel, { rules }: Thresholds): number | undefined {
  if (!rule || rules[rule].severity === 'off') return undefined
  return rules[rule].above ?? rules[rule].below
}

function sharesFromZero(values: readonly number[], bound = 0): Scale {
  return scaleFromZero(Math.min(1, Math.max(0.05, bound * 1.2, ...values)))
}

function sharesToOne(values: readonly number[], bound = 1): Scale {
  return scaleToOne(Math.min(0.95, bound - (1 - bound) / 4, ...values))
}
