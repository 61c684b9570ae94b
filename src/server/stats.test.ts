import { describe, expect, it } from 'vitest'
import type { LeaseRecord } from '../core/index.ts'
import { FakeClock } from '../testing/index.ts'
import { StatsWindow } from './stats.ts'

const LEASE: LeaseRecord = {
  resource: 'a',
  id: 'a',
  owner: 'a',
  token: 1,
  metadata: null,
  share: null,
  acquiredAt: 0,
  expiresAt: 1000,
  remaining: 1000,
  state: 'held',
}

describe('the figures', () => {
  it('count the changes of leases in buckets of ten seconds, for fifteen minutes', async () => {
    const clock = new FakeClock()
    const stats = new StatsWindow(clock)
    stats.onFeedEvent({ phase: 'started', lease: LEASE })
    stats.onFeedEvent({ phase: 'renewed', lease: LEASE })
    await clock.advance(10_000)
    for (const state of ['released', 'expired', 'taken-over', 'expired'] as const)
      stats.onFeedEvent({ phase: 'ended', lease: { ...LEASE, state } })
    for (let ms = 1; ms <= 100; ms++) stats.onWaited(ms)
    for (const granted of [true, true, false]) stats.onAnswered(granted)
    const { buckets } = stats.read('15m')
    expect(buckets).toHaveLength(90)
    expect(buckets.at(-2)).toMatchObject({ at: '2030-01-01T00:00:00.000Z', grants: 1, ends: 0 })
    expect(buckets.at(-1)).toMatchObject({
      grants: 0,
      answered: 3,
      refusals: 1,
      ends: 1,
      expiries: 2,
      lost: 1,
      waits: { count: 100, p50: 51, p95: 96, p99: 100 },
    })
    await clock.advance(15 * 60_000)
    expect(stats.read('15m').buckets.every(({ grants, ends }) => grants + ends === 0)).toBe(true)
  })

  it('the figures are kept for a day in buckets of five minutes', async () => {
    const clock = new FakeClock()
    const stats = new StatsWindow(clock)
    stats.onFeedEvent({ phase: 'started', lease: LEASE })
    await clock.advance(23 * 3_600_000)
    const { buckets, bucket_ms } = stats.read('24h')
    expect([buckets.length, bucket_ms]).toEqual([288, 300_000])
    expect(buckets.filter(({ grants }) => grants === 1)).toMatchObject([{ at: '2030-01-01T00:00:00.000Z' }])
    await clock.advance(3_600_000)
    expect(stats.read('24h').buckets.every(({ grants }) => grants === 0)).toBe(true)
  })

  it('the figures count a grant at the time at which the store made it, also if it is found later', async () => {
    const clock = new FakeClock()
    const stats = new StatsWindow(clock)
    const grantedAgo = (ms: number) => ({ ...LEASE, acquiredAt: 5_000_000 - ms, expiresAt: 5_001_000 })
    for (const ms of [0, 35_000, 35_001, 14 * 60_000, 16 * 60_000])
      stats.onFeedEvent({ phase: 'started', lease: grantedAgo(ms) })
    const { buckets, since } = stats.read('15m')
    expect(since).toBe('2030-01-01T00:00:00.000Z')
    const counted = buckets.flatMap(({ grants }, n) => (grants ? [[n - 89, grants]] : []))
    expect(counted).toEqual([
      [-84, 1],
      [-4, 2],
      [0, 1],
    ])
  })

  it('the figures keep a limited number of waits', () => {
    const stats = new StatsWindow(new FakeClock())
    for (let n = 0; n < 5000; n++) stats.onWaited(7)
    expect(stats.read('15m').buckets.at(-1)?.waits).toEqual({ count: 5000, p50: 7, p95: 7, p99: 7 })
  })
})
