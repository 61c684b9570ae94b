import { it } from 'vitest'
import { directoryStore } from '../../../src/stores/web/index.ts'
import { FakeFileSystem } from '../../web/fake-directory.ts'
import { expectSameAsMemory } from '../same-as-memory.ts'

it('a file in a directory of the browser answers like the memory store', async () => {
  await expectSameAsMemory({
    runs: 50,
    usesClock: true,
    waits: true,
    open(count, clock) {
      const { root } = new FakeFileSystem(clock)
      const file = `same-${crypto.randomUUID()}.json`
      const stores = Array.from({ length: count }, () => directoryStore(root, { file, clock }))
      return {
        stores,
        async [Symbol.asyncDispose]() {
          for (const store of stores) await store.close()
        },
      }
    },
    // Messages between tabs take as long as they take.
    expectSameCalled: () => {},
  })
})
