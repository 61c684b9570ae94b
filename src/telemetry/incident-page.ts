/** The Markdown page of an incident: `reports/alerts/<incident>.md`. */
import { expectHealth, expectIncident, type FiringRule, type Incident, type LockHealth } from './health.ts'
import { countOf, milliseconds, percent, RULE_TEXTS, shortTime } from './health-text.ts'
import type { WarningKind, WindowMetrics } from './metrics.ts'
import { GOOD_HEARTBEAT_FRACTION, LONG_WAIT_MS } from './options.ts'

/** Tells readers and programs which sections to expect. Another set of sections needs another name. */
const TEMPLATE = 'Incident-001'

/**
 * What happened, since when, the figures, the likely cause, what to do, and how to roll back.
 *
 * @example
 * for (const incident of health.incidents) await writeFile(`${incident.id}.md`, incidentMarkdown(incident, health))
 */
export function incidentMarkdown(incident: Incident, health: LockHealth): string {
  expectIncident('incident', incident)
  expectHealth('health', health)
  const { id, since, until, firings } = incident
  const { windows, thresholds } = health
  const streams = new Set(firings.map(({ stream }) => stream))
  const during = windows.filter(
    (window) =>
      streams.has(window.stream) && window.start >= since && (until === null || window.start < until),
  )
  return `# ${id}: ${until === null ? 'rollback required' : 'closed'}

| | |
|---|---|
| Template | ${TEMPLATE} |
| State | ${until === null ? '**open**' : 'closed'} |
| Since | ${shortTime(since)} |
| Until | ${until === null ? 'not ended' : shortTime(until)} |
| Streams | ${[...streams].join(', ')} |

## What happened

${table(['Rule', 'Stream', 'Now', 'Worst', 'Bound', 'Samples', 'Windows'], firings.map(firingRow))}

## Figures

${table(
  [
    'Window',
    'Stream',
    'Acquires',
    'Success',
    'Failed for good',
    'Fallback',
    'Wait p95',
    'Heartbeats',
    'Read-only',
    'Warnings',
  ],
  during.map(windowRow),
)}

## Likely cause

${likelyCauses(during)
  .map((cause) => `- ${cause}`)
  .join('\n')}

## What to do

1. Open \`report.html\` in the folder above. Find the figure that changed first.
2. Compare its start, ${shortTime(since)}, with releases, browser updates and changes of the site's headers.
3. Tell users whose page is read-only to keep it open: it contains their unsaved work.

## How to roll back

1. Switch AutoSave off, or deploy the version that ran before ${shortTime(since)}.
2. Do not delete \`.lock\` files: one that nobody renews is free after its TTL of 30 seconds.
3. Run \`holdfast monitor score\` after each window. The incident closes by itself after ${countOf(thresholds.clear_after, 'window')} well within bounds.
`
}

function firingRow({ rule, stream, value, worst, bound, samples, windows }: FiringRule): string[] {
  const { title, format } = RULE_TEXTS[rule]
  return [title, stream, format(value), format(worst), format(bound), `${samples}`, `${windows.length}`]
}

function windowRow(window: WindowMetrics): string[] {
  const shown = (value: number | null) => (value === null ? '–' : percent(value))
  const warnings = Object.entries(window.warnings).flatMap(([kind, count]) =>
    count > 0 ? `${kind} ${count}` : [],
  )
  return [
    shortTime(window.start),
    window.stream,
    `${window.acquires}`,
    shown(window.success_rate),
    shown(window.retryable_false),
    shown(window.fallback_rate),
    window.wait_ms ? milliseconds(window.wait_ms.p95) : '–',
    shown(window.heartbeat_success),
    `${window.readonly_entered} in (${window.readonly_waiting} waiting), ${window.readonly_returned} out`,
    warnings.join(', ') || '–',
  ]
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** What the figures of these windows suggest, the strongest hint first. */
function likelyCauses(windows: readonly WindowMetrics[]): string[] {
  const acquires = sum(windows, ({ acquires }) => acquires)
  const heartbeats = sum(windows, ({ heartbeats }) => heartbeats)
  const onFallback = sum(windows, (window) => (window.fallback_rate ?? 0) * window.acquires)
  const goodHeartbeats = sum(windows, (window) => (window.heartbeat_success ?? 0) * window.heartbeats)
  const warned = (kind: WarningKind) => sum(windows, ({ warnings }) => warnings[kind]) > 0
  const hints: readonly (readonly [applies: boolean, text: string])[] = [
    [
      onFallback > acquires / 2,
      'Most acquires used the fallback file: Web Locks are missing or refused (an insecure origin, a sandboxed frame, a browser without them).',
    ],
    [
      warned('fallback-corrupt'),
      'The fallback file was corrupt: another program writes to it, or the disk is full.',
    ],
    [
      warned('heartbeat-delayed') ||
        (heartbeats > 0 && goodHeartbeats < heartbeats * GOOD_HEARTBEAT_FRACTION),
      'Heartbeats were late or failed: pages are throttled or blocked, or the storage refuses writes.',
    ],
    [
      warned('cleanup'),
      'Releases did not delete their file: the storage refuses to delete, and others wait for the TTL.',
    ],
    [
      windows.some(({ wait_ms }) => (wait_ms?.p95 ?? 0) > LONG_WAIT_MS),
      'Waits are long: a holder keeps the lease for a long time, or many callers want the same lease.',
    ],
  ]
  const found = hints.flatMap(([applies, text]) => (applies ? text : []))
  return found.length > 0
    ? found
    : ['These figures do not show one. Look at the error codes in the telemetry files.']
}

function sum(windows: readonly WindowMetrics[], read: (window: WindowMetrics) => number): number {
  return windows.reduce((total, window) => total + read(window), 0)
}
