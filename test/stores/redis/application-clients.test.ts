import { Redis } from 'ioredis'
import { createClient, RESP_TYPES } from 'redis'
import { describe, expect, it } from 'vitest'
import { createLeases } from '../../../src/core/index.ts'
import { redisGuard } from '../../../src/guard/index.ts'
import { createOnce, redisJobs } from '../../../src/once/index.ts'
import { redisAudit, redisBus, redisDocuments, redisSecrets } from '../../../src/server/index.ts'
import { type RedisClient, redisStore } from '../../../src/stores/redis/index.ts'
import { eventually } from '../../eventually.ts'
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
    await using leases = createLeases(store)
    const first = await leases.acquire('r', { metadata: { a: 1 } })
    const second = leases.acquire('r')
    await eventually(async () => expect(await leases.waiting('r')).toHaveLength(1))
    expect(await leases.inspect('r')).toMatchObject({ id: first.id, token: first.token, metadata: { a: 1 } })
    await first.renew()
    await first.release()
    const next = await second
    expect(next.token).toBeGreaterThan(first.token)
    await next.release()
    const shared = await Promise.all([leases.acquire('s', { share: 2 }), leases.acquire('s', { share: 2 })])
    expect(await leases.list()).toMatchObject(shared.map(({ id }) => ({ id, share: 2 })))
  })

  it('has contents, an audit trail, secrets and a bus', async () => {
    await using opened = await open()
    const [{ client }, prefix] = [opened, freshPrefix()]
    const documents = redisDocuments(client, { prefix })
    expect(await documents.fence('room', { token: 5, holder: 'a' })).toBe(true)
    const saving = await documents.save('room', { token: 5, holder: 'a' }, { text: 'x' }, 0)
    expect(saving).toMatchObject({ saved: true, revision: expect.any(Number) })
    expect(await documents.read('room')).toMatchObject({ content: { text: 'x' }, token: 5 })
    expect(await documents.save('room', { token: 4, holder: 'b' }, 'y')).toEqual({ saved: false, fence: 5 })
    const audit = redisAudit(client, { prefix })
    await audit.append({ at: '2030-01-01T12:00:00Z', action: 'lock', resource: 'r', token: 3, owner: 'a' })
    expect(await audit.read({ limit: 1 })).toMatchObject({ entries: [{ resource: 'r', token: 3 }] })
    const secrets = redisSecrets(client, { prefix })
    for (const secret of ['the first secret', 'the second secret'])
      expect(await secrets.keep('session', secret)).toBe('the first secret')
    await using bus = redisBus(client, { channel: `${prefix}_bus` })
    await bus.check?.()
  })

  it('has jobs and a guard', async () => {
    await using opened = await open()
    const { client } = opened
    const jobs = redisJobs(client, { prefix: freshPrefix() })
    const once = createOnce(jobs)
    await jobs.add('job')
    expect(await once.run('job', () => ({ done: [1] }))).toMatchObject({ ran: true, result: { done: [1] } })
    expect(await jobs.read('job')).toMatchObject({ finished: true, result: { done: [1] }, attempts: 1 })
    const guard = redisGuard(client, freshPrefix())
    await guard.set({ resource: 'r', token: 2, id: 'b' }, 'text')
    await expect(guard.check({ resource: 'r', token: 1, id: 'a' })).rejects.toThrow('with token 2')
  })
})
