import { connect as connectNats } from '@nats-io/transport-node'
import { Cluster, Redis } from 'ioredis'
import { createPool } from 'mysql2/promise'
import pg from 'pg'
import postgres from 'postgres'
import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { memoryBus } from '../../src/server/buses/memory.ts'
import { mysqlBus } from '../../src/server/buses/mysql.ts'
import { natsBus } from '../../src/server/buses/nats.ts'
import { postgresBus } from '../../src/server/buses/postgres.ts'
import { redisBus } from '../../src/server/buses/redis.ts'
import { cuttableProxy } from '../../src/testing/node/cuttable-proxy.ts'
import { eventually } from '../eventually.ts'
import { type Pooler, startPgbouncer } from '../stores/postgres/pgbouncer.ts'
import { TestCluster } from '../stores/redis/cluster.ts'
import { type BusNode, describeBus } from './describe-bus.ts'
import { expectRefusal, FOREIGN } from './expect-refusal.ts'

const {
  HOLDFAST_TEST_POSTGRES_URL = 'postgres://127.0.0.1:5432/postgres',
  HOLDFAST_TEST_REDIS_URL = 'redis://127.0.0.1:6379',
  HOLDFAST_TEST_NATS_URL = 'nats://127.0.0.1:4222',
  HOLDFAST_TEST_MYSQL_URL = 'mysql://127.0.0.1:3306/test',
} = process.env

type Connected = Pick<BusNode, 'bus' | 'end'>

describeBus('memory', () => {
  const bus = memoryBus()
  return async () => ({ bus: { ...bus } })
})

/** Every client of every package that a bus accepts. */
const connect: Record<string, readonly [server: string, (url: string, name: string) => Promise<Connected>]> =
  {
    'postgres, with a Pool of pg': [
      HOLDFAST_TEST_POSTGRES_URL,
      async (connectionString, channel) => {
        const pool = quiet(new pg.Pool({ connectionString }))
        return { bus: postgresBus(pool, { channel }), end: () => pool.end() }
      },
    ],
    'postgres, with a Client of pg': [
      HOLDFAST_TEST_POSTGRES_URL,
      async (connectionString, channel) => {
        const client = quiet(new pg.Client({ connectionString }))
        await client.connect()
        return { bus: postgresBus(client, { channel }), end: () => client.end() }
      },
    ],
    'postgres, with postgres.js': [
      HOLDFAST_TEST_POSTGRES_URL,
      async (url, channel) => {
        const sql = postgres(url, { onnotice: () => {} })
        return { bus: postgresBus(sql, { channel }), end: () => sql.end({ timeout: 1 }) }
      },
    ],
    'redis, with ioredis': [
      HOLDFAST_TEST_REDIS_URL,
      async (url, channel) => {
        const client = quiet(new Redis(url, { retryStrategy: () => 20 }))
        return { bus: redisBus(client, { channel }), end: () => client.disconnect() }
      },
    ],
    'redis, with node-redis': [
      HOLDFAST_TEST_REDIS_URL,
      async (url, channel) => {
        const client = quiet(createClient({ url, socket: { reconnectStrategy: 20 } }))
        await client.connect()
        return { bus: redisBus(client, { channel }), end: () => client.destroy() }
      },
    ],
    mysql: [
      HOLDFAST_TEST_MYSQL_URL,
      async (uri, table) => {
        const pool = createPool(uri)
        return { bus: mysqlBus(pool, { table, poll: 10 }), end: () => pool.end() }
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
    async 'with ioredis'(channel) {
      const client = quiet(new Cluster(cluster.ports.map((port) => ({ host: '127.0.0.1', port }))))
      await client.ping()
      return { bus: redisBus(client, { channel }), end: () => client.disconnect() }
    },
    async 'with node-redis'(channel) {
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

  it('says what to do', async () => {
    const [pooled = fail()] = pools
    const bus = postgresBus(pooled, { channel: freshName() })
    await expect(bus.subscribe(() => {})).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('pass a client with a direct connection as the option listen'),
    })
    await bus.close()
  })

  it('receives messages through a direct connection', async () => {
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
  ['postgresBus', 'client', (client: unknown) => postgresBus(client as never)],
  ['redisBus', 'client', (client: unknown) => redisBus(client as never)],
  ['natsBus', 'connection', (connection: unknown) => natsBus(connection as never)],
])('%s refuses a foreign %s', async (_, option, make) => {
  for (const foreign of [...FOREIGN, undefined, {}, () => {}, new Map()])
    await expectRefusal(() => make(foreign), option)
})

it.each([
  ['listen', { listen: {} }],
  ['listen', { listen: null }],
  ['channel', { channel: 'a"b' }],
  ['channel', { channel: 10n }],
  ['options', null],
])('postgresBus refuses a bad %s: %#', async (option, options) => {
  await expectRefusal(() => postgresBus(new pg.Pool(), options as never), option)
})

it.each([
  ['channel', { channel: '' }],
  ['channel', { channel: 10n }],
  ['options', 'x'],
])('redisBus refuses a bad %s: %#', async (option, options) => {
  await expectRefusal(() => redisBus(new Redis({ lazyConnect: true }), options as never), option)
})

function freshName(): string {
  return `test_${crypto.randomUUID().replaceAll('-', '')}`
}

/** The tests break connections on purpose, so the errors of the clients are ignored. */
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
