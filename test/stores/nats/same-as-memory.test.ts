import { Kvm } from '@nats-io/kv'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, it } from 'vitest'
import { natsStore } from '../../../src/stores/nats/index.ts'
import { expectSameAsMemory } from '../same-as-memory.ts'

const { HOLDFAST_TEST_NATS_URL = 'nats://127.0.0.1:4222' } = process.env
let connection: NatsConnection
beforeAll(async () => {
  connection = await connect({ servers: HOLDFAST_TEST_NATS_URL })
})
afterAll(() => connection.close())

it('NATS answers like the memory store', async () => {
  await expectSameAsMemory({
    runs: 10,
    usesClock: false,
    waits: false,
    open(count) {
      const bucket = `same-${crypto.randomUUID()}`
      const stores = Array.from({ length: count }, () => natsStore(connection, { bucket }))
      return {
        stores,
        async [Symbol.asyncDispose]() {
          for (const store of stores) await store.close()
          const kv = await new Kvm(connection).open(bucket)
          await kv.destroy()
        },
      }
    },
  })
})
