import { Redis } from 'ioredis'
import { addressOf, type Backend } from '../backend.ts'
import { redisCases } from '../redis.ts'

export async function open(): Promise<Backend> {
  const client = new Redis(addressOf('HOLDFAST_TEST_REDIS_URL'))
  return {
    cases: redisCases(client),
    async [Symbol.asyncDispose]() {
      client.disconnect()
    },
  }
}
