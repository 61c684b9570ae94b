import { describe, expect, it } from 'vitest'
import { Coverage } from './coverage.ts'
import { REACHED } from './reached.ts'
import { WORLDS, type WorldName } from './worlds.ts'

/**
 * How many seeds `npm test` runs of each world: 5 000 together, and together for less than 90 s on two idle cores.
 * `npm run sim` runs more.
 */
export const SEEDS: Readonly<Record<WorldName, number>> = {
  managers: 1800,
  documents: 900,
  jobs: 1000,
  sync: 400,
  autosave: 800,
  product: 200,
}

/** A test that takes longer than a few seconds is hard to tell from one that hangs. */
const SHARES = 10

/** A file of tests has one core, so the seeds of a slow world are in several files: every `step`-th one, from `first` on. */
export function checkWorld(name: WorldName, { first = 1, step = 1 } = {}): void {
  const last = SEEDS[name]
  describe(`${name} in a simulated world of faults, seeds ${first} to ${last} in steps of ${step}`, () => {
    const world = WORLDS[name]()
    const coverage = new Coverage()

    for (let share = 0; share < SHARES; share++)
      it(`${name}: what is promised holds, and everything ends, share ${share + 1} of ${SHARES}`, async () => {
        const { run } = await world
        for (let seed = first + share * step; seed <= last; seed += step * SHARES) {
          const { violations, coverage: reached } = await run(seed)
          expect(violations, `replay: npm run sim -- --world ${name} --seed ${seed}`).toEqual([])
          coverage.add(reached)
        }
      })

    it(`${name}: the seeds reach every fault, every answer and every step of the state machines`, () => {
      expect(coverage.missing(REACHED[name])).toEqual([])
    })
  })
}
