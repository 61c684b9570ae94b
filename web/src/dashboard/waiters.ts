import { useEffect, useState } from 'react'
import type { Stats } from '../../../src/protocol/index.ts'

/** How many waited when the page last looked, by the start of the bucket in which it did. */
type Looks = ReadonlyMap<string, number>

/** The server tells only how many wait now; what was before is what this page has seen. `null`: it did not look. */
export function useWaiters(stats: Stats | null): readonly (number | null)[] {
  const [looks, setLooks] = useState<Looks>(new Map())
  useEffect(() => {
    if (stats) setLooks((before) => withLook(before, stats))
  }, [stats])
  return waitersOverTime(looks, stats?.buckets ?? [])
}

/** Forgets what is older than the server's own buckets. */
export function withLook(looks: Looks, { waiters, buckets }: Pick<Stats, 'waiters' | 'buckets'>): Looks {
  const shown = buckets.map(({ at }) => at)
  const kept = [...looks].filter(([at]) => shown.includes(at))
  const now = shown.at(-1)
  return new Map(now === undefined ? kept : [...kept, [now, waiters]])
}

export function waitersOverTime(looks: Looks, buckets: Stats['buckets']): readonly (number | null)[] {
  return buckets.map(({ at }) => looks.get(at) ?? null)
}
