/** The section of one stream in the HTML report. */
import { boundOf, type LockHealth, stateOf } from './health.ts'
import { countOf, milliseconds, percent, shortTime } from './health-text.ts'
import type { Quantiles, WindowMetrics } from './metrics.ts'
import { WINDOW_MS } from './options.ts'
import {
  HEIGHT,
  logScale,
  type Plot,
  positionsOf,
  renderPlot,
  type Scale,
  scaleFromZero,
  scaleToOne,
  WIDTH,
} from './plot.ts'
import type { StreamName } from './record.ts'
import { RULES, type RuleName, type Thresholds } from './thresholds.ts'

const NO_VALUE = '–'

/** The section of one stream: the newest figures, the plots, and a table of all windows. */
export function renderStream(
  stream: StreamName,
  windows: readonly WindowMetrics[],
  health: LockHealth,
): string {
  const times = windows.map(({ start }) => Date.parse(start))
  const panels = panelsOf(stream)
  const plots = panels.map((panel) => ({ panel, plot: plotOf(panel, stream, windows, health) }))
  const acquires = windows.reduce((sum, window) => sum + window.acquires, 0)
  const events = windows.reduce((sum, window) => sum + window.records, 0)
  const readings = plots.flatMap(({ plot }) =>
    plot.series.map(({ values }) => values.map((value) => (value === null ? NO_VALUE : plot.format(value)))),
  )
  const moments = windows.map(
    ({ start, end }) => `${start.slice(5, 16).replace('T', ' ')}–${end.slice(11, 16)} UTC`,
  )
  const data = { positions: positionsOf({ times, stepMs: WINDOW_MS }), moments, readings }
  return `<section data-stream="${stream}">
<div class="head"><h2>${stream}</h2><span>${countOf(events, 'event')}, ${countOf(acquires, 'acquire')}</span><output class="moment mono"></output></div>
<div class="figures">${panels.map((panel) => figureOf(panel, stream, windows.at(-1), health)).join('')}</div>
<div class="plots">${plots.map(({ panel, plot }) => plotCard(panel, plot)).join('')}</div>
<details class="card"><summary>All windows</summary><div class="scroll">${tableOf(columnsOf(panels), windows)}</div></details>
<script type="application/json">${JSON.stringify(data)}</script>
</section>`
}

function plotOf(
  panel: Panel,
  stream: StreamName,
  windows: readonly WindowMetrics[],
  health: LockHealth,
): Plot {
  const { format, bars = false } = panel
  const times = windows.map(({ start }) => Date.parse(start))
  const series = panel.lines.map(({ name, colour, read }) => ({ name, colour, values: windows.map(read) }))
  const bound = boundOfPanel(panel, health.thresholds)
  const bands = bandsOf(panel, stream, (times.at(-1) ?? 0) + WINDOW_MS, health)
  const values = series.flatMap((one) => one.values.filter((value) => value !== null))
  return { series, times, stepMs: WINDOW_MS, format, bars, bound, bands, scale: panel.scale(values, bound) }
}

/** The times in which this figure, not another one of the stream, required a rollback. */
function bandsOf(panel: Panel, stream: StreamName, end: number, { incidents }: LockHealth): Plot['bands'] {
  return incidents
    .flatMap(({ firings }) => firings)
    .filter((firing) => firing.stream === stream && firing.rule === panel.rule)
    .map(({ since, until }) => ({ from: Date.parse(since), to: until === null ? end : Date.parse(until) }))
}

function plotCard({ title }: Panel, plot: Plot): string {
  const legend = plot.series.map(({ name, colour, values }) => {
    const newest = values.at(-1) ?? null
    const swatch = `<i style="background:var(${colour})"></i>`
    return `<span>${swatch}${name} <output>${newest === null ? NO_VALUE : plot.format(newest)}</output></span>`
  })
  return `<figure class="card"><figcaption><h3>${title}</h3><span class="legend">${legend.join('')}</span></figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title} over time" tabindex="0">${renderPlot(plot)}</svg></figure>`
}

/** The newest value, and what its rule says about it. */
function figureOf(
  { title, rule, format, lines }: Panel,
  stream: StreamName,
  newest: WindowMetrics | undefined,
  health: LockHealth,
): string {
  if (!rule || !newest) return ''
  const [value] = RULES[rule].read(newest)
  const [state, look = ''] = stateOfFigure(rule, stream, newest, health)
  const bound = format(boundOf(health.thresholds.rules[rule])).replace(' ', '&nbsp;')
  // A panel with several lines shows p95: the rule checks it.
  return `<div class="card figure ${look}"><span>${title}${lines.length > 1 ? ', p95' : ''}</span>
<b>${value === null ? NO_VALUE : format(value)}</b><span>${state.replace('bounds', `bounds (${bound})`)}</span></div>`
}

