import { expect, it } from 'vitest'
import type { Stats } from '../../../src/protocol/index.ts'
import { waitersOverTime, withLook } from './waiters.ts'

const SHOWN = 4
/** The server's answer in the `n`th bucket: many callers were granted after a wait, and some wait now. */
function statsIn(n: number, waiters: number): Pick<Stats, 'waiters' | 'buckets'> {
  const buckets = Array.from({ length: SHOWN }, (_, index) => ({
    at: `bucket ${n - SHOWN + 1 + index}`,
    ...{ grants: 9, answered: 0, refusals: 0, ends: 9, expiries: 0, lost: 0 },
    waits: { count: 9, p50: 1, p95: 1, p99: 1 },
  }))
  return { waiters, buckets }
}

/** The plot after these reads: in which bucket, and how many waited. */
function lineAfter(...looks: [bucket: number, waiters: number][]) {
  const all = looks.map(([bucket, waiters]) => statsIn(bucket, waiters))
  const seen = all.reduce(withLook, new Map<string, number>() as ReturnType<typeof withLook>)
  return waitersOverTime(seen, all.at(-1)?.buckets ?? [])
}

it('the plot of waiters shows how many waited at each read, not how many were granted', () => {
  expect(lineAfter([10, 3], [11, 5], [12, 0])).toEqual([null, 3, 5, 0])
})

it('the plot of waiters ends with how many wait now, also after several reads in one bucket', () => {
  expect(lineAfter([10, 3], [10, 7], [10, 4])).toEqual([null, null, null, 4])
})

it('the plot of waiters has a gap where the page did not read, and deletes what the server deletes', () => {
  expect(lineAfter([10, 3], [13, 2])).toEqual([3, null, null, 2])
  expect(lineAfter([10, 3], [14, 2])).toEqual([null, null, null, 2])
})
