import { type RefObject, useLayoutEffect, useRef, useState } from 'react'

export interface Line {
  readonly name: string
  /** One of the colours of the style sheet. */
  readonly colour: 'held' | 'pending' | 'waiting' | 'lost'
  readonly values: readonly (number | null)[]
}

interface PlotProps {
  readonly title: string
  readonly unit: string
  /** ISO 8601, one for each value. */
  readonly times: readonly string[]
  readonly lines: readonly Line[]
  readonly empty: string
}

const HEIGHT = 194
const LEFT = 48
/** Space for half a line of text. */
const TOP = 10
const BOTTOM = 24

/** Values over the last minutes, with the numbers under the pointer. */
export function Plot({ title, unit, times, lines, empty }: PlotProps) {
  const [at, setAt] = useState<number | null>(null)
  const figure = useRef<HTMLElement>(null)
  const width = useInnerWidth(figure)
  const highest = Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const top = niceCeiling(highest)
  const x = (index: number) => LEFT + ((width - LEFT) * index) / Math.max(1, times.length - 1)
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)
  const shownAt = at ?? times.length - 1
  return (
    <figure ref={figure} className="card plot">
      <figcaption className="bar">
        <h2 className="grow">{title}</h2>
        {lines.map(({ name, colour, values }) => (
          <span key={name} className="key" data-colour={colour}>
            {name} <span className="mono">{format(values[shownAt] ?? null, unit)}</span>
          </span>
        ))}
      </figcaption>
      {highest === 0 ? (
        <p className="quiet empty">{empty}</p>
      ) : (
        <svg
          viewBox={`0 0 ${width} ${HEIGHT}`}
          role="img"
          aria-label={`${title}: ${lines.map(({ name, values }) => `${name} ${format(values.at(-1) ?? null, unit)}`).join(', ')}`}
          onPointerMove={({ clientX, currentTarget }) => {
            const { left } = currentTarget.getBoundingClientRect()
            const share = (clientX - left - LEFT) / (width - LEFT)
            const index = Math.round(share * (times.length - 1))
            setAt(Math.min(times.length - 1, Math.max(0, index)))
          }}
          onPointerLeave={() => setAt(null)}
        >
          {[0, 0.5, 1].map((share) => (
            <g key={share}>
              <line className="grid" x1={LEFT} x2={width} y1={y(top * share)} y2={y(top * share)} />
              <text x={LEFT - 6} y={y(top * share) + 4} textAnchor="end">
                {format(top * share, '')}
              </text>
            </g>
          ))}
          {[0, Math.floor((times.length - 1) / 2), times.length - 1].map((index, n) => (
            <text
              key={times[index]}
              x={x(index)}
              y={HEIGHT - 4}
              textAnchor={(['start', 'middle', 'end'] as const)[n]}
            >
              {clockOf(times[index])}
            </text>
          ))}
          {lines.map(({ name, colour, values }) => (
            <g key={name} data-colour={colour}>
              <path className="line" d={pathOf(values, x, y)} />
              {values.map((value, index) =>
                value === null || !standsAlone(values, index) ? null : (
                  <circle key={times[index]} cx={x(index)} cy={y(value)} r="2.5" />
                ),
              )}
            </g>
          ))}
          {at !== null && <line className="cursor" x1={x(at)} x2={x(at)} y1={TOP} y2={HEIGHT - BOTTOM} />}
        </svg>
      )}
    </figure>
  )
}

/** The plot is drawn at the size at which it is shown. Scaled, its text would be too small on a phone. */
function useInnerWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(640)
  useLayoutEffect(() => {
    if (!element.current) return
    const observer = new ResizeObserver(([entry]) => entry && setWidth(entry.contentRect.width))
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [element])
  return width
}

export function Sparkline({ values }: { readonly values: readonly (number | null)[] }) {
  const top = Math.max(1, ...values.map((value) => value ?? 0))
  const x = (index: number) => (index * 96) / Math.max(1, values.length - 1)
  return (
    <svg className="spark" viewBox="0 0 96 24" aria-hidden="true">
      <path className="line" d={pathOf(values, x, (value) => 22 - (20 * value) / top)} />
    </svg>
  )
}

function standsAlone(values: readonly (number | null)[], index: number): boolean {
  return (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null
}

/** A missing value is a gap, and a value between two gaps is a dot. */
function pathOf(
  values: readonly (number | null)[],
  x: (index: number) => number,
  y: (value: number) => number,
): string {
  let pen = 'M'
  return values
    .map((value, index) => {
      if (value === null) {
        pen = 'M'
        return ''
      }
      const step = `${pen}${x(index).toFixed(1)} ${y(value).toFixed(1)}${pen === 'M' ? 'h0' : ''}`
      pen = 'L'
      return step
    })
    .join('')
}

function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)))
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power
}

function format(value: number | null, unit: string): string {
  if (value === null) return '–'
  return `${value >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString() : value.toFixed(1)}${unit && ` ${unit}`}`
}

function clockOf(time: string | undefined): string {
  return time
    ? new Date(time).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hour12: false })
    : ''
}
