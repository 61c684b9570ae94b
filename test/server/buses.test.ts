import { connect as connectNats } from '@nats-io/transport-node'
import { Etcd3 } from 'etcd3'
import { Cluster, Redis } from 'ioredis'
import { createPool } from 'mysql2/promise'
import pg from 'pg'
import postgres from 'postgres'
import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { etcdBus } from '../../src/server/buses/etcd.ts'
import { memoryBus } from '../../src/server/buses/memory.ts'
import { mysqlBus } from '../../src/server/buses/mysql.ts'
import { natsBus } from '../../src/server/buses/nats.ts'
import { postgresBus } from '../../src/server/buses/postgres.ts'
import { redisBus } from '../../src/server/buses/redis.ts'
import type { EtcdClient } from '../../src/server/index.ts'
import { cuttableProxy } from '../../src/testing/node/cuttable-proxy.ts'
import { eventually } from '../eventually.ts'
import { HANG_MS } from '../hang-limit.ts'
import { afterLostAnswers, partsOf } from '../stores/etcd/odd-clients.ts'
import { type Pooler, startPgbouncer } from '../stores/postgres/pgbouncer.ts'
import { TestCluster } from '../stores/redis/cluster.ts'
import { type BusNode, describeBus } from './describe-bus.ts'
import { expectRefusal, FOREIGN } from './expect-refusal.ts'

const {
  HOLDFAST_TEST_POSTGRES_URL = 'postgres://127.0.0.1:5432/postgres',
  HOLDFAST_TEST_REDIS_URL = 'redis://127.0.0.1:6379',
  HOLDFAST_TEST_NATS_URL = 'nats://127.0.0.1:4222',
  HOLDFAST_TEST_MYSQL_URL = 'mysql://127.0.0.1:3306/test',
  HOLDFAST_TEST_ETCD_URL = 'etcd://127.0.0.1:2379',
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
    etcd: [
      HOLDFAST_TEST_ETCD_URL,
      async (url, key) => {
        const client = new Etcd3({ hosts: `http://${new URL(url).host}` })
        return { bus: etcdBus(client, { key }), end: () => client.close() }
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

describe('a bus on etcd', () => {
  const hosts = HOLDFAST_TEST_ETCD_URL.replace('etcd:', 'http:')
  const client = new Etcd3({ hosts })
  afterAll(() => client.close())

  it('a bus on etcd delivers a message once although the client repeats requests whose answers were lost', async () => {
    await using bus = etcdBus(afterLostAnswers(client), { key: freshName() })
    const heard: unknown[] = []
    await bus.subscribe(({ data: { n } }) => heard.push(n))
    for (let n = 1; n <= 3; n++) await bus.publish({ topic: 'a', data: { n } })
    await eventually(() => expect(heard).toContain(3))
    expect(heard).toEqual([1, 2, 3])
  })

  it('a bus on etcd keeps one key, ignores what others write there, and refuses a message that is too large', async () => {
    const key = freshName()
    await using bus = etcdBus(client, { key })
    const heard = vi.fn()
    await bus.subscribe(heard)
    for (const foreign of ['', 'text', '\n\n', 'a 1\n{', 'a b\n{}']) await client.put(key).value(foreign)
    await client.delete().key(key)
    await expect(bus.publish({ topic: 'a', data: { text: 'x'.repeat(2_000_000) } })).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('expected a message of at most 1500000 bytes'),
    })
    const large = { topic: 'a', data: { text: '文'.repeat(400_000) } }
    await Promise.all(Array.from({ length: 5 }, () => bus.publish(large)))
    await eventually(() => expect(heard).toHaveBeenCalledTimes(5))
    expect(await client.getAll().prefix(key).keys()).toEqual([key])
  })

  it('a bus on etcd listens again after the history that it had not received was compacted', async () => {
    const key = freshName()
    // The watch of this client is told so with its first message.
    let isFirst = true
    const compacted = {
      ...partsOf(client),
      watchClient: {
        async watch() {
          const stream = await client.watchClient.watch()
          if (!isFirst) return stream
          isFirst = false
          const on = stream.on.bind(stream)
          return Object.assign(stream, {
            on: (event: 'data', listener: (message: object) => void) =>
              on(event, (message) =>
                listener(
                  event === 'data' && message.events.length > 0
                    ? { ...message, canceled: true, compact_revision: '1' }
                    : message,
                ),
              ),
          })
        },
      },
    }
    await using bus = etcdBus(compacted as EtcdClient, { key })
    await using sender = etcdBus(client, { key })
    const heard = vi.fn()
    await bus.subscribe(heard)
    await sender.publish({ topic: 'a', data: {} })
    await vi.waitFor(
      async () => {
        await sender.publish({ topic: 'b', data: {} })
        expect(heard).toHaveBeenCalled()
      },
      { timeout: HANG_MS, interval: 50 },
    )
    expect(heard.mock.calls.flat().map(({ topic }) => topic)).not.toContain('a')
  })
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

  it('a bus behind PgBouncer in transaction mode says what to do', async () => {
    const [pooled = fail()] = pools
    const bus = postgresBus(pooled, { channel: freshName() })
    await expect(bus.subscribe(() => {})).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('pass a client with a direct connection as the option listen'),
    })
    await bus.close()
  })

  it('a bus behind PgBouncer in transaction mode receives messages through a direct connection', async () => {
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
  ['etcdBus', 'client', (client: unknown) => etcdBus(client as never)],
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
