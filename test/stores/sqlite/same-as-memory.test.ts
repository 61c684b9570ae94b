/**
 * The store takes short ways in plain cases. Whatever is asked, in whatever order, it must answer as the memory
 * store does, which takes none.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { memoryStore } from '../../../src/stores/memory.ts'
import { FakeClock } from '../../../src/testing/index.ts'
import { ASKERS, acquisition, others, sweeping, World } from '../askers.ts'
import { DatabaseFile } from './database-file.ts'

const RUNS = 100
/** Stores learn of each other's changes a moment later than the memory store. */
const NOTICED_AFTER_MS = 20

const action = fc.oneof(acquisition, sweeping, ...others)

it('answers as the memory store does', async () => {
  const property = fc.asyncProperty(
    fc.boolean(),
    fc.array(action, { minLength: 30, maxLength: 60 }),
    async (watched, actions) => {
      await using file = new DatabaseFile()
      const clock = new FakeClock()
      const memory = memoryStore({ clock })
      const expected = new World(ASKERS.map(() => memory))
      const actual = new World(ASKERS.map(() => file.store({ clock })))
      // Then there are no short ways.
      if (watched) await file.store({ clock }).watch(() => {})
      for (const action of actions) {
        if (action.type === 'pass') await clock.advance(action.ms)
        else expect(await actual.do(action)).toEqual(await expected.do(action))
        await clock.advance(NOTICED_AFTER_MS)
        expect(await actual.state()).toEqual(await expected.state())
      }
    },
  )
  await fc.assert(property, { numRuns: RUNS })
})
