import { useEffect, useState } from 'react'
import type { Stats } from '../../../src/protocol/index.ts'

/** The number of waiters that the page read last, by the start of the bucket in which it read. */
type Looks = ReadonlyMap<string, number | null>

/** The server reports only how many wait now, so earlier values are what this page has read. `null`: no read. */
export function useWaiters(stats: Stats | null): readonly (number | null)[] {
  const [looks, setLooks] = useState<Looks>(new Map())
  useEffect(() => {
    if (stats) setLooks((before) => withLook(before, stats))
  }, [stats])
  return waitersOverTime(looks, stats?.buckets ?? [])
}

/** Deletes values that are older than the server's own buckets. */
export function withLook(looks: Looks, { waiters, buckets }: Pick<Stats, 'waiters' | 'buckets'>): Looks {
  const shown = buckets.map(({ at }) => at)
  const kept = [...looks].filter(([at]) => shown.includes(at))
  const now = shown.at(-1)
  return new Map(now === undefined ? kept : [...kept, [now, waiters]])
}

export function waitersOverTime(looks: Looks, buckets: Stats['buckets']): readonly (number | null)[] {
  return buckets.map(({ at }) => looks.get(at) ?? null)
}
