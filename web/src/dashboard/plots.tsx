import { useMemo } from 'react'
import type { Stats, StatsBucket } from '../../../src/protocol/index.ts'
import { usePreferences } from '../ui/preferences.ts'
import { RANGES, type Range } from './live-leases.ts'
import { type Line, Plot } from './plot.tsx'
import type { DashboardTexts } from './texts.ts'

interface PlotsProps {
  readonly stats: Stats | null
  readonly range: Range
  readonly words: DashboardTexts
  readonly onRange: (range: Range) => void
}

/** What happened over time: waits, refusals, grants, and leases that were lost. */
export function Plots({ stats, range, words, onRange }: PlotsProps) {
  const [{ lang, theme }] = usePreferences()
  const plots = useMemo(() => plotsOf(stats, words), [stats, words])
  const times = useMemo(() => stats?.buckets.map(({ at }) => at) ?? [], [stats])
  return (
    <>
      <fieldset className="bar tabs ranges">
        <legend className="visually-hidden">{words.range}</legend>
        {RANGES.map((name) => (
          <button key={name} type="button" aria-pressed={range === name} onClick={() => onRange(name)}>
            {words.ranges[name]}
          </button>
        ))}
      </fieldset>
      <div className="plots">
        {plots.map((plot) => (
          <Plot
            key={plot.title}
            {...plot}
            times={times}
            when={words.when}
            look={`${lang} ${theme}`}
            empty={stats ? words.noPlot : words.loading}
            loading={words.loading}
          />
        ))}
      </div>
    </>
  )
}

function plotsOf(
  stats: Stats | null,
  words: DashboardTexts,
): { title: string; unit: string; lines: Line[] }[] {
  const buckets = stats?.buckets ?? []
  const perMinute = 60_000 / (stats?.bucket_ms ?? 60_000)
  const values = (of: (bucket: StatsBucket) => number | null) => buckets.map(of)
  const rate = (of: (bucket: StatsBucket) => number) => values((bucket) => of(bucket) * perMinute)
  return [
    {
      title: words.waits,
      unit: 'ms',
      lines: [
        { name: 'p50', colour: 'held', values: values(({ waits }) => waits.p50) },
        { name: 'p95', colour: 'waiting', values: values(({ waits }) => waits.p95) },
        { name: 'p99', colour: 'lost', values: values(({ waits }) => waits.p99) },
      ],
    },
    {
      title: words.success,
      unit: '%',
      lines: [{ name: words.share, colour: 'held', values: values(grantedShare) }],
    },
    {
      title: words.flow,
      unit: words.perMinute,
      lines: [
        { name: words.what.granted, colour: 'held', values: rate(({ grants }) => grants) },
        { name: words.what.released, colour: 'pending', values: rate(({ ends }) => ends) },
      ],
    },
    {
      title: words.trouble,
      unit: words.perMinute,
      lines: [
        { name: words.what.expired, colour: 'lost', values: rate(({ expiries }) => expiries) },
        { name: words.what['taken-over'], colour: 'waiting', values: rate(({ lost }) => lost) },
      ],
    },
  ]
}

function grantedShare({ answered, refusals }: StatsBucket): number | null {
  return answered === 0 ? null : (100 * (answered - refusals)) / answered
}
