/** A client that does not come back gives a final error with advice. One whose server restarts stays retryable. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { describe, expect, it } from 'vitest'
import { startServer } from '../../../scripts/services/index.ts'
import { createLeases, type LeaseError } from '../../../src/core/index.ts'
import { type RedisClient, redisStore } from '../../../src/stores/redis/index.ts'
import { cuttableProxy } from '../../../src/testing/node/cuttable-proxy.ts'
import { asking, failure, granted } from '../asking.ts'
import { clientNames, clients, HOLDFAST_TEST_REDIS_URL } from './clients.ts'

const ADVICE = 'this client was never connected, was closed, or does not reconnect'
/** Nothing listens there. */
const NO_SERVER = { host: '127.0.0.1', port: 1 }

function quiet<T extends { on(event: 'error', run: () => void): unknown }>(client: T): T {
  client.on('error', () => {})
  return client
}

const ENDED: Record<string, () => Promise<RedisClient>> = {
  'redis, never connected': async () => createClient(),
  'redis, destroyed': async () => {
    const client = await createClient({ url: HOLDFAST_TEST_REDIS_URL }).connect()
    client.destroy()
    return client
  },
  'redis, whose reconnectStrategy gave up': async () => {
    const client = quiet(createClient({ socket: { ...NO_SERVER, reconnectStrategy: false } }))
    await client.connect().catch(() => {})
    return client
  },
  'cluster of redis, never connected': async () =>
    createCluster({ rootNodes: [{ url: HOLDFAST_TEST_REDIS_URL }] }),
  'ioredis, disconnected': async () => {
    const client = new Redis(HOLDFAST_TEST_REDIS_URL)
    client.disconnect()
    await new Promise((resolve) => client.once('end', resolve))
    return client
  },
  'ioredis, disconnected before it connected': async () => {
    const client = new Redis({ ...NO_SERVER, lazyConnect: true })
    client.disconnect()
    return client
  },
  'ioredis, whose retryStrategy gave up': async () => {
    const client = quiet(new Redis({ ...NO_SERVER, retryStrategy: () => null }))
    await new Promise((resolve) => client.once('end', resolve))
    return client
  },
  'Cluster of ioredis, disconnected': async () => {
    const client = quiet(new Cluster([NO_SERVER], { clusterRetryStrategy: () => null }))
    await new Promise((resolve) => client.once('end', resolve))
    return client
  },
}

describe.each(Object.entries(ENDED))('a client of %s', (_, end) => {
  it('gives a final error that says what is wrong', async () => {
    const store = redisStore(await end())
    const calls = [() => store.acquire(asking('r')), () => store.read(['r']), () => store.sweep({ limit: 1 })]
    for (const call of calls)
      expect(await failure(call())).toMatchObject({
        code: 'store-failed',
        retryable: false,
        message: expect.stringContaining(ADVICE),
      })
    await store.close()
  })

  it('makes a manager fail at once, however long it may wait', async () => {
    const store = redisStore(await end())
    const leases = createLeases(store)
    expect(await failure(leases.acquire('r', { wait: '10m' }))).toMatchObject({ code: 'store-failed' })
    await leases.close()
    await store.close()
  })
})

it('a client of ioredis that has not connected yet is connected by the first call', async () => {
  const client = new Redis(HOLDFAST_TEST_REDIS_URL, { lazyConnect: true })
  const store = redisStore(client)
  expect(await store.read(['r'])).toEqual([[]])
  await store.close()
  client.disconnect()
})

describe('a client whose server restarts', () => {
  it.each([
    ['ioredis', (url: string) => new Redis(url, { retryStrategy: () => 20 })],
    [
      'ioredis without a queue',
      (url: string) => new Redis(url, { retryStrategy: () => 20, enableOfflineQueue: false }),
    ],
    ['ioredis without retries', (url: string) => new Redis(url, { maxRetriesPerRequest: 0 })],
    ['redis', (url: string) => createClient({ url, socket: { reconnectStrategy: 20 } })],
    [
      'redis without a queue',
      (url: string) => createClient({ url, disableOfflineQueue: true, socket: { reconnectStrategy: 20 } }),
    ],
  ] as const)('a client whose server restarts gives only retryable errors: %s', async (_, connect) => {
    await using server = await startServer('redis')
    const client = connect(server.address)
    client.on('error', () => {})
    if ('isOpen' in client) await client.connect()
    else await new Promise((resolve) => client.once('ready', resolve))
    const store = redisStore(client)
    const lease = granted(await store.acquire(asking('r')))
    const errors: LeaseError[] = []
    const calls: Promise<unknown>[] = []
    const note = (error: LeaseError) => errors.push(error)
    let isBack = false
    const restarted = server.restart().finally(() => {
      isBack = true
    })
    while (!isBack) {
      calls.push(store.read(['r']).catch(note))
      calls.push(store.acquire(asking('r', { ttl: 100, wake: () => {} })).catch(note))
      const watching = store.watch(() => {}).then((watch) => watch[Symbol.asyncDispose]())
      calls.push(watching.catch(note))
      await sleep(5)
    }
    await restarted
    await Promise.all(calls)
    expect(errors.filter(({ code }) => code !== 'store-unavailable')).toEqual([])
    await expect.poll(() => store.read(['r']).catch(() => [])).toMatchObject([[{ token: lease.token }]])
    await store.close()
    if ('isOpen' in client) client.destroy()
    else client.disconnect()
  })

  it.each(clientNames)(
    'a client whose server restarts can listen again as soon as the server is back: %s',
    async (name) => {
      const { hostname, port } = new URL(HOLDFAST_TEST_REDIS_URL)
      await using proxy = await cuttableProxy(hostname, Number(port))
      const { client, close } = await clients[name](`redis://${proxy.address}`)
      const store = redisStore(client)
      proxy.cut()
      for (let n = 0; n < 3; n++)
        expect(await failure(store.watch(() => {}))).toMatchObject({ code: 'store-unavailable' })
      proxy.mend()
      await expect.poll(() => store.watch(() => {}).then(() => true)).toBe(true)
      await store.close()
      close()
    },
  )
})

it('a wrong password of the client that listens is reported as it is', async () => {
  const client = new Redis(HOLDFAST_TEST_REDIS_URL)
  const listen = quiet(
    new Redis(HOLDFAST_TEST_REDIS_URL, { lazyConnect: true, username: 'x', password: 'y' }),
  )
  const store = redisStore(client, { listen })
  expect(await failure(store.watch(() => {}))).toMatchObject({
    code: 'store-failed',
    message: expect.stringContaining('WRONGPASS'),
  })
  await store.close()
  client.disconnect()
})
