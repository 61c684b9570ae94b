/**
 * In plain cases the store uses single statements instead of transactions. Its answers to any sequence of requests
 * must be those of the memory store, which always uses the transitions.
 */
import { expect, it } from 'vitest'
import { type Caller, expectSameAsMemory } from '../same-as-memory.ts'
import { DatabaseFile } from './database-file.ts'

/** Stores notice each other's changes a moment later than the memory store does. */
const NOTICED_AFTER_MS = 20

const cases = [
  // A sweep of the memory store also ends reservations that were not used. SQLite leaves these to the next caller.
  // A waiter that has its turn and loses it to a steal in one transaction is called by the memory store only.
  { title: 'while some wait', waits: true, steals: false, sweeps: false },
  { title: 'while some steal', waits: false },
  // Then only transactions are used.
  { title: 'while somebody watches', waits: true, steals: false, sweeps: false, isWatched: true },
]

it.each(cases)('SQLite answers like the memory store $title', async ({ isWatched, ...requests }) => {
  await expectSameAsMemory({
    ...requests,
    together: true,
    runs: 25,
    usesClock: true,
    async open(count, clock) {
      const file = new DatabaseFile()
      const stores = Array.from({ length: count }, () => file.store({ clock }))
      if (isWatched) await file.store({ clock }).watch(() => {})
      const delivered = () => clock.advance(NOTICED_AFTER_MS)
      return { stores, delivered, [Symbol.asyncDispose]: () => file[Symbol.asyncDispose]() }
    },
    expectSameCalled,
  })
})

/**
 * Waiters were woken, but have not used their reservations. A process that looks at the queue then wakes the next
 * waiter at once; the memory store leaves that one to its own timer. Nobody else may be woken in addition.
 */
function expectSameCalled(actual: readonly Caller[], expected: readonly Caller[]): void {
  expect(actual).toEqual(expect.arrayContaining([...expected]))
  for (const resource of ['a', 'b']) {
    const [called, expectedly] = [actual, expected].map(
      (callers) => callers.filter((caller) => caller.resource === resource).length,
    ) as [number, number]
    expect(called - expectedly).toBeLessThanOrEqual(expectedly > 0 ? 1 : 0)
  }
}
