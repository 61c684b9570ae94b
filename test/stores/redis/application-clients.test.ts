import { Redis } from 'ioredis'
import { createClient, RESP_TYPES } from 'redis'
import { describe, expect, it } from 'vitest'
import { redisGuard } from '../../../src/guard/index.ts'
import { redisJobs } from '../../../src/once/index.ts'
import { redisAudit, redisBus, redisDocuments, redisSecrets } from '../../../src/server/index.ts'
import { type RedisClient, redisStore } from '../../../src/stores/redis/index.ts'
import { useJobs, useLeases, useServerParts } from '../parts-of-client.ts'
import { freshPrefix, HOLDFAST_TEST_REDIS_URL as url } from './clients.ts'

interface Opened extends AsyncDisposable {
  readonly client: RedisClient
}

const viaIoredis = (options: object) => async (): Promise<Opened> => {
  const client = new Redis(url, options)
  return { client, [Symbol.asyncDispose]: async () => client.disconnect() }
}
const viaNodeRedis = (options: object) => async (): Promise<Opened> => {
  const client = createClient({ url, ...options })
  await client.connect()
  return { client: client as never, [Symbol.asyncDispose]: async () => client.destroy() }
}

describe.each([
  ['ioredis with a key prefix', viaIoredis({ keyPrefix: `${freshPrefix()}:` })],
  ['ioredis with numbers as text', viaIoredis({ stringNumbers: true })],
  ['ioredis with automatic pipelines', viaIoredis({ enableAutoPipelining: true })],
  ['node-redis with a key prefix', viaNodeRedis({ keyPrefix: `${freshPrefix()}:` })],
  ['node-redis in RESP 3', viaNodeRedis({ RESP: 3 })],
  [
    'node-redis that returns bytes',
    viaNodeRedis({
      commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.NUMBER]: String } },
    }),
  ],
])('%s', (_, open) => {
  it('has leases, a queue and shared leases', async () => {
    await using opened = await open()
    await using store = redisStore(opened.client, { prefix: freshPrefix() })
    await useLeases(store)
  })

  it('has contents, an audit trail, secrets and a bus', async () => {
    await using opened = await open()
    const [{ client }, prefix] = [opened, freshPrefix()]
    await using bus = redisBus(client, { channel: `${prefix}_bus` })
    await useServerParts({
      documents: redisDocuments(client, { prefix }),
      audit: redisAudit(client, { prefix }),
      secrets: redisSecrets(client, { prefix }),
      bus,
    })
  })

  it('has jobs and a guard', async () => {
    await using opened = await open()
    const { client } = opened
    await useJobs(redisJobs(client, { prefix: freshPrefix() }))
    const guard = redisGuard(client, freshPrefix())
    await guard.set({ resource: 'r', token: 2, id: 'b' }, 'text')
    await expect(guard.check({ resource: 'r', token: 1, id: 'a' })).rejects.toThrow('with token 2')
  })
})
