import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../property.ts'
import { checkWorld, SEEDS } from './check-world.ts'
import { simulate } from './simulation.ts'

checkWorld('managers')

describe('leases in a simulated world of faults', () => {
  it('hold what is promised for seeds that were drawn', async () => {
    const property = fc.asyncProperty(fc.nat(), async (drawn) => {
      const seed = SEEDS.managers + 1 + drawn
      const { violations } = await simulate(seed)
      expect(violations, `replay: npm run sim -- --world managers --seed ${seed}`).toEqual([])
    })
    await checkProperty(property)
  })
})
