import { WINDOW_MS } from './analysis.ts'
import { milliseconds, shortTime } from './describe-verdict.ts'
import type { Verdict } from './judge.ts'
import type { Quantiles, WindowMetrics } from './metrics.ts'
import { HEIGHT, type Plot, placesOf, renderPlot, WIDTH } from './plot.ts'
import type { StreamName } from './record.ts'
import { boundOf, type Panel, panelsOf } from './report-panels.ts'

const NONE = '–'

/** The part of the report about one stream: the newest figures, the plots, and all windows as a table. */
export function renderStream(
  stream: StreamName,
  windows: readonly WindowMetrics[],
  verdict: Verdict,
): string {
  const times = windows.map(({ start }) => Date.parse(start))
  const panels = panelsOf(stream)
  const bands = bandsOf(stream, times, verdict)
  const plots = panels.map((panel) => ({ panel, plot: plotOf(panel, windows, times, bands, verdict) }))
  const acquires = windows.reduce((sum, window) => sum + window.acquires, 0)
  const events = windows.reduce((sum, window) => sum + window.records, 0)
  const readings = plots.flatMap(({ plot }) =>
    plot.series.map(({ values }) => values.map((value) => (value === null ? NONE : plot.format(value)))),
  )
  const moments = windows.map(
    ({ start, end }) => `${start.slice(5, 16).replace('T', ' ')}–${end.slice(11, 16)} UTC`,
  )
  const data = { places: placesOf({ times, stepMs: WINDOW_MS }), moments, readings }
  return `<section data-stream="${stream}">
<div class="head"><h2>${stream}</h2><span>${events} events, ${acquires} acquires</span><output class="moment mono"></output></div>
<div class="figures">${panels.map((panel) => figure(panel, windows.at(-1), verdict, stream)).join('')}</div>
<div class="plots">${plots.map(({ panel, plot }) => plotCard(panel, plot)).join('')}</div>
<details class="card"><summary>All windows</summary><div class="scroll">${tableOf(columnsOf(panels), windows)}</div></details>
<script type="application/json">${JSON.stringify(data)}</script>
</section>`
}

function plotOf(
  panel: Panel,
  windows: readonly WindowMetrics[],
  times: readonly number[],
  bands: Plot['bands'],
  { thresholds }: Verdict,
): Plot {
  const { format, bars = false } = panel
  const series = panel.lines.map(({ name, colour, read }) => ({ name, colour, values: windows.map(read) }))
  const bound = boundOf(panel, thresholds)
  const values = series.flatMap((one) => one.values.filter((value) => value !== null))
  return { series, times, stepMs: WINDOW_MS, format, bars, bound, bands, scale: panel.scale(values, bound) }
}

function bandsOf(stream: StreamName, times: readonly number[], { incidents }: Verdict): Plot['bands'] {
  const end = (times.at(-1) ?? 0) + WINDOW_MS
  return incidents
    .filter(({ firings }) => firings.some((firing) => firing.stream === stream))
    .map(({ since, until }) => ({ from: Date.parse(since), to: until === null ? end : Date.parse(until) }))
}

function plotCard({ title }: Panel, plot: Plot): string {
  const legend = plot.series.map(({ name, colour, values }) => {
    const newest = values.at(-1) ?? null
    const swatch = `<i style="background:var(${colour})"></i>`
    return `<span>${swatch}${name} <output>${newest === null ? NONE : plot.format(newest)}</output></span>`
  })
  return `<figure class="card"><figcaption><h3>${title}</h3><span class="legend">${legend.join('')}</span></figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title} over time" tabindex="0">${renderPlot(plot)}</svg></figure>`
}

/** The newest value, and whether its rule fires. */
function figure(
  panel: Panel,
  newest: WindowMetrics | undefined,
  verdict: Verdict,
  stream: StreamName,
): string {
  // Of several lines, the one that the rule looks at.
  const line = panel.lines.find(({ name }) => name === 'p95') ?? panel.lines[0]
  const value = (newest && line?.read(newest)) ?? null
  const bound = boundOf(panel, verdict.thresholds)
  const firing = verdict.reasons.find(({ rule, stream: where }) => rule === panel.rule && where === stream)
  const isOut = firing !== undefined && firing.windows.at(-1) === newest?.start
  const state = isOut ? 'out of bounds' : firing ? 'recovering' : 'within bounds'
  return `<div class="card figure${firing ? ' out' : ''}"><span>${panel.title}${line?.name === 'p95' ? ', p95' : ''}</span>
<b>${value === null ? NONE : panel.format(value)}</b>
<span>${bound === undefined ? 'no bound' : `${state} (${panel.format(bound).replace(' ', '&nbsp;')})`}</span></div>`
}

type Column = readonly [head: string, cell: (window: WindowMetrics) => string]

function columnsOf(panels: readonly Panel[]): readonly Column[] {
  return [
    ['Window', ({ start }) => shortTime(start)],
    ['Acquires', ({ acquires }) => `${acquires}`],
    ['Attempts each', ({ attempts_per_acquire: each }) => (each === null ? NONE : each.toFixed(2))],
    ...panels.flatMap(({ title, lines, format }) =>
      lines.map(({ name, read }): Column => {
        const show = (value: number | null) => (value === null ? NONE : format(value))
        return [lines.length > 1 ? `${title}, ${name}` : title, (window) => show(read(window))]
      }),
    ),
    ['TTL left, least', ({ ttl_left_ms }) => quantile(ttl_left_ms, 'min')],
    ['Release p95', ({ release_ms }) => quantile(release_ms, 'p95')],
    ['Backoff p95', ({ backoff_ms }) => quantile(backoff_ms, 'p95')],
    ['Warnings', ({ warnings }) => `${Object.values(warnings).reduce((sum, count) => sum + count, 0)}`],
  ]
}

function quantile(quantiles: Quantiles | null, name: keyof Quantiles): string {
  return quantiles ? milliseconds(quantiles[name]) : NONE
}

function tableOf(columns: readonly Column[], windows: readonly WindowMetrics[]): string {
  const head = columns.map(([title]) => `<th scope="col">${title}</th>`)
  const rows = windows
    .toReversed()
    .map(
      (window) =>
        `<tr>${columns.map(([title, cell]) => `<td data-label="${title}">${cell(window)}</td>`).join('')}</tr>`,
    )
  return `<table><thead><tr>${head.join('')}</tr></thead><tbody>${rows.join('')}</tbody></table>`
}
