import { WINDOW_MS } from './analysis.ts'
import { RULE_TEXTS, shortTime } from './describe-verdict.ts'
import type { Incident } from './incidents.ts'
import type { Firing, Verdict } from './judge.ts'
import { REPORT_SCRIPT } from './report-script.ts'
import { renderStream } from './report-stream.ts'
import { REPORT_STYLE } from './report-style.ts'

const STATUS_WORDS = { healthy: 'Healthy', degraded: 'Degraded', rollback: 'Rollback required' }

/** A page that needs nothing but itself: it opens from a file, and can be sent by mail. */
export function renderReport(verdict: Verdict, now: number): string {
  const { status, windows, reasons, incidents, skipped } = verdict
  const first = windows[0]
  const range = first
    ? `${shortTime(first.start)} to ${shortTime(windows.at(-1)?.end ?? first.end)}, windows of ${WINDOW_MS / 60_000} minutes`
    : ''
  const troubled = new Set(incidents.flatMap(({ firings }) => firings.map(({ stream }) => stream)))
  const streams = [...Map.groupBy(windows, ({ stream }) => stream)].toSorted(
    ([a], [b]) => Number(troubled.has(b)) - Number(troubled.has(a)),
  )
  const skippedLines = Object.entries(skipped).filter(([, count]) => count > 0)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Lock health: ${STATUS_WORDS[status]}</title>
<style>${REPORT_STYLE}</style>
<main>
<header>
<h1>Lock health</h1>
<span class="state ${status}" role="status">${STATUS_WORDS[status]}</span>
<span class="range">${range}</span>
</header>
${first ? '' : EMPTY}
${card('What is out of bounds', reasons.toSorted((a, b) => a.severity.localeCompare(b.severity)).map(reasonItem))}
${card('Incidents', incidents.toReversed().map(incidentItem))}
${streams.map(([stream, ofStream]) => renderStream(stream, ofStream, verdict)).join('\n')}
<p class="muted">Written ${shortTime(new Date(now).toISOString())}. Quantiles are within 1 % of their value.${
    skippedLines.length > 0
      ? ` Lines that were skipped: ${skippedLines.map(([kind, count]) => `${count} ${kind}`).join(', ')}.`
      : ''
  }</p>
</main>
<script>${REPORT_SCRIPT}</script>
</html>
`
}

const EMPTY = `<div class="card"><h2>Nothing was collected yet</h2>
<p>Write events into the folder that this report reads:</p>
<pre><code>const collector = createCollector({ sinks: [fileSink('telemetry')] })
flushOnExit(collector)
const leases = createLeases(store, { onEvent: collector.listen('lease') })</code></pre></div>`

function card(title: string, items: readonly string[]): string {
  return items.length === 0 ? '' : `<div class="card"><h2>${title}</h2><ul>${items.join('')}</ul></div>`
}

function reasonItem({ rule, stream, severity, value, bound, samples, since }: Firing): string {
  const { title, format } = RULE_TEXTS[rule]
  return `<li class="reason ${severity}"><strong>${title}: <span class="mono">${format(value)}</span></strong>
<div class="muted">${stream} · bound ${format(bound)} · ${samples} samples · since ${shortTime(since)}${
    severity === 'rollback' ? ' · calls for a rollback' : ''
  }</div></li>`
}

function incidentItem({ id, since, until, firings }: Incident): string {
  const span =
    until === null ? `since ${shortTime(since)}, open` : `${shortTime(since)} to ${shortTime(until)}, closed`
  const rules = [...new Set(firings.map(({ rule }) => RULE_TEXTS[rule].title))]
  return `<li><a class="mono" href="alerts/${id}.md">${id}</a> <span class="muted">${span} · ${rules.join('; ')}</span></li>`
}
