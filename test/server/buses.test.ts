import { connect as connectNats } from '@nats-io/transport-node'
import { Cluster, Redis } from 'ioredis'
import pg from 'pg'
import postgres from 'postgres'
import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { memoryBus } from '../../src/server/buses/memory.ts'
import { type NatsBusConnection, natsBus } from '../../src/server/buses/nats.ts'
import { type PostgresBusClient, postgresBus } from '../../src/server/buses/postgres.ts'
import { type RedisBusClient, redisBus } from '../../src/server/buses/redis.ts'
import { eventually } from '../eventually.ts'
import { cuttableProxy } from '../stores/cuttable-proxy.ts'
import { type Pooler, startPgbouncer } from '../stores/postgres/pgbouncer.ts'
import { TestCluster } from '../stores/redis/cluster.ts'
import { type BusNode, describeBus } from './describe-bus.ts'

const {
  HOLDFAST_TEST_POSTGRES_URL = 'postgres://127.0.0.1:5432/postgres',
  HOLDFAST_TEST_REDIS_URL = 'redis://127.0.0.1:6379',
  HOLDFAST_TEST_NATS_URL = 'nats://127.0.0.1:4222',
} = process.env

type Connected = Pick<BusNode, 'bus' | 'end'>

describeBus('memory', () => {
  const bus = memoryBus()
  return async () => ({ bus: { ...bus } })
})

/** By every client of every package that a bus takes. */
const connect: Record<string, readonly [server: string, (url: string, name: string) => Promise<Connected>]> =
  {
    'postgres, by a Pool of pg': [
      HOLDFAST_TEST_POSTGRES_URL,
      async (connectionString, channel) => {
        const pool = quiet(new pg.Pool({ connectionString }))
        return { bus: postgresBus(pool, { channel }), end: () => pool.end() }
      },
    ],
    'postgres, by a Client of pg': [
      HOLDFAST_TEST_POSTGRES_URL,
      async (connectionString, channel) => {
        const client = quiet(new pg.Client({ connectionString }))
        await client.connect()
        return { bus: postgresBus(client, { channel }), end: () => client.end() }
      },
    ],
    'postgres, by postgres.js': [
      HOLDFAST_TEST_POSTGRES_URL,
      async (url, channel) => {
        const sql = postgres(url, { onnotice: () => {} })
        return { bus: postgresBus(sql, { channel }), end: () => sql.end({ timeout: 1 }) }
      },
    ],
    'redis, by ioredis': [
      HOLDFAST_TEST_REDIS_URL,
      async (url, channel) => {
        const client = quiet(new Redis(url, { retryStrategy: () => 20 }))
        return { bus: redisBus(client, { channel }), end: () => client.disconnect() }
      },
    ],
    'redis, by node-redis': [
      HOLDFAST_TEST_REDIS_URL,
      async (url, channel) => {
        const client = quiet(createClient({ url, socket: { reconnectStrategy: 20 } }))
        await client.connect()
        return { bus: redisBus(client, { channel }), end: () => client.destroy() }
      },
    ],
    nats: [
      HOLDFAST_TEST_NATS_URL,
      async (url, subject) => {
        const servers = new URL(url).host
        const connection = await connectNats({ servers, reconnectTimeWait: 20, maxReconnectAttempts: -1 })
        return { bus: natsBus(connection, { subject }), end: () => connection.close() }
      },
    ],
  }

for (const [name, [server, open]] of Object.entries(connect))
  describeBus(name, () => {
    const channel = freshName()
    return () => throughProxy(server, (url) => open(url, channel))
  })

describe('a cluster of Redis', () => {
  let cluster: TestCluster
  beforeAll(async () => {
    cluster = await TestCluster.start(3)
  })
  afterAll(() => cluster[Symbol.asyncDispose]())

  const join: Record<string, (channel: string) => Promise<Connected>> = {
    async 'by ioredis'(channel) {
      const client = quiet(new Cluster(cluster.ports.map((port) => ({ host: '127.0.0.1', port }))))
      await client.ping()
      return { bus: redisBus(client, { channel }), end: () => client.disconnect() }
    },
    async 'by node-redis'(channel) {
      const rootNodes = cluster.ports.map((port) => ({ url: `redis://127.0.0.1:${port}` }))
      const client = quiet(createCluster({ rootNodes }))
      await client.connect()
      return { bus: redisBus(client, { channel }), end: () => client.destroy() }
    },
  }
  for (const [name, open] of Object.entries(join))
    describeBus(name, () => {
      const channel = freshName()
      return () => open(channel)
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
    await eventually(() => expect(heard).toHaveBeenCalledOnce())
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

function freshName(): string {
  return `test_${crypto.randomUUID().replaceAll('-', '')}`
}

/** What a client says of its lost connections is no news here. */
function quiet<Client extends { on(event: 'error', listener: () => void): unknown }>(client: Client): Client {
  client.on('error', () => {})
  return client
}

/** A node whose client reaches the server through a proxy. */
async function throughProxy(url: string, open: (url: string) => Promise<Connected>): Promise<BusNode> {
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

function fail(): never {
  throw new Error('no pool')
}
