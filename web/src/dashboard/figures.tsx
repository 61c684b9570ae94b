import type { Stats, StatsBucket } from '../../../src/protocol/index.ts'
import { momentText } from '../../../src/react/moment-text.ts'
import { Sparkline } from './sparkline.tsx'
import type { DashboardTexts } from './texts.ts'
import { useWaiters } from './waiters.ts'

const MINUTE_MS = 60_000

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
    const lastMinute = buckets.slice(-Math.max(1, Math.round(MINUTE_MS / (stats?.bucket_ms ?? 10_000))))
    return lastMinute.reduce((sum, bucket) => sum + of(bucket), 0)
  }
  const lost = ({ expiries, lost }: StatsBucket) => expiries + lost
  return (
    <div className="figures">
      <Figure title={words.live} note={words.liveNote} value={live} values={liveOverTime(live, buckets)} />
      <Figure
        title={words.waiters}
        note={stats?.waiters === null ? words.waitersUnknown : words.waitersNote}
        value={stats ? stats.waiters : 0}
        values={waiters}
      />
      <Figure
        title={words.grants}
        note={words.grantsNote}
        value={perMinute(({ grants }) => grants)}
        values={buckets.map(({ grants }) => grants)}
      />
      <Figure
        title={words.lost}
        note={lostNote(stats, words)}
        value={perMinute(lost)}
        values={buckets.map(lost)}
      />
    </div>
  )
}

/** A server that has just started knows nothing of the leases that ended before. */
function lostNote(stats: Stats | null, words: DashboardTexts): string {
  const startedAt = stats ? Date.parse(stats.since) : 0
  const last = stats?.buckets.at(-1)?.at
  const isNew = last !== undefined && startedAt > Date.parse(last) - MINUTE_MS
  return isNew ? words.lostSince(momentText(startedAt, undefined, 'seconds')) : words.lostNote
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
  /** What is counted. */
  readonly note: string
  /** `null`: not known. */
  readonly value: number | null
  readonly values: readonly (number | null)[]
}) {
  return (
    <div className="card figure">
      <h2>{props.title}</h2>
      <span className="value mono">{props.value?.toLocaleString() ?? '–'}</span>
      <Sparkline values={props.values} />
      <p className="note quiet">{props.note}</p>
    </div>
  )
}
