/** Plots as SVG. Their colours are CSS variables of the page. */

export interface Series {
  readonly name: string
  /** The name of a CSS variable. */
  readonly colour: string
  readonly values: readonly (number | null)[]
}

export interface Plot {
  readonly series: readonly Series[]
  /** The start of the window of each value, milliseconds, ascending. */
  readonly times: readonly number[]
  readonly stepMs: number
  readonly format: (value: number) => string
  readonly scale: Scale
  /** The bound of the rule. */
  readonly bound?: number | undefined
  /** Times in which a rollback was required. */
  readonly bands: readonly { readonly from: number; readonly to: number }[]
  readonly bars?: boolean
}

export interface Scale {
  readonly ticks: readonly number[]
  /** From 0 at the bottom to 1 at the top. */
  place(value: number): number
}

export const WIDTH = 500
export const HEIGHT = 170
const LEFT = 60
const RIGHT = 12
const TOP = 10
const BOTTOM = 26

const TICKS = 4

/** A scale from 0 to this value or a little more. */
export function scaleFromZero(to: number): Scale {
  const step = niceStep(to / TICKS)
  return linearScale(0, step, Math.ceil(to / step - 1e-9))
}

/** A scale from this fraction or a little less to 1. */
export function scaleToOne(from: number): Scale {
  const step = niceStep((1 - from) / TICKS)
  const count = Math.min(Math.ceil((1 - from) / step - 1e-9), Math.round(1 / step))
  return linearScale(1 - step * count, step, count)
}

function linearScale(from: number, step: number, count: number): Scale {
  const ticks = Array.from({ length: count + 1 }, (_, index) => from + index * step)
  return { ticks, place: (value) => clamp((value - from) / (step * count)) }
}

/** A scale of powers of ten, for values from milliseconds to minutes. */
export function logScale(values: readonly number[]): Scale {
  const positive = values.filter((value) => value > 0)
  const low = Math.floor(Math.log10(Math.max(1, Math.min(...positive, 1e9))))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(10, ...positive)) - 1e-9))
  const ticks = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index))
  return { ticks, place: (value) => clamp((Math.log10(Math.max(value, 1e-9)) - low) / (high - low)) }
}

function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough))
  return ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9)) ?? 10) * power
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share))
}

/** The horizontal position of each time. The script of the page uses it too. */
export function positionsOf({ times, stepMs }: Pick<Plot, 'times' | 'stepMs'>): number[] {
  return times.map(timeAxis(times, stepMs))
}

function timeAxis(times: readonly number[], stepMs: number): (time: number) => number {
  const first = times[0] ?? 0
  const span = (times.at(-1) ?? first) + stepMs - first
  return (time) => round(LEFT + clamp((time - first + stepMs / 2) / span) * (WIDTH - LEFT - RIGHT))
}

export function renderPlot(plot: Plot): string {
  const { series, times, stepMs, scale, bound, format } = plot
  const x = timeAxis(times, stepMs)
  const y = (value: number) => round(HEIGHT - BOTTOM - scale.place(value) * (HEIGHT - TOP - BOTTOM))
  const right = WIDTH - RIGHT
  const grid = scale.ticks.map(
    (tick) =>
      `<line class="grid" x1="${LEFT}" x2="${right}" y1="${y(tick)}" y2="${y(tick)}"/>` +
      `<text class="tick" x="${LEFT - 8}" y="${y(tick) + 4}" text-anchor="end">${format(tick)}</text>`,
  )
  const bands = plot.bands.map(({ from, to }) => {
    const start = x(from - stepMs / 2)
    return `<rect class="band" x="${start}" y="${TOP}" width="${round(x(to - stepMs / 2) - start)}" height="${HEIGHT - TOP - BOTTOM}"/>`
  })
  const limit =
    bound === undefined
      ? []
      : [`<line class="bound" x1="${LEFT}" x2="${right}" y1="${y(bound)}" y2="${y(bound)}"/>`]
  const shapes = series.map((one, place) =>
    plot.bars ? barsOf(one, place, plot, { x, y }) : linesOf(one, plot, x, y),
  )
  const isEmpty = series.every(({ values }) => values.every((value) => value === null))
  const empty = `<text class="tick" x="${(LEFT + right) / 2}" y="${HEIGHT / 2}" text-anchor="middle">no data</text>`
  return [
    ...bands,
    ...grid,
    ...timeTicks(plot, x),
    ...shapes,
    ...limit,
    ...(isEmpty ? [empty] : []),
    `<line class="cursor" x1="0" x2="0" y1="${TOP}" y2="${HEIGHT - BOTTOM}"/>`,
  ].join('')
}

type Axis = (value: number) => number

/** A missing value is a gap in the line. A single value between two gaps is a dot. */
function linesOf({ colour, values }: Series, { times, stepMs }: Plot, x: Axis, y: Axis): string {
  const runs: string[][] = []
  let next = Number.NaN
  for (const [index, time] of times.entries()) {
    const value = values[index] ?? null
    if (value === null) continue
    const point = `${x(time)},${y(value)}`
    if (time === next) runs.at(-1)?.push(point)
    else runs.push([point])
    next = time + stepMs
  }
  const shapes = runs.map((points) => {
    if (points.length > 1) return `<polyline points="${points.join(' ')}"/>`
    const [cx, cy] = (points[0] ?? '').split(',')
    return `<circle cx="${cx}" cy="${cy}" r="2"/>`
  })
  return `<g class="line" style="--series:var(${colour})">${shapes.join('')}</g>`
}

/** The bars of several series are drawn side by side. */
function barsOf(
  { colour, values }: Series,
  place: number,
  { series, times }: Plot,
  { x, y }: { readonly x: Axis; readonly y: Axis },
): string {
  const room = ((WIDTH - LEFT - RIGHT) / times.length) * 0.8
  const width = Math.max(1, round(room / series.length))
  const bars = times.flatMap((time, index) => {
    const value = values[index] ?? 0
    if (value <= 0) return []
    const left = round(x(time) + width * (place - series.length / 2))
    return `<rect x="${left}" y="${y(value)}" width="${width}" height="${round(y(0) - y(value))}"/>`
  })
  return `<g class="bars" style="--series:var(${colour})">${bars.join('')}</g>`
}

const HOUR_MS = 3_600_000
const TICK_STEPS_MS = [0.25, 0.5, 1, 2, 3, 6, 12, 24, 48, 168].map((hours) => hours * HOUR_MS)
const MAX_TIME_TICKS = 8

function timeTicks({ times, stepMs }: Plot, x: Axis): string[] {
  const first = times[0] ?? 0
  const last = times.at(-1) ?? 0
  const step = TICK_STEPS_MS.find((ms) => (last - first) / ms <= MAX_TIME_TICKS) ?? 168 * HOUR_MS
  const ticks: string[] = []
  for (let time = Math.ceil(first / step) * step; time <= last; time += step) {
    const iso = new Date(time).toISOString()
    const label = time % (24 * HOUR_MS) === 0 ? iso.slice(5, 10) : iso.slice(11, 16)
    ticks.push(
      `<text class="tick" x="${x(time - stepMs / 2)}" y="${HEIGHT - 6}" text-anchor="middle">${label}</text>`,
    )
  }
  return ticks
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
