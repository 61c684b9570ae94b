import { useLayoutEffect, useMemo, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

export interface Line {
  readonly name: string
  /** One of the colours of the style sheet. */
  readonly colour: 'held' | 'pending' | 'waiting' | 'lost'
  readonly values: readonly (number | null)[]
}

interface PlotProps {
  readonly title: string
  /** What the numbers are, for the axis: `ms`, `%`, `per minute`. */
  readonly unit: string
  /** ISO 8601, one for each value. */
  readonly times: readonly string[]
  readonly lines: readonly Line[]
  readonly empty: string
  /** The word for the moment under the pointer. */
  readonly when: string
  /** The theme and language. The plot is drawn anew when it changes. */
  readonly look: string
}

const HEIGHT = 200
/** The pointer over one plot shows the same moment in all of them. */
const SYNC_KEY = 'holdfast'

/** Values over time, with the numbers under the pointer. */
export function Plot({ title, unit, times, lines, empty, when, look }: PlotProps) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot | null>(null)
  const isEmpty = lines.every(({ values }) => values.every((value) => !value))
  const data = useMemo(
    (): UPlot.AlignedData => [
      times.map((time) => Date.parse(time) / 1000),
      ...lines.map(({ values }) => [...values]),
    ],
    [times, lines],
  )
  const latest = useRef({ data, lines, unit, when })
  latest.current = { data, lines, unit, when }
  // biome-ignore lint/correctness/useExhaustiveDependencies: `look` changes the colours that the style sheet gives.
  useLayoutEffect(() => {
    const element = host.current
    if (isEmpty || !element) return
    const { data } = latest.current
    const drawn = new UPlot(optionsOf(element, latest.current), data, element)
    plot.current = drawn
    const observer = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      drawn.destroy()
      plot.current = null
    }
  }, [isEmpty, look])
  useLayoutEffect(() => plot.current?.setData(data), [data])
  const now = lines.map(({ name, values }) => `${name} ${format(values.at(-1) ?? null, unit)}`).join(', ')
  return (
    <figure className="card plot">
      <figcaption>
        <h2>
          {title} <span className="unit">{unit}</span>
        </h2>
      </figcaption>
      {isEmpty ? (
        <p className="quiet empty">{empty}</p>
      ) : (
        <div ref={host} role="img" aria-label={`${title}: ${now}`} />
      )}
    </figure>
  )
}

function optionsOf(
  element: HTMLElement,
  { lines, unit, when }: Pick<PlotProps, 'lines' | 'unit' | 'when'>,
): UPlot.Options {
  const axis = {
    stroke: colourOf(element, 'quiet'),
    font: `12px ${getComputedStyle(element).getPropertyValue('--mono')}`,
    grid: { stroke: colourOf(element, 'line'), width: 1 },
    ticks: { show: false },
  }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    cursor: { sync: { key: SYNC_KEY }, drag: { x: false, y: false } },
    scales: { y: { range: (_, _low, high) => [0, unit === '%' ? 100 : Math.max(1, high * 1.1)] } },
    axes: [
      { ...axis, space: 90, values: (_, seconds) => seconds.map(clockOf) },
      { ...axis, size: 56, values: (_, values) => values.map((value) => format(value, '')) },
    ],
    series: [
      { label: when, value: (_, seconds) => (seconds === null ? '' : clockOf(seconds)) },
      ...lines.map(({ name, colour }) => ({
        label: name,
        stroke: colourOf(element, colour),
        width: 1.5,
        value: (_: UPlot, value: number | null) => format(value, unit),
        points: { size: 5, filter: (plot: UPlot, series: number) => lonely(plot.data[series] ?? []) },
      })),
    ],
    // Without a pointer, the latest values are shown.
    hooks: { setCursor: [showLatest], setData: [showLatest], ready: [showLatest] },
  }
}

function showLatest(plot: UPlot): void {
  if (plot.cursor.idx == null) plot.setLegend({ idx: plot.data[0].length - 1 }, false)
}

/** The indexes of values between two gaps, which a line cannot show. */
function lonely(values: ArrayLike<number | null | undefined>): number[] {
  const isGap = (index: number) => (values[index] ?? null) === null
  return Array.from(values, (_, index) => index).filter(
    (index) => !isGap(index) && isGap(index - 1) && isGap(index + 1),
  )
}

/** A colour of the style sheet as a canvas understands it. */
function colourOf(element: HTMLElement, name: string): string {
  const probe = element.appendChild(document.createElement('span'))
  probe.style.color = `var(--${name})`
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** The last minutes of a figure, small. */
export function Sparkline({ values }: { readonly values: readonly (number | null)[] }) {
  const top = Math.max(1, ...values.map((value) => value ?? 0))
  const x = (index: number) => ((index * 96) / Math.max(1, values.length - 1)).toFixed(1)
  const y = (value: number) => (22 - (20 * value) / top).toFixed(1)
  const path = values.map((value, index) => {
    if (value === null) return ''
    const isStart = (values[index - 1] ?? null) === null
    return `${isStart ? 'M' : 'L'}${x(index)} ${y(value)}${isStart ? 'h0' : ''}`
  })
  return (
    <svg className="spark" viewBox="0 0 96 24" aria-hidden="true">
      <path className="line" d={path.join('')} />
    </svg>
  )
}

function format(value: number | null, unit: string): string {
  if (value === null) return '–'
  const rounded =
    value >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString() : value.toFixed(1)
  return unit ? `${rounded} ${unit}` : rounded
}

function clockOf(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString([], {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
}
