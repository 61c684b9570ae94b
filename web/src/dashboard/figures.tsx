import type { Stats, StatsBucket } from '../../../src/protocol/index.ts'
import { Sparkline } from './plot.tsx'
import type { DashboardTexts } from './texts.ts'
import { useWaiters } from './waiters.ts'

interface FiguresProps {
  readonly live: number
  readonly stats: Stats | null
  readonly words: DashboardTexts
}

/** The four numbers at the top, each with its last 15 minutes. */
export function Figures({ live, stats, words }: FiguresProps) {
  const waiters = useWaiters(stats)
  const buckets = stats?.buckets ?? []
  const perMinute = (of: (bucket: StatsBucket) => number) => {
    const lastMinute = buckets.slice(-Math.max(1, Math.round(60_000 / (stats?.bucket_ms ?? 10_000))))
    return lastMinute.reduce((sum, bucket) => sum + of(bucket), 0)
  }
  const lost = ({ expiries, lost }: StatsBucket) => expiries + lost
  return (
    <div className="figures">
      <Figure title={words.live} value={live} values={liveOverTime(live, buckets)} />
      <Figure title={words.waiters} value={stats?.waiters ?? 0} values={waiters} />
      <Figure
        title={words.grants}
        value={perMinute(({ grants }) => grants)}
        values={buckets.map(({ grants }) => grants)}
      />
      <Figure title={words.lost} value={perMinute(lost)} values={buckets.map(lost)} />
    </div>
  )
}

/** Counted back from now: a lease granted in a bucket did not exist before it, and one that ended in it did. */
function liveOverTime(live: number, buckets: readonly StatsBucket[]): number[] {
  let before = live
  return buckets
    .toReversed()
    .map(({ grants, ends, expiries, lost }) => {
      const after = before
      before = Math.max(0, before - grants + ends + expiries + lost)
      return after
    })
    .reverse()
}

function Figure(props: {
  readonly title: string
  readonly value: number
  readonly values: readonly (number | null)[]
}) {
  return (
    <div className="card figure">
      <h2>{props.title}</h2>
      <span className="value mono">{props.value.toLocaleString()}</span>
      <Sparkline values={props.values} />
    </div>
  )
}
