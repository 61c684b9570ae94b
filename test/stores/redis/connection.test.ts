import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createClient, createClientPool, createSentinel } from 'redis'
import { afterAll, describe, expect, it } from 'vitest'
import { startServer } from '../../../scripts/services/index.ts'
import { type RedisClient, redisStore } from '../../../src/stores/redis/index.ts'
import type { RedisStoreOptions } from '../../../src/stores/redis/options.ts'
import { asking, failure, granted } from '../asking.ts'
import { clientNames, clients, freshPrefix, HOLDFAST_TEST_REDIS_URL, openStore } from './clients.ts'

const admin = new Redis(HOLDFAST_TEST_REDIS_URL)
afterAll(() => admin.disconnect())

async function connections(name: string, type: 'normal' | 'pubsub'): Promise<number> {
  const list = String(await admin.call('CLIENT', 'LIST', 'TYPE', type))
  return list.split('\n').filter((entry) => entry.includes(`name=${name} `)).length
}

describe.each(clientNames)('the number of connections of %s', (client) => {
  it('is one while nobody waits, watches or listens for a loss', async () => {
    await using opened = await openStore({ client })
    const { store, name } = opened
    const lease = granted(await store.acquire(asking('r', { wake: () => {} })))
    await store.renew({ resource: 'r', id: lease.id, ttl: 60_000 })
    expect(await connections(name, 'normal')).toBe(1)
    expect(await connections(name, 'pubsub')).toBe(0)
  })

  it.concurrent.each(['waits', 'watches', 'holds'])(
    'is two while somebody %s, and one soon after',
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

  it.concurrent('stays two for a holder whose lease was renewed', async ({ expect }) => {
    await using opened = await openStore({ client })
    const { store, name } = opened
    let lost = 0
    const lease = granted(await store.acquire(asking('r', { ttl: 2000, lost: () => lost++ })))
    expect(await store.renew({ resource: 'r', id: lease.id, ttl: 600_000 })).toMatchObject({ ok: true })
    // The connection would be closed after the first TTL and the idle time.
    await sleep(6500)
    expect(await connections(name, 'pubsub')).toBe(1)
    await store.release({ resource: 'r', token: lease.token })
    await expect.poll(() => lost).toBe(1)
  })

  it('is one after close, because the store does not close the client that it was given', async () => {
    const name = freshPrefix()
    const { client: own, close } = await clients[client](HOLDFAST_TEST_REDIS_URL, name)
    const store = redisStore(own, { prefix: freshPrefix() })
    await store.watch(() => {})
    await store.close()
    await expect.poll(() => connections(name, 'pubsub')).toBe(0)
    expect(await connections(name, 'normal')).toBe(1)
    close()
  })

  it('depends on `listen`, whose options are used for the second one', async () => {
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

describe('a client without an error listener', () => {
  it.each([
    ['ioredis', (url: string) => new Redis(url, { retryStrategy: () => 20 })],
    ['node-redis', (url: string) => createClient({ url, socket: { reconnectStrategy: 20 } })],
  ] as const)(
    'a client without an error listener does not end the process when the server restarts: %s',
    async (_, connect) => {
      await using server = await startServer('redis')
      const client = connect(server.address)
      if ('isOpen' in client) await client.connect()
      const store = redisStore(client)
      const lease = granted(await store.acquire(asking('r')))
      await server.restart()
      await expect.poll(() => store.read(['r']).catch(() => [])).toMatchObject([[{ token: lease.token }]])
      await store.close()
      expect(client.listenerCount('error')).toBe(0)
      if ('isOpen' in client) client.destroy()
      else client.disconnect()
    },
  )
})

describe('a server that does not answer', () => {
  it.each([
    ['ioredis', (url: string) => new Redis(url)],
    ['node-redis', (url: string) => createClient({ url })],
  ] as const)(
    'ends every call after five seconds or by its signal, also with the unlimited queue of %s',
    async (_, connect) => {
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
      await expect.poll(() => store.read(['r'])).toMatchObject([[{ resource: 'r' }]])
      await store.close()
      if ('isOpen' in client) client.destroy()
      else client.disconnect()
    },
  )
})

describe('an invalid client', () => {
  it.each([
    ['nothing', undefined, 'got undefined'],
    ['null', null, 'got null'],
    ['an address', 'redis://127.0.0.1', 'got a string'],
    ['options', { host: '127.0.0.1' }, 'got an object'],
    ['a promise of a client', Promise.resolve(), 'got a Promise'],
    ['another object', new AbortController(), 'got an AbortController'],
    ['a pool', createClientPool(), 'got a '],
    ['a sentinel of redis', createSentinel({ name: 'mymaster', sentinelRootNodes: [] }), 'got a '],
    ['an object without prototype', Object.create(null), 'got an object'],
    ['a BigInt', 10n, 'got 10n'],
    ['a symbol', Symbol('redis'), 'got Symbol(redis)'],
  ])('an invalid client is rejected: %s', (_, client, got) => {
    const make = () => redisStore(client as unknown as RedisClient)
    expect(make).toThrow('client: expected a Redis or Cluster of ioredis, or a client or cluster of redis')
    expect(make).toThrow(got)
  })

  it.each([{}, null, 'redis://127.0.0.1', 10n])(
    'an invalid client is rejected as `listen` too: %s',
    (listen) => {
      const make = () => redisStore(admin, { listen: listen as RedisClient })
      expect(make).toThrow(expect.objectContaining({ code: 'invalid-argument' }))
      expect(make).toThrow('listen: expected')
    },
  )
})

describe('an invalid option is rejected', () => {
  it.each([
    ['an empty prefix', { prefix: '' }, 'prefix: expected'],
    ['a prefix with braces', { prefix: 'a{b}' }, 'prefix: expected'],
    ['a prefix with a control character', { prefix: 'a\n' }, 'prefix: expected'],
    ['a prefix that is not well-formed', { prefix: '\ud800' }, 'prefix: expected'],
    ['a symbol as prefix', { prefix: Symbol('p') }, 'prefix: expected'],
    ['an object without prototype as prefix', { prefix: Object.create(null) }, 'got an object'],
    ['null for the options', null, 'options: expected an object, got null'],
    ['text for the options', 'holdfast', 'options: expected an object, got a string'],
  ])('%s', (_, options, message) => {
    const make = () => redisStore(admin, options as RedisStoreOptions)
    expect(make).toThrow(expect.objectContaining({ code: 'invalid-argument' }))
    expect(make).toThrow(message)
  })
})
