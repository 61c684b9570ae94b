import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'vitest'
import { fileStore } from '../../../src/stores/file/index.ts'
import { expectSameAsMemory } from '../same-as-memory.ts'

it('a directory of files answers like the memory store', async () => {
  await expectSameAsMemory({
    runs: 25,
    usesClock: true,
    shortestTtl: 1000,
    waits: false,
    async open(count, clock) {
      const directory = await mkdtemp(join(tmpdir(), 'holdfast-file-'))
      const stores = Array.from({ length: count }, () => fileStore(directory, { clock }))
      return {
        stores,
        async [Symbol.asyncDispose]() {
          await Promise.all(stores.map((store) => store.close()))
          await rm(directory, { recursive: true })
        },
      }
    },
  })
})
