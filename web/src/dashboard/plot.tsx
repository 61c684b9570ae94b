import { Suspense } from 'react'
import { lazyPart } from '../ui/lazy-part.tsx'
import { format } from './plot-format.ts'

const Drawing = lazyPart(async () => (await import('./drawing.tsx')).Drawing)

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
  /** What is shown while there is nothing to draw. */
  readonly empty: string
  readonly loading: string
  /** The word for the moment under the pointer. */
  readonly when: string
  /** The theme and language. The plot is drawn anew when it changes. */
  readonly look: string
}

/** Values over time, with the numbers under the pointer. */
export function Plot({ title, unit, times, lines, empty, loading, when, look }: PlotProps) {
  const isEmpty = lines.every(({ values }) => values.every((value) => !value))
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
        <Suspense fallback={<p className="quiet empty">{loading}</p>}>
          <Drawing label={`${title}: ${now}`} {...{ unit, times, lines, when, look }} />
        </Suspense>
      )}
    </figure>
  )
}
