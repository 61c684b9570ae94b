import { Redis } from 'ioredis'
import { createClient, createClientPool } from 'redis'
import { afterAll, describe, expect, it } from 'vitest'
import { startServer } from '../../../scripts/services/index.ts'
import { createLeases } from '../../../src/core/index.ts'
import { type RedisClient, redisStore } from '../../../src/stores/redis/index.ts'
import { asking, failure, granted } from '../asking.ts'
import { clientNames, clients, freshPrefix, HOLDFAST_TEST_REDIS_URL, openStore } from './clients.ts'

const admin = new Redis(HOLDFAST_TEST_REDIS_URL)
afterAll(() => admin.disconnect())

async function connections(name: string, type: 'normal' | 'pubsub'): Promise<number> {
  const list = String(await admin.call('CLIENT', 'LIST', 'TYPE', type))
  return list.split('\n').filter((entry) => entry.includes(`name=${name} `)).length
}

describe.each(clientNames)('connections of %s', (client) => {
  it('are one while nobody waits, watches or wants to hear of a loss', async () => {
    await using opened = await openStore({ client })
    const { store, name } = opened
    const lease = granted(await store.acquire(asking('r', { wake: () => {} })))
    await store.renew({ resource: 'r', id: lease.id, ttl: 60_000 })
    expect(await connections(name, 'normal')).toBe(1)
    expect(await connections(name, 'pubsub')).toBe(0)
  })

  it.concurrent.each(['waits', 'watches', 'holds'])(
    'are two while somebody %s, and one soon after',
    async (does) => {
      await using opened = await openStore({ client })
      const { store, name } = opened
      const holder = granted(await store.acquire(asking('r', does === 'holds' ? { lost: () => {} } : {})))
      const ask = asking('r', { wake: () => {} })
      if (does === 'waits') await store.acquire(ask)
      const watch = does === 'watches' ? await store.watch(() => {}) : null
      await expect.poll(() => connections(name, 'pubsub')).toBe(1)
      await watch?.[Symbol.asyncDispose]()
      for (const { id } of [ask, holder]) await store.release({ resource: 'r', id })
      await expect.poll(() => connections(name, 'pubsub')).toBe(0)
      expect(await connections(name, 'normal')).toBe(1)
    },
  )

  it('end with the store, all but the one that it was given', async () => {
    const name = freshPrefix()
    const { client: own, close } = await clients[client](HOLDFAST_TEST_REDIS_URL, name)
    const store = redisStore(own, { prefix: freshPrefix() })
    await store.watch(() => {})
    await store.close()
    await expect.poll(() => connections(name, 'pubsub')).toBe(0)
    expect(await connections(name, 'normal')).toBe(1)
    close()
  })

  it('are made like the one in `listen`', async () => {
    const [name, listening] = [freshPrefix(), freshPrefix()]
    const own = await clients[client](HOLDFAST_TEST_REDIS_URL, name)
    const other = await clients[client](HOLDFAST_TEST_REDIS_URL, listening)
    const store = redisStore(own.client, { prefix: freshPrefix(), listen: other.client })
    await store.watch(() => {})
    expect([await connections(name, 'pubsub'), await connections(listening, 'pubsub')]).toEqual([0, 1])
    await store.close()
    for (const { close } of [own, other]) close()
  })
})

describe('a client whose errors nobody hears', () => {
  it.each([
    ['ioredis', (url: string) => new Redis(url, { retryStrategy: () => 20 })],
    ['node-redis', (url: string) => createClient({ url, socket: { reconnectStrategy: 20 } })],
  ] as const)('does not end the process when the server restarts: %s', async (_, connect) => {
    await using server = await startServer('redis')
    const client = connect(server.address)
    if ('isOpen' in client) await client.connect()
    const store = redisStore(client)
    const lease = granted(await store.acquire(asking('r')))
    await server.restart()
    await expect.poll(() => store.read(['r']).catch(() => [])).toMatchObject([{ token: lease.token }])
    await store.close()
    expect(client.listenerCount('error')).toBe(0)
    if ('isOpen' in client) client.destroy()
    else client.disconnect()
  })
})

describe('a server that does not answer', () => {
  it.each([
    ['ioredis', (url: string) => new Redis(url)],
    ['node-redis', (url: string) => createClient({ url })],
  ] as const)('ends every call of a patient %s after five seconds, or by its signal', async (_, connect) => {
    await using server = await startServer('redis')
    const client = connect(server.address)
    client.on('error', () => {})
    if ('isOpen' in client) await client.connect()
    const store = redisStore(client)
    granted(await store.acquire(asking('r')))
    server.freeze()
    const stop = new AbortController()
    const aborted = failure(store.acquire(asking('r'), { signal: stop.signal }))
    const reason = new Error('enough')
    stop.abort(reason)
    expect(await aborted).toMatchObject({ code: 'aborted', cause: reason })
    const calls = [
      store.acquire(asking('s', { wake: () => {} })),
      store.renew({ resource: 'r', id: 'x', ttl: 1000 }),
      store.release({ resource: 'r', id: 'x' }),
      store.read(['r']),
      store.list({ limit: 1 }),
      store.sweep({ limit: 1 }),
      store.watch(() => {}),
    ]
    const failures = await Promise.all(calls.map(failure))
    expect(failures.map(({ code }) => code)).toEqual(calls.map(() => 'store-unavailable'))
    server.thaw()
    await expect.poll(() => store.read(['r'])).toMatchObject([{ resource: 'r' }])
    await store.close()
    if ('isOpen' in client) client.destroy()
    else client.disconnect()
  })
})

describe('a client that is none', () => {
  it.each([
    ['nothing', undefined, 'got undefined'],
    ['null', null, 'got null'],
    ['an address', 'redis://127.0.0.1', 'got a string'],
    ['options', { host: '127.0.0.1' }, 'got an object'],
    ['a client that is not there yet', Promise.resolve(), 'got a Promise'],
    ['what waits for one', new AbortController(), 'got an AbortController'],
    ['a pool', createClientPool(), 'got a '],
  ])('is refused: %s', (_, client, got) => {
    const make = () => redisStore(client as unknown as RedisClient)
    expect(make).toThrow('client: expected a Redis or Cluster of ioredis, or a client or cluster of redis')
    expect(make).toThrow(got)
  })

  it('is refused as `listen` too, and so is a bad prefix', () => {
    expect(() => redisStore(admin, { listen: {} as RedisClient })).toThrow('listen: expected')
    for (const prefix of ['', 'a{b}', 'a\n', '\ud800'])
      expect(() => redisStore(admin, { prefix })).toThrow('prefix: expected')
  })
})

it('a manager on a client that was never connected says so', async () => {
  const leases = createLeases(redisStore(createClient({ url: HOLDFAST_TEST_REDIS_URL })))
  expect(await failure(leases.tryAcquire('r'))).toMatchObject({
    code: 'store-unavailable',
    message: 'Redis: The client is closed',
  })
})
