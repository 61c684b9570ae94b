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
 * A process that looks at the queue finds a reservation that nobody has used, and wakes the second waiter at once.
 * The memory store leaves that waiter to its own timer. So a free resource may have woken more waiters, never fewer.
 */
function expectSame(actual: WorldState, expected: WorldState): void {
  expect(actual.leases).toEqual(expected.leases)
  expect(actual.called).toEqual(expect.arrayContaining([...expected.called]))
  const held = expected.leases[0].flatMap((lease) => (lease ? [lease.resource] : []))
  const extra = actual.called.filter((id) => !expected.called.includes(id))
  expect(extra.filter((id) => held.some((resource) => id.endsWith(` for ${resource}`)))).toEqual([])
}
