/**
 * In plain cases the store uses single statements instead of transactions. Its answers to any sequence of requests
 * must be those of the memory store, which always uses the transitions.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { memoryStore } from '../../../src/stores/memory.ts'
import { FakeClock } from '../../../src/testing/index.ts'
import { ASKERS, acquisition, others, sweeping, World, type WorldState } from '../askers.ts'
import { DatabaseFile } from './database-file.ts'

const RUNS = 100
/** Stores notice each other's changes a moment later than the memory store does. */
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
      // While somebody watches, only transactions are used.
      if (watched) await file.store({ clock }).watch(() => {})
      for (const action of actions) {
        if (action.type === 'pass') await clock.advance(action.ms)
        else expect(await actual.do(action)).toEqual(await expected.do(action))
        await clock.advance(NOTICED_AFTER_MS)
        expectSame(await actual.state(), await expected.state())
      }
    },
  )
  await fc.assert(property, { numRuns: RUNS })
})

/**
 * The first waiter was woken, but has not used its reservation. A process that looks at the queue then wakes the
 * second waiter at once; the memory store leaves that one to its own timer. Nobody else may be woken in addition.
 */
function expectSame(actual: WorldState, expected: WorldState): void {
  expect(actual.leases).toEqual(expected.leases)
  for (const [index, resource] of ['a', 'b'].entries()) {
    const wokenIn = ({ called }: WorldState) => called.filter((id) => id.endsWith(` for ${resource}`))
    const [woken, expectedly] = [wokenIn(actual), wokenIn(expected)]
    expect(woken).toEqual(expect.arrayContaining(expectedly))
    const isReserved = expected.leases[0][index] === null && expectedly.length > 0
    expect(woken.length - expectedly.length).toBeLessThanOrEqual(isReserved ? 1 : 0)
  }
}
