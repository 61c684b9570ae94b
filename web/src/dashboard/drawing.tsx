import { useLayoutEffect, useMemo, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Line } from './plot.tsx'
import { format } from './plot-format.ts'

interface DrawingProps {
  readonly label: string
  readonly unit: string
  readonly times: readonly string[]
  readonly lines: readonly Line[]
  readonly when: string
  readonly look: string
}

const HEIGHT = 200
/** The pointer over one plot shows the same moment in all of them. */
const SYNC_KEY = 'holdfast'

/** The lines of a plot. Its library is loaded when there is something to draw. */
export function Drawing({ label, unit, times, lines, when, look }: DrawingProps) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot | null>(null)
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
    if (!element) return
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
  }, [look])
  useLayoutEffect(() => plot.current?.setData(data), [data])
  return <div ref={host} role="img" aria-label={label} />
}

function optionsOf(
  element: HTMLElement,
  { lines, unit, when }: Pick<DrawingProps, 'lines' | 'unit' | 'when'>,
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

function clockOf(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString([], {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
}
