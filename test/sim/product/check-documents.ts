import { describe, expect, it } from 'vitest'
import { WORLDS } from '../worlds.ts'
import { Coverage } from './coverage.ts'
import { REACHED } from './reached.ts'

/** Of so many seeds the parts run each a half, because a file of tests has one core. */
export const SEEDS = 1600
const SHARES = 10

/** Every second seed, from `first` on, and that together they reach everything. */
export function checkDocuments(first: 1 | 2): void {
  describe(`documents in a simulated world of faults, seeds ${first}, ${first + 2}, … to ${SEEDS}`, () => {
    const world = WORLDS.documents()
    const coverage = new Coverage()

    for (let share = 0; share < SHARES; share++)
      it(`nothing that was typed is lost and everything ends, share ${share + 1} of ${SHARES}`, async () => {
        const { run } = await world
        for (let seed = first + 2 * share; seed <= SEEDS; seed += 2 * SHARES) {
          const { violations, coverage: reached } = await run(seed)
          expect(violations, `replay: npm run sim -- --world documents --seed ${seed}`).toEqual([])
          coverage.add(reached ?? new Map())
        }
      })

    it('the seeds reach every fault, every answer and every step of the state machines', () => {
      expect(coverage.missing(REACHED)).toEqual([])
    })
  })
}
