/** NATS and Firestore let no time pass for a test, so registers in memory stand for them. */
import { it } from 'vitest'
import { expectSameAsMemory } from '../same-as-memory.ts'
import { FakeRegisters } from './fake-registers.ts'

it('a store on registers answers like the memory store', async () => {
  await expectSameAsMemory({
    runs: 100,
    usesClock: true,
    waits: false,
    open(count, clock) {
      const registers = new FakeRegisters(clock)
      const stores = Array.from({ length: count }, () => registers.store())
      return {
        stores,
        async [Symbol.asyncDispose]() {
          for (const store of stores) await store.close()
        },
      }
    },
  })
})
