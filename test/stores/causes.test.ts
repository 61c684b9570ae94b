import { Firestore } from '@google-cloud/firestore'
import { connect } from '@nats-io/transport-node'
import { Cluster, Redis } from 'ioredis'
import pg from 'pg'
import postgres from 'postgres'
import { createClient } from 'redis'
import { describe, expect, it } from 'vitest'
import { httpStore } from '../../src/client/http-store.ts'
import { createLeases, type LeaseError, type LeaseStore } from '../../src/core/index.ts'
import { createOnce, firestoreJobs } from '../../src/once/index.ts'
import { firestoreStore } from '../../src/stores/firestore/index.ts'
import { natsStore } from '../../src/stores/nats/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { cuttableProxy } from '../../src/testing/node/cuttable-proxy.ts'
import { closedPort } from '../closed-port.ts'
import { eventually } from '../eventually.ts'
import { freshPrefix } from './redis/clients.ts'

const {
  HOLDFAST_TEST_REDIS_URL = 'redis://127.0.0.1:6379',
  HOLDFAST_TEST_POSTGRES_URL = 'postgres://127.0.0.1:5432',
  HOLDFAST_TEST_NATS_URL = 'nats://127.0.0.1:4222',
} = process.env

interface Opened {
  readonly store: LeaseStore
  close(): unknown
}

const host = '127.0.0.1'

const ON_A_CLOSED_PORT: Record<string, (port: number) => Opened | Promise<Opened>> = {
  ioredis(port) {
    const client = new Redis(port, host)
    return { store: redisStore(client), close: () => client.disconnect() }
  },
  'node-redis'(port) {
    const client = createClient({ socket: { port, host } })
    client.connect().catch(() => {})
    return { store: redisStore(client), close: () => client.destroy() }
  },
  'pg Pool'(port) {
    const client = new pg.Pool({ port, host })
    return { store: postgresStore(client), close: () => client.end() }
  },
  async 'pg Client'(port) {
    const client = new pg.Client({ port, host })
    const store = postgresStore(client)
    await client.connect().catch(() => {})
    return { store, close: () => {} }
  },
  'postgres.js'(port) {
    const client = postgres({ port, host })
    return { store: postgresStore(client), close: () => client.end({ timeout: 0 }) }
  },
  // Not closed: its client fails in a way that nobody can catch if it is terminated while it retries.
  firestore: (port) => ({ store: firestoreStore(firestoreAt(`${host}:${port}`)), close() {} }),
  http: (port) => ({ store: httpStore(`http://${host}:${port}`), close() {} }),
}

function firestoreAt(address: string): Firestore {
  // The client prefers this variable to its own settings.
  const { env } = process
  const name = 'FIRESTORE_EMULATOR_HOST'
  const before = env[name]
  env[name] = address
  try {
    return new Firestore({ projectId: 'holdfast-test' })
  } finally {
    if (before === undefined) delete env[name]
    else env[name] = before
  }
}

/** These clients keep a request until they are connected. */
const SILENT = ['ioredis', 'node-redis', 'firestore']

describe('on a port where nobody listens', () => {
  it.concurrent.each(Object.entries(ON_A_CLOSED_PORT))(
    'an acquisition with %s fails with the error of the client as its cause',
    async (name, open) => {
      const port = await closedPort()
      const { store, close } = await open(port)
      const leases = createLeases(store, { callTimeout: 2500 })
      const error = await failureOf(leases.tryAcquire('r'))
      expect(error.message).toContain(`connect ECONNREFUSED ${host}:${port}`)
      expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' })
      if (SILENT.includes(name)) expect(error.message).toContain('the client has never connected')
      await leases.close()
      await store.close()
      await close()
    },
  )
})

describe('a wait on a port where nobody listens', () => {
  it.concurrent.each(['ioredis', 'node-redis'])(
    'a wait that is longer than a call fails with the error of %s as its cause, and not because the store is busy',
    async (name) => {
      const port = await closedPort()
      const { store, close } = await (ON_A_CLOSED_PORT[name] as (port: number) => Opened)(port)
      const leases = createLeases(store, { callTimeout: 400, wait: 2000 })
      const error = await failureOf(leases.acquire('r'))
      expect(error.message).toContain(`connect ECONNREFUSED ${host}:${port}`)
      expect(error.message).not.toContain('busy')
      expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' })
      await leases.close()
      await store.close()
      await close()
    },
  )
})

