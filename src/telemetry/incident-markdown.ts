import { milliseconds, percent, RULE_TEXTS, shortTime } from './describe-verdict.ts'
import type { Incident } from './incidents.ts'
import type { Firing, Verdict } from './judge.ts'
import { likelyCauses } from './likely-causes.ts'
import type { WindowMetrics } from './metrics.ts'

/** Says to readers and programs which parts to expect; another set of parts is another template. */
const TEMPLATE = 'Incident-001'

/** `reports/alerts/<incident>.md`: what, since when, figures, likely cause, what to do, how to roll back. */
export function incidentMarkdown(incident: Incident, { windows, thresholds }: Verdict): string {
  const { id, since, until, firings } = incident
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
| Until | ${until === null ? 'it lasts' : shortTime(until)} |
| Streams | ${[...streams].join(', ')} |

## What happened

${table(['Rule', 'Stream', 'Now', 'Worst', 'Bound', 'Samples', 'Windows'], firings.map(figuresOf))}

## Figures

${table(
  [
    'Window',
    'Stream',
    'Acquires',
    'Success',
    'retryable=false',
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

1. Look at \`report.html\` beside this folder: which figure moved first?
2. Compare its start, ${shortTime(since)}, with releases, browser updates and changes of the site's headers.
3. Tell users whose page is read-only to keep it open: their unsaved work is in it.

## How to roll back

1. Switch AutoSave off, or deploy the version that ran before ${shortTime(since)}.
2. Leave \`.lock\` files alone: one that nobody renews is free after its TTL of 30 seconds.
3. Run \`holdfast monitor score\` after each window. The incident closes by itself after ${thresholds.clear_after} windows well within bounds.
`
}

function figuresOf({ rule, stream, value, worst, bound, samples, windows }: Firing): string[] {
  const { title, format } = RULE_TEXTS[rule]
  return [title, stream, format(value), format(worst), format(bound), `${samples}`, `${windows.length}`]
}

function windowRow(window: WindowMetrics): string[] {
  const share = (value: number | null) => (value === null ? '–' : percent(value))
  const warnings = Object.entries(window.warnings).flatMap(([kind, count]) =>
    count > 0 ? `${kind} ${count}` : [],
  )
  return [
    shortTime(window.start),
    window.stream,
    `${window.acquires}`,
    share(window.success_rate),
    share(window.retryable_false),
    share(window.fallback_rate),
    window.wait_ms ? milliseconds(window.wait_ms.p95) : '–',
    share(window.heartbeat_success),
    `${window.readonly_entered} in, ${window.readonly_returned} out`,
    warnings.join(', ') || '–',
  ]
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
