import type { Firing, Verdict } from './judge.ts'
import type { RuleName } from './thresholds.ts'

/** What people call a rule, and how its values read. */
export const RULE_TEXTS: Readonly<
  Record<RuleName, { readonly title: string; format(value: number): string }>
> = {
  retryable_false: { title: 'Acquires that ended with retryable=false', format: percent },
  readonly: { title: 'Read-only entries (autosave.lock.readonly)', format: String },
  fallback_rate: { title: 'Acquires on the fallback (fallback_rate)', format: percent },
  success_rate: { title: 'Successful acquires', format: percent },
  heartbeat_success: { title: 'Successful heartbeats', format: percent },
  wait_p95_ms: { title: 'Wait for a lease, p95', format: milliseconds },
}

/** The verdict on a terminal. */
export function describeVerdict(verdict: Verdict): string {
  const { status, windows, reasons, skipped } = verdict
  const records = windows.reduce((sum, window) => sum + window.records, 0)
  const skippedCount = Object.values(skipped).reduce((sum, count) => sum + count, 0)
  const kinds = Object.entries(skipped).flatMap(([kind, count]) => (count > 0 ? `${count} ${kind}` : []))
  const lines = [
    `${status}: rollback_required=${verdict.rollback_required}`,
    ...reasons.map((reason) => `  ${describeFiring(reason)}`),
    `${records} events in ${new Set(windows.map(({ start }) => start)).size} windows of 15 minutes`,
  ]
  if (skippedCount > 0) lines.push(`${skippedCount} lines were skipped: ${kinds.join(', ')}`)
  return `${lines.join('\n')}\n`
}

/** `project: Acquires that ended with retryable=false 12 % (bound 5 %, 40 samples) since 2030-01-01 00:15 UTC`. */
export function describeFiring({ rule, stream, value, bound, samples, since }: Firing): string {
  const { title, format } = RULE_TEXTS[rule]
  return `${stream}: ${title} ${format(value)} (bound ${format(bound)}, ${samples} samples) since ${shortTime(since)}`
}

/** `2030-01-01 00:15 UTC`. */
export function shortTime(iso: string): string {
  return `${iso.slice(0, 16).replace('T', ' ')} UTC`
}

export function percent(share: number): string {
  return `${Number((share * 100).toFixed(1))} %`
}

export function milliseconds(ms: number): string {
  return ms < 1000 ? `${Number(ms.toPrecision(3))} ms` : `${Number((ms / 1000).toPrecision(3))} s`
}