function stateOfFigure(
  rule: RuleName,
  stream: StreamName,
  newest: WindowMetrics,
  { thresholds, reasons }: LockHealth,
): readonly [state: string, look?: 'out' | 'recovering'] {
  const { severity, samples: needed = 1 } = thresholds.rules[rule]
  const [value, samples] = RULES[rule].read(newest)
  if (severity === 'off') return ['no bound']
  if (stateOf(rule, newest, thresholds) === 'out') return ['out of bounds', 'out']
  if (reasons.some((reason) => reason.rule === rule && reason.stream === stream))
    return ['back within bounds, not yet over', 'recovering']
  if (value === null) return ['no data']
  return [samples < needed ? `too few samples: ${samples} of ${needed}` : 'within bounds']
}

type Column = readonly [head: string, cell: (window: WindowMetrics) => string]

function columnsOf(panels: readonly Panel[]): readonly Column[] {
  return [
    ['Window', ({ start }) => shortTime(start)],
    ['Acquires', ({ acquires }) => `${acquires}`],
    ['Attempts each', ({ attempts_per_acquire: each }) => (each === null ? NO_VALUE : each.toFixed(2))],
    ...panels.flatMap(({ title, lines, format }) =>
      lines.map(({ name, read }): Column => {
        const show = (value: number | null) => (value === null ? NO_VALUE : format(value))
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
  return quantiles ? milliseconds(quantiles[name]) : NO_VALUE
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

/** One plot: its title, its rule, and the metrics that it shows. */
interface Panel {
  readonly title: string
  readonly rule?: RuleName
  readonly format: (value: number) => string
  readonly bars?: boolean
  /** The streams that have this plot. */
  readonly streams: readonly StreamName[]
  readonly lines: readonly PanelLine[]
  scale(values: readonly number[], bound: number | undefined): Scale
}

interface PanelLine {
  readonly name: string
  readonly colour: string
  read(window: WindowMetrics): number | null
}

const LOCK_STREAMS: readonly StreamName[] = ['lease', 'project', 'document']
const TAB_STREAMS: readonly StreamName[] = ['project', 'autosave']

const PANELS: readonly Panel[] = [
  sharePanel('Successful acquires', 'success_rate', '--good'),
  sharePanel('Failed for good', 'retryable_false', '--pending'),
  {
    title: 'Wait for a lease',
    streams: LOCK_STREAMS,
    rule: 'wait_p95_ms',
    format: milliseconds,
    lines: [
      { name: 'p99', colour: '--waiting-faint', read: ({ wait_ms }) => wait_ms?.p99 ?? null },
      { name: 'p95', colour: '--waiting-soft', read: ({ wait_ms }) => wait_ms?.p95 ?? null },
      { name: 'p50', colour: '--waiting', read: ({ wait_ms }) => wait_ms?.p50 ?? null },
    ],
    scale: (values, bound) => logScale(bound === undefined ? values : [...values, bound]),
  },
  sharePanel('On the fallback', 'fallback_rate', '--fallback', ['project']),
  sharePanel('Read-only after a failure', 'readonly', '--pending', TAB_STREAMS),
  {
    title: 'Read-only tabs',
    streams: TAB_STREAMS,
    format: String,
    bars: true,
    lines: [
      { name: 'failed', colour: '--bad', read: (m) => m.readonly_entered - m.readonly_waiting },
      { name: 'waiting', colour: '--waiting', read: (m) => m.readonly_waiting },
      { name: 'returned', colour: '--good', read: (m) => m.readonly_returned },
    ],
    scale: (values) => scaleFromZero(Math.max(4, ...values)),
  },
  sharePanel('Successful heartbeats', 'heartbeat_success', '--good'),
]

/** The plot of a share that a rule checks. */
function sharePanel(title: string, rule: RuleName, colour: string, streams = LOCK_STREAMS): Panel {
  const { perfect, read } = RULES[rule]
  const lines = [{ name: 'share', colour, read: (window: WindowMetrics) => read(window)[0] }]
  const scale = perfect === 1 ? sharesToOne : sharesFromZero
  return { title, streams, rule, format: percent, lines, scale }
}

function panelsOf(stream: StreamName): readonly Panel[] {
  return PANELS.filter(({ streams }) => streams.includes(stream))
}

/** `undefined` if the panel has no rule, or the rule is off. */
function boundOfPanel({ rule }: Panel, { rules }: Thresholds): number | undefined {
  return rule && rules[rule].severity !== 'off' ? boundOf(rules[rule]) : undefined
}

function sharesFromZero(values: readonly number[], bound = 0): Scale {
  return scaleFromZero(Math.min(1, Math.max(0.05, bound * 1.2, ...values)))
}

function sharesToOne(values: readonly number[], bound = 1): Scale {
  return scaleToOne(Math.min(0.95, bound - (1 - bound) / 4, ...values))
}
