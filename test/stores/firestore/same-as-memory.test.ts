import { Firestore } from '@google-cloud/firestore'
import { afterAll, it, vi } from 'vitest'
import { firestoreStore } from '../../../src/stores/firestore/index.ts'
import { expectSameAsMemory } from '../same-as-memory.ts'

const { FIRESTORE_EMULATOR_HOST = '127.0.0.1:8080' } = process.env
vi.stubEnv('FIRESTORE_EMULATOR_HOST', FIRESTORE_EMULATOR_HOST)
vi.stubEnv('METADATA_SERVER_DETECTION', 'none')
const client = new Firestore({ projectId: 'holdfast-test' })
afterAll(() => client.terminate())

it('Firestore answers like the memory store', async () => {
  await expectSameAsMemory({
    runs: 10,
    usesClock: false,
    waits: false,
    open(count) {
      const collection = `same-${crypto.randomUUID()}`
      const stores = Array.from({ length: count }, () => firestoreStore(client, { collection }))
      return {
        stores,
        async [Symbol.asyncDispose]() {
          for (const store of stores) await store.close()
        },
      }
    },
  })
})
