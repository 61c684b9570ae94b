import { connect } from '@nats-io/transport-node'
import { Cluster, Redis } from 'ioredis'
import pg from 'pg'
import postgres from 'postgres'
import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { memoryBus } from '../../src/server/buses/memory.ts'
import { type NatsBusConnection, natsBus } from '../../src/server/buses/nats.ts'
import { type PostgresBusClient, postgresBus } from '../../src/server/buses/postgres.ts'
import { type RedisBusClient, redisBus } from '../../src/server/buses/redis.ts'
import { cuttableProxy } from '../stores/cuttable-proxy.ts'
import { type Pooler, startPgbouncer } from '../stores/postgres/pgbouncer.ts'
import { TestCluster } from '../stores/redis/cluster.ts'
import { type BusNode, describeBus } from './describe-bus.ts'

const {
  HOLDFAST_TEST_POSTGRES_URL = 'postgres://127.0.0.1:5432/postgres',
  HOLDFAST_TEST_REDIS_URL = 'redis://127.0.0.1:6379',
  HOLDFAST_TEST_NATS_URL = 'nats://127.0.0.1:4222',
} = process.env

const freshName = () => `test_${crypto.randomUUID().replaceAll('-', '')}`

/** A node whose client reaches the server through a proxy. */
async function throughProxy(
  url: string,
  open: (url: string) => Promise<Pick<BusNode, 'bus' | 'end'>>,
): Promise<BusNode> {
  const server = new URL(url)
  const proxy = await cuttableProxy(server.hostname, Number(server.port))
  server.host = proxy.address
  const { bus, end } = await open(String(server))
  return {
    bus,
    cut() {
      proxy.cut()
      return proxy.mend
    },
    async end() {
      await end?.()
      await proxy[Symbol.asyncDispose]()
    },
  }
}

describeBus('memory', () => {
  const bus = memoryBus()
  return async () => ({ bus: { ...bus } })
})

describeBus('postgres, by a Pool of pg', () => {
  const channel = freshName()
  return () =>
    throughProxy(HOLDFAST_TEST_POSTGRES_URL, async (connectionString) => {
      const pool = new pg.Pool({ connectionString })
      pool.on('error', () => {})
      return { bus: postgresBus(pool, { channel }), end: () => pool.end() }
    })
})

describeBus('postgres, by a Client of pg', () => {
  const channel = freshName()
  return () =>
    throughProxy(HOLDFAST_TEST_POSTGRES_URL, async (connectionString) => {
      const client = new pg.Client({ connectionString })
      client.on('error', () => {})
      await client.connect()
      return { bus: postgresBus(client, { channel }), end: () => client.end() }
    })
})

describeBus('postgres, by postgres.js', () => {
  const channel = freshName()
  return () =>
    throughProxy(HOLDFAST_TEST_POSTGRES_URL, async (url) => {
      const sql = postgres(url, { onnotice: () => {} })
      return { bus: postgresBus(sql, { channel }), end: () => sql.end({ timeout: 1 }) }
    })
})

describeBus('redis, by ioredis', () => {
  const channel = freshName()
  return () =>
    throughProxy(HOLDFAST_TEST_REDIS_URL, async (url) => {
      const client = new Redis(url, { retryStrategy: () => 20 })
      client.on('error', () => {})
      return { bus: redisBus(client, { channel }), end: () => client.disconnect() }
    })
})

describeBus('redis, by node-redis', () => {
  const channel = freshName()
  return () =>
    throughProxy(HOLDFAST_TEST_REDIS_URL, async (url) => {
      const client = createClient({ url, socket: { reconnectStrategy: 20 } })
      client.on('error', () => {})
      await client.connect()
      return { bus: redisBus(client, { channel }), end: () => client.destroy() }
    })
})

describe('a cluster of Redis', () => {
  let cluster: TestCluster
  beforeAll(async () => {
    cluster = await TestCluster.start(3)
  })
  afterAll(() => cluster[Symbol.asyncDispose]())

  describeBus('by ioredis', () => {
    const channel = freshName()
    return async () => {
      const client = new Cluster(cluster.ports.map((port) => ({ host: '127.0.0.1', port })))
      client.on('error', () => {})
      await client.ping()
      return { bus: redisBus(client, { channel }), end: () => client.disconnect() }
    }
  })

  describeBus('by node-redis', () => {
    const channel = freshName()
    return async () => {
      const client = createCluster({
        rootNodes: cluster.ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })),
      })
      client.on('error', () => {})
      await client.connect()
      return { bus: redisBus(client, { channel }), end: () => client.destroy() }
    }
  })
})

describeBus('nats', () => {
  const subject = freshName()
  return () =>
    throughProxy(HOLDFAST_TEST_NATS_URL, async (url) => {
      const servers = new URL(url).host
      const connection = await connect({ servers, reconnectTimeWait: 20, maxReconnectAttempts: -1 })
      return { bus: natsBus(connection, { subject }), end: () => connection.close() }
    })
})

describe('a bus behind PgBouncer in transaction mode', () => {
  let pooler: Pooler
  let pools: pg.Pool[]
  beforeAll(async () => {
    pooler = await startPgbouncer(HOLDFAST_TEST_POSTGRES_URL)
    pools = [pooler.url, HOLDFAST_TEST_POSTGRES_URL].map(
      (connectionString) => new pg.Pool({ connectionString }),
    )
  })
  afterAll(async () => {
    for (const pool of pools) await pool.end()
    await pooler[Symbol.asyncDispose]()
  })

  it('says what is missing', async () => {
    const [pooled = fail()] = pools
    const bus = postgresBus(pooled, { channel: freshName() })
    await expect(bus.subscribe(() => {})).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('pass a direct one by the option listen'),
    })
    await bus.close()
  })

  it('hears by a direct connection', async () => {
    const [pooled = fail(), listen = fail()] = pools
    const bus = postgresBus(pooled, { channel: freshName(), listen })
    const heard = vi.fn()
    await bus.subscribe(heard)
    await bus.publish({ topic: 'a', data: {} })
    await vi.waitFor(() => expect(heard).toHaveBeenCalledOnce(), 15_000)
    await bus.close()
  })
})

it.each([
  ['postgresBus', 'client', () => postgresBus({} as PostgresBusClient)],
  ['postgresBus', 'listen', () => postgresBus(new pg.Pool(), { listen: {} as PostgresBusClient })],
  ['postgresBus', 'channel', () => postgresBus(new pg.Pool(), { channel: 'a"b' })],
  ['redisBus', 'client', () => redisBus({} as RedisBusClient)],
  ['natsBus', 'connection', () => natsBus({} as NatsBusConnection)],
])('%s refuses a bad %s', (_, option, make) => {
  expect(make).toThrow(`${option}: expected`)
})

function fail(): never {
  throw new Error('no pool')
}
