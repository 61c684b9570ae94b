import { connect } from '@nats-io/transport-node'
import { Redis } from 'ioredis'
import pg from 'pg'
import postgres from 'postgres'
import { createClient } from 'redis'
import { memoryBus } from '../../src/server/buses/memory.ts'
import { natsBus } from '../../src/server/buses/nats.ts'
import { postgresBus } from '../../src/server/buses/postgres.ts'
import { redisBus } from '../../src/server/buses/redis.ts'
import { cuttableProxy } from '../stores/cuttable-proxy.ts'
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

describeBus('nats', () => {
  const subject = freshName()
  return () =>
    throughProxy(HOLDFAST_TEST_NATS_URL, async (url) => {
      const servers = new URL(url).host
      const connection = await connect({ servers, reconnectTimeWait: 20, maxReconnectAttempts: -1 })
      return { bus: natsBus(connection, { subject }), end: () => connection.close() }
    })
})
