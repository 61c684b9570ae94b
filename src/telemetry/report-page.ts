/** The page of the HTML report: its frame, its style and its script. */
import { compareUtf8 } from '../base/utf8-order.ts'
import { expectMoment } from './analysis.ts'
import { expectHealth, type FiringRule, type Incident, type LockHealth } from './health.ts'
import { countOf, describeSkipped, describeSpan, RULE_TEXTS, shortTime } from './health-text.ts'
import { WINDOW_MS } from './options.ts'
import { renderStream } from './report-stream.ts'

const STATUS_WORDS = { healthy: 'Healthy', degraded: 'Degraded', rollback: 'Rollback required' }

/**
 * The HTML report. The page loads nothing else, so it can be opened as a file and sent by mail.
 *
 * @example
 * await writeFile('report.html', renderReport(health, Date.now()))
 */
export function renderReport(health: LockHealth, now: number): string {
  expectHealth('health', health)
  expectMoment('now', now)
  const { status, windows, reasons, incidents, skipped } = health
  const first = windows[0]
  const range = first
    ? `${shortTime(first.start)} to ${shortTime(windows.at(-1)?.end ?? first.end)}, windows of ${WINDOW_MS / 60_000} minutes`
    : ''
  const withIncidents = new Set(incidents.flatMap(({ firings }) => firings.map(({ stream }) => stream)))
  const streams = [...Map.groupBy(windows, ({ stream }) => stream)].toSorted(
    ([a], [b]) => Number(withIncidents.has(b)) - Number(withIncidents.has(a)),
  )
  const skippedLines = describeSkipped(skipped)
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
${card('What is out of bounds', reasons.toSorted((a, b) => compareUtf8(a.severity, b.severity)).map(reasonItem))}
${card('Incidents', incidents.toReversed().map(incidentItem))}
${streams.map(([stream, ofStream]) => renderStream(stream, ofStream, health)).join('\n')}
<p class="muted">Written ${shortTime(new Date(now).toISOString())}. Quantiles are within 1 % of their value.${
    skippedLines && ` Skipped lines: ${skippedLines}.`
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

function reasonItem({ rule, stream, severity, value, bound, samples, since }: FiringRule): string {
  const { title, format } = RULE_TEXTS[rule]
  return `<li class="reason ${severity}"><strong>${title}: <span class="mono">${format(value)}</span></strong>
<div class="muted">${stream} · bound ${format(bound)} · ${countOf(samples, 'sample')} · since ${shortTime(since)}${
    severity === 'rollback' ? ' · rollback required' : ''
  }</div></li>`
}

function incidentItem(incident: Incident): string {
  const { id, until, firings } = incident
  const span = `${describeSpan(incident)}, ${until === null ? 'open' : 'closed'}`
  const rules = [...new Set(firings.map(({ rule }) => RULE_TEXTS[rule].title))]
  return `<li><a class="mono" href="alerts/${id}.md">${id}</a> <span class="muted">${span} · ${rules.join('; ')}</span></li>`
}

/** One set of colours for the light and the dark theme. The colours of states are those of all Holdfast pages. */
export const REPORT_STYLE = `
:root {
  color-scheme: light dark;
  --page: light-dark(#f6f7f8, #101315);
  --card: light-dark(#ffffff, #171b1e);
  --line: light-dark(#dfe3e6, #2a3136);
  --text: light-dark(#1b2226, #e6eaec);
  --muted: light-dark(#56636b, #9aa7af);
  --accent: light-dark(#0b7274, #4fc3c4);
  --good: light-dark(#1a7f4b, #4cc38a);
  --pending: light-dark(#2563c9, #7fb0ff);
  --waiting: light-dark(#9a5b00, #f0a53a);
  --waiting-soft: light-dark(#c98a2b, #b57f36);
  --waiting-faint: light-dark(#dfb878, #75582f);
  --fallback: light-dark(#806600, #e5c94b);
  --bad: light-dark(#b42318, #ff8078);
  --mono: ui-monospace, 'SF Mono', 'Cascadia Mono', 'DejaVu Sans Mono', monospace;
}
* { box-sizing: border-box; margin: 0; }
body { background: var(--page); color: var(--text); font: 14px/1.5 system-ui, sans-serif; padding: 24px 16px 48px; }
main { max-width: 1120px; margin: 0 auto; display: grid; gap: 12px; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 16px; padding: 0 4px 8px; }
h1 { font-size: 20px; font-weight: 600; }
h2 { font-size: 16px; font-weight: 600; }
h3 { font-size: 13px; font-weight: 600; }
header .range { color: var(--muted); font-size: 13px; margin-left: auto; }
.state { display: inline-flex; align-items: center; gap: 8px; height: 28px; padding: 0 12px; border: 1px solid currentColor; border-radius: 14px; font-size: 13px; font-weight: 600; }
.state::before { content: ''; width: 8px; height: 8px; border-radius: 50%; background: currentColor; }
.healthy { color: var(--good); } .degraded { color: var(--waiting); } .rollback { color: var(--bad); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 16px; min-width: 0; }
.card ul { list-style: none; padding: 0; display: grid; gap: 8px; }
.card h2 + * { margin-top: 8px; }
.reason { border-left: 3px solid var(--bad); padding-left: 12px; }
.reason.warn { border-color: var(--waiting); }
.reason strong { font-weight: 600; }
.muted { color: var(--muted); }
.mono, td, .figure b, .tick, .legend output { font-family: var(--mono); font-variant-numeric: tabular-nums; }
code { font: 13px var(--mono); }
pre { overflow-x: auto; padding-top: 4px; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
section { display: grid; gap: 12px; padding-top: 12px; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 12px; }
.figure { display: grid; gap: 4px; grid-template-rows: 1fr auto auto; }
.figure span { color: var(--muted); font-size: 12px; }
.figure b { font-size: 28px; font-weight: 400; line-height: 1.2; }
.figure.out b, .figure.out span:last-child { color: var(--bad); }
.figure.recovering span:last-child { color: var(--waiting); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 12px; }
.plots figcaption { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 12px; min-height: 24px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 12px; margin-left: auto; font-size: 12px; color: var(--muted); }
.legend i { display: inline-block; width: 12px; height: 3px; margin-right: 6px; vertical-align: middle; border-radius: 2px; }
.legend output { color: var(--text); display: inline-block; min-width: 7ch; text-align: right; }
svg { display: block; width: 100%; height: auto; margin-top: 8px; touch-action: pan-y; }
.grid { stroke: var(--line); } .tick { fill: var(--muted); font-size: 11px; }
.line { fill: none; stroke: var(--series); stroke-width: 1.75; stroke-linejoin: round; }
.line circle, .bars { fill: var(--series); stroke: none; }
.band { fill: var(--bad); opacity: 0.1; }
.bound { stroke: var(--bad); stroke-dasharray: 4 4; }
.cursor { stroke: var(--muted); visibility: hidden; }
.reading .cursor { visibility: visible; }
.moment { font-size: 12px; min-width: 21ch; text-align: right; margin-left: auto; color: var(--muted); }
section > .head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 12px; padding: 0 4px; }
.head span { color: var(--muted); font-size: 13px; }
summary { cursor: pointer; font-weight: 600; font-size: 13px; }
.scroll { overflow-x: auto; margin-top: 12px; }
table { border-collapse: collapse; width: 100%; font-size: 12px; }
th { text-align: right; font-weight: 600; color: var(--muted); padding: 4px 8px; white-space: nowrap; }
td { text-align: right; padding: 4px 8px; border-top: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
@media (max-width: 560px) {
  header .range { margin-left: 0; width: 100%; }
  .figures { grid-template-columns: 1fr 1fr; }
  .legend { margin-left: 0; width: 100%; }
  thead { display: none; }
  tr { display: grid; padding: 8px 0; border-top: 1px solid var(--line); }
  td, td:first-child { display: flex; justify-content: space-between; border: 0; padding: 2px 0; }
  .tick { font-size: 15px; }
  td::before { content: attr(data-label); color: var(--muted); font-family: system-ui, sans-serif; }
}
@media print { body { background: none; padding: 0; } .card { break-inside: avoid; } }
`

/**
 * Moves one cursor through all plots of a stream, by pointer or arrow keys, and shows the values at the cursor in the
 * legends. Without the script the legends show the newest values.
 */
const REPORT_SCRIPT = `
for (const section of document.querySelectorAll('section[data-stream]')) {
  const { positions, moments, readings } = JSON.parse(section.querySelector('script').textContent)
  const plots = [...section.querySelectorAll('svg')]
  const outputs = [...section.querySelectorAll('.legend output')]
  const moment = section.querySelector('.moment')
  let current = positions.length
  const show = (index) => {
    current = index
    const reading = index < positions.length
    section.classList.toggle('reading', reading)
    moment.textContent = reading ? moments[index] : ''
    const shown = reading ? index : positions.length - 1
    outputs.forEach((output, series) => { output.textContent = readings[series][shown] })
    for (const plot of plots) {
      const cursor = plot.querySelector('.cursor')
      cursor.setAttribute('x1', positions[shown])
      cursor.setAttribute('x2', positions[shown])
    }
  }
  const nearest = (x) => {
    let best = 0
    positions.forEach((position, index) => { if (Math.abs(position - x) < Math.abs(positions[best] - x)) best = index })
    return best
  }
  for (const plot of plots) {
    plot.addEventListener('pointermove', (event) => {
      const box = plot.getBoundingClientRect()
      show(nearest(((event.clientX - box.left) / box.width) * plot.viewBox.baseVal.width))
    })
    plot.addEventListener('pointerleave', () => show(positions.length))
    plot.addEventListener('blur', () => show(positions.length))
    plot.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
      if (!step) return
      event.preventDefault()
      show(Math.max(0, Math.min(positions.length - 1, (current < positions.length ? current : positions.length - 1) + step)))
    })
  }
}
`
