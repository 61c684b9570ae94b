/** The health of the locks as text. */

import type { Skipped } from './analysis.ts'
import type { FiringRule, LockHealth } from './health.ts'
import type { RuleName } from './thresholds.ts'

/** The title of each rule, and how its values are written. */
export const RULE_TEXTS: Readonly<
  Record<RuleName, { readonly title: string; format(value: number): string }>
> = {
  retryable_false: { title: 'Acquires that failed for good', format: percent },
  readonly: { title: 'Read-only after a failure (autosave.lock.readonly)', format: percent },
  fallback_rate: { title: 'Acquires on the fallback (fallback_rate)', format: percent },
  success_rate: { title: 'Successful acquires', format: percent },
  heartbeat_success: { title: 'Successful heartbeats', format: percent },
  wait_p95_ms: { title: 'Wait for a lease, p95', format: milliseconds },
}

/** For a terminal. */
export function describeHealth({ status, rollback_required, windows, reasons, skipped }: LockHealth): string {
  const records = windows.reduce((sum, window) => sum + window.records, 0)
  const skippedLines = Object.values(skipped).reduce((sum, count) => sum + count, 0)
  const lines = [
    `${status}: rollback_required=${rollback_required}`,
    ...reasons.map((reason) => `  ${describeFiring(reason)}`),
    `${countOf(records, 'event')} in ${countOf(new Set(windows.map(({ start }) => start)).size, 'window')} of 15 minutes`,
  ]
  if (skippedLines > 0) lines.push(`skipped ${countOf(skippedLines, 'line')}: ${describeSkipped(skipped)}`)
  return `${lines.join('\n')}\n`
}

/** Such as `project: Successful acquires 80 % (bound 90 %, 40 samples) since 2030-01-01 00:15 UTC`. */
export function describeFiring({ rule, stream, value, bound, samples, since }: FiringRule): string {
  const { title, format } = RULE_TEXTS[rule]
  return `${stream}: ${title} ${format(value)} (bound ${format(bound)}, ${countOf(samples, 'sample')}) since ${shortTime(since)}`
}

/** Such as `since 2030-01-01 00:15 UTC`, and `2030-01-01 00:15 UTC to 2030-01-01 01:00 UTC` after the end. */
export function describeSpan({ since, until }: Pick<FiringRule, 'since' | 'until'>): string {
  return until === null ? `since ${shortTime(since)}` : `${shortTime(since)} to ${shortTime(until)}`
}

/** Such as `3 broken, 1 torn`; empty if no line was skipped. */
export function describeSkipped(skipped: Skipped): string {
  return Object.entries(skipped)
    .flatMap(([reason, count]) => (count > 0 ? `${count} ${reason}` : []))
    .join(', ')
}

/** Such as `1 window`, `2 windows`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Such as `2030-01-01 00:15 UTC`. */
export function shortTime(iso: string): string {
  return `${iso.slice(0, 16).replace('T', ' ')} UTC`
}

export function percent(fraction: number): string {
  return `${Number((fraction * 100).toFixed(1))} %`
}

export function milliseconds(ms: number): string {
  return ms < 1000 ? `${Number(ms.toPrecision(3))} ms` : `${Number((ms / 1000).toPrecision(3))} s`
}
