import { Redis } from 'ioredis'
import { afterAll, describe, expect, it } from 'vitest'
import { startServer } from '../../../scripts/services/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { Keys } from '../../../src/stores/redis/names.ts'
import { scriptsFor } from '../../../src/stores/redis/scripts.ts'
import { asking, granted } from '../asking.ts'
import { clientNames, freshPrefix, HOLDFAST_TEST_REDIS_URL, openStore } from './clients.ts'

const admin = new Redis(HOLDFAST_TEST_REDIS_URL)
afterAll(() => admin.disconnect())

describe.each(clientNames)('the script on %s', (client) => {
  it('is sent again when the server has forgotten it', async () => {
    // Others would forget their scripts, too.
    await using server = await startServer('redis')
    const own = new Redis(server.address)
    await using opened = await openStore({ client, url: server.address })
    const { store, prefix } = opened
    const lease = granted(await store.acquire(asking('r')))
    await own.script('FLUSH')
    const renewal = await store.renew({ resource: 'r', id: lease.id, ttl: 60_000 })
    expect(renewal).toMatchObject({ ok: true, lease: { token: lease.token } })
    const [known] = (await own.script('EXISTS', await shaOf(scriptsFor(prefix).one))) as number[]
    expect(known).toBe(1)
    own.disconnect()
  })

  it('is sent again after a restart of the server, which keeps the lease', async () => {
    await using server = await startServer('redis')
    await using opened = await openStore({ client, url: server.address })
    const { store } = opened
    const lease = granted(await store.acquire(asking('r')))
    await server.restart()
    await expect.poll(() => store.read(['r'])).toMatchObject([[{ token: lease.token }]])
    await store.release({ resource: 'r', id: lease.id })
    expect(granted(await store.acquire(asking('r'))).token).toBeGreaterThan(lease.token)
  })
})

it('requests of one turn take two script calls: the first is sent at once, the others together', async () => {
  const client = new Redis(HOLDFAST_TEST_REDIS_URL)
  let calls = 0
  const counted = new Proxy(client, {
    get(target, name) {
      if (name === 'evalsha' || name === 'eval') calls++
      return Reflect.get(target, name)
    },
  })
  const store = redisStore(counted, { prefix: freshPrefix() })
  // So that the server knows both scripts.
  await store.read(['one', 'two', 'three'])
  calls = 0
  const names = Array.from({ length: 25 }, (_, n) => `r${n}`)
  const leases = await Promise.all(names.map(async (name) => granted(await store.acquire(asking(name)))))
  expect(calls).toBe(2)
  expect(await store.read(names)).toMatchObject(leases.map(({ id }) => [{ id }]))
  expect(calls).toBe(4)
  await store.close()
  client.disconnect()
})

it('a request that fails does not affect others in the same script call', async () => {
  await using opened = await openStore()
  const { store, prefix } = opened
  await admin.set(new Keys(prefix, 'bad').row, 'something else')
  const outcomes = await Promise.allSettled(['a', 'bad', 'b'].map((name) => store.acquire(asking(name))))
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

async function shaOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text))
  return Buffer.from(digest).toString('hex')
}
