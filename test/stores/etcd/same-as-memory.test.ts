import { Etcd3 } from 'etcd3'
import { afterAll, it } from 'vitest'
import { etcdStore } from '../../../src/stores/etcd/index.ts'
import { expectSameAsMemory } from '../same-as-memory.ts'

const { HOLDFAST_TEST_ETCD_URL: url = '' } = process.env
const client = new Etcd3({ hosts: url.replace(/^etcd:/, 'http:') })
afterAll(() => client.close())

it('etcd answers like the memory store', async () => {
  await expectSameAsMemory({
    runs: 10,
    usesClock: false,
    // A waiter that misses its turn is judged by the clock of its process.
    waits: false,
    // etcd keeps the resource once for each id, also if several leases of that id have ended.
    keeps: false,
    open(count) {
      const prefix = `same-${crypto.randomUUID()}/`
      const stores = Array.from({ length: count }, () => etcdStore(client, { prefix }))
      return {
        stores,
        async [Symbol.asyncDispose]() {
          for (const store of stores) await store.close()
          await client.delete().prefix(prefix)
        },
      }
    },
  })
})