describe('a client that has never connected', () => {
  it.concurrent('a client that has never connected of a cluster names its node', async () => {
    const port = await closedPort()
    const client = new Cluster([{ host, port }])
    const store = redisStore(client)
    const leases = createLeases(store, { callTimeout: 500 })
    await eventually(async () => {
      const { message } = await failureOf(leases.tryAcquire('r'))
      expect(message).toContain(`the client has never connected to ${host}:${port}`)
    })
    await leases.close()
    await store.close()
    client.disconnect()
  })

  it.concurrent('a client that has never connected is a Client of pg whose connect() was not called', async () => {
    const leases = createLeases(postgresStore(new pg.Client({ host, port: await closedPort() })))
    expect(await failureOf(leases.tryAcquire('r'))).toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('this Client is not connected: call its connect()'),
    })
  })

  it.concurrent('a client that has never connected is named by a run as well', async () => {
    const port = await closedPort()
    const jobs = createOnce(firestoreJobs(firestoreAt(`${host}:${port}`)), { callTimeout: 2000 })
    await eventually(async () => {
      const failure = await failureOf(jobs.run('job', () => 1))
      expect(failure).toMatchObject({ code: 'store-unavailable', cause: { code: 'ECONNREFUSED' } })
      expect(failure.message).toContain(`connect ECONNREFUSED ${host}:${port}`)
    })
  })
})

const BEHIND_A_PROXY: Record<string, { server: string; open(address: string): Promise<Opened> }> = {
  ioredis: {
    server: HOLDFAST_TEST_REDIS_URL,
    async open(address) {
      const client = new Redis(`redis://${address}`, { lazyConnect: true })
      await client.connect()
      return { store: redisStore(client, { prefix: freshPrefix() }), close: () => client.disconnect() }
    },
  },
  'node-redis': {
    server: HOLDFAST_TEST_REDIS_URL,
    async open(address) {
      const client = createClient({ url: `redis://${address}` })
      const store = redisStore(client, { prefix: freshPrefix() })
      await client.connect()
      return { store, close: () => client.destroy() }
    },
  },
  'pg Pool': {
    server: HOLDFAST_TEST_POSTGRES_URL,
    async open(address) {
      const url = new URL(HOLDFAST_TEST_POSTGRES_URL)
      url.host = address
      const client = new pg.Pool({ connectionString: url.href })
      return { store: postgresStore(client), close: () => client.end() }
    },
  },
  nats: {
    server: HOLDFAST_TEST_NATS_URL,
    async open(address) {
      const connection = await connect({ servers: address, maxReconnectAttempts: -1, reconnectTimeWait: 100 })
      const store = natsStore(connection, { bucket: freshPrefix() })
      return { store, close: () => connection.close() }
    },
  },
}

describe('when the server stops', () => {
  it.concurrent.each(Object.entries(BEHIND_A_PROXY))(
    'the loss of a lease with %s names the connection',
    async (name, { server, open }) => {
      const { hostname, port } = new URL(server)
      const proxy = await cuttableProxy(hostname, Number(port))
      const { store, close } = await open(proxy.address)
      const leases = createLeases(store, { ttl: 1500, callTimeout: 500 })
      const lease = await leases.acquire(freshPrefix())
      await proxy[Symbol.asyncDispose]()
      await new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
      const { code, message, cause } = lease.signal.reason as LeaseError
      const trouble = name === 'nats' ? `lost its connection to ${proxy.address}` : 'connect ECONNREFUSED'
      expect({ code, message }).toMatchObject({
        code: 'lease-lost',
        message: expect.stringContaining(trouble),
      })
      expect(chainOf(cause)).toContainEqual(
        expect.objectContaining(
          name === 'nats' ? { message: expect.stringContaining(trouble) } : { code: 'ECONNREFUSED' },
        ),
      )
      await leases.close()
      await store.close()
      await close()
    },
  )
})

async function failureOf(work: Promise<unknown>): Promise<LeaseError> {
  return work.then(
    () => {
      throw new Error('it did not fail')
    },
    (error) => error,
  )
}

function chainOf(error: unknown): unknown[] {
  const { cause } = Object(error) as { readonly cause?: unknown }
  return cause === undefined ? [error] : [error, ...chainOf(cause)]
}
