/** Short versions of what `npm run torture` does for an hour. */
import { describe, expect, it } from 'vitest'
import { BEDS } from './beds/index.ts'
import { forgetGrant, REPLICATED } from './failover.ts'
import { runRound } from './round.ts'

/** Another order of the faults: HOLDFAST_SEED. */
const { HOLDFAST_SEED: seed = '1' } = process.env
const STEPS = 2

describe('workers on a store to which faults happen', () => {
  it.concurrent.each(['sqlite', 'redis', 'postgres', 'mysql', 'etcd', 'nats', 'serve'])(
    'on %s there is one holder at a time, and everybody is granted leases again',
    async (store) => {
      const openBed = BEDS[store] as (typeof BEDS)[string]
      const { violations, counts } = await runRound(openBed, {
        seed: Number(seed),
        forMs: Infinity,
        steps: STEPS,
        workers: 2,
      })
      expect(violations).toEqual([])
      expect(counts.grants).toBeGreaterThan(0)
    },
  )
})

describe.each(Object.entries(REPLICATED))('%s: a failover to a replica that lags behind', (_, open) => {
  it('forgets a confirmed grant, and the guard refuses the late write of its holder', async () => {
    await using store = await open()
    const { isForgotten, violations } = await forgetGrant(store)
    expect(violations).toEqual([])
    expect(isForgotten).toBe(true)
  })
})
