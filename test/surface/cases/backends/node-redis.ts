import { createClient } from 'redis'
import { addressOf, type Backend } from '../backend.ts'
import { redisCases } from '../redis.ts'

export async function open(): Promise<Backend> {
  const client = createClient({ url: addressOf('HOLDFAST_TEST_REDIS_URL') })
  await client.connect()
  return {
    cases: redisCases(client),
    async [Symbol.asyncDispose]() {
      client.destroy()
    },
  }
}
