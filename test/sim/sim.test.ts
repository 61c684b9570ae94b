import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../property.ts'
import { simulate } from './simulation.ts'

/** With `npm run sim -- --seeds 100000` for more. */
const SEEDS = 4000
const SHARES = 8

describe('leases in a simulated world of faults', () => {
  for (let share = 0; share < SHARES; share++) {
    it(`hold what is promised, seeds ${share + 1} to ${SEEDS} in steps of ${SHARES}`, async () => {
      for (let seed = share + 1; seed <= SEEDS; seed += SHARES) {
        const { violations } = await simulate(seed)
        expect(violations, `replay: npm run sim -- --seed ${seed}`).toEqual([])
      }
    })
  }

  it('hold what is promised for seeds that were drawn', async () => {
    const property = fc.asyncProperty(fc.nat(), async (seed) => {
      const { violations } = await simulate(SEEDS + 1 + seed)
      expect(violations, `replay: npm run sim -- --seed ${SEEDS + 1 + seed}`).toEqual([])
    })
    await checkProperty(property)
  })

  it('replay exactly from their seed', async () => {
    const first = await simulate(7, { trace: true })
    const second = await simulate(7, { trace: true })
    expect(first.trace.length).toBeGreaterThan(50)
    expect(second.trace).toEqual(first.trace)
    expect((await simulate(8, { trace: true })).trace).not.toEqual(first.trace)
  })
})
