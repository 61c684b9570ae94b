import { jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { LeaseStore } from '../../src/core/index.ts'
import { Bucket } from '../../src/stores/nats/bucket.ts'
import { natsStore } from '../../src/stores/nats/index.ts'
import { BucketRegisters } from '../../src/stores/nats/registers.ts'
import { describeStore, skewDate } from '../../src/testing/index.ts'
import { type CuttableProxy, cuttableProxy } from '../../src/testing/node/cuttable-proxy.ts'
import { eventually } from '../eventually.ts'
import { ask, grab } from './asking-by-id.ts'
import { noticesMistake } from './notices-mistake.ts'
import { ownSystemClock } from './own-clock.ts'

const { HOLDFAST_TEST_NATS_URL = 'nats://127.0.0.1:4222' } = process.env
const SERVER = new URL(HOLDFAST_TEST_NATS_URL)

const options = {
  runner: { describe, it },
  supports: { queue: false },
  ttl: 800,
  create: openPair,
  reopen: async ({ bucket, connection, store }: Pair) => {
    await store.close()
    return natsStore(connection, { bucket })
  },
  outage: async ({ proxy }: Pair) => cut(proxy),
  interruptWatch: async ({ proxy }: Pair) => cut(proxy)(),
  skewCaller: (_: unknown, ms: number) => skewDate(ms),
}
describeStore('nats', options)
noticesMistake('nats', 'expiry by the clock of the caller', options)

type Pair = Awaited<ReturnType<typeof openPair>>

describe('a lease in a bucket of NATS', () => {
  let pair: Pair
  let store: LeaseStore
  let peer: LeaseStore
  beforeEach(async () => {
    pair = await openPair()
    store = pair.store
    peer = pair.peer
  })
  afterEach(() => pair.dispose())

  it('a lease in a bucket of NATS is lost if somebody deletes its key, and the next token is higher', async () => {
    const lost = vi.fn()
    const told = vi.fn()
    const { token } = await grab(store, 'a', { lost })
    const watch = await store.watch(told)
    const kv = await new Kvm(pair.connection).open(pair.bucket)
    await kv.delete('lease.r')
    await eventually(() => expect(lost).toHaveBeenCalledOnce())
    await eventually(() => expect(told).toHaveBeenCalledWith({ type: 'gap' }))
    await watch[Symbol.asyncDispose]()
    expect(await store.renew({ resource: 'r', id: 'a', ttl: 1000 })).toEqual({ ok: false, holders: [] })
    expect((await grab(peer, 'b')).token).toBeGreaterThan(token)
  })

  it('a lease in a bucket of NATS gets a higher token in a bucket that was deleted and created again', async () => {
    const { token } = await grab(store, 'a')
    await new Kvm(pair.connection).open(pair.bucket).then((kv) => kv.destroy())
    const failure = { code: 'store-unavailable', retryable: true }
    await expect(ask(store, 'b')).rejects.toMatchObject(failure)
    expect((await grab(store, 'b')).token).toBeGreaterThan(token)
  })

  it('a lease in a bucket of NATS is not granted over the value of another program', async () => {
    await peer.read(['r'])
    const kv = await new Kvm(pair.connection).open(pair.bucket)
    await kv.put('lease.r', 'hello')
    await kv.put('lease.=zz', 'no name has this key')
    await expect(ask(store, 'a')).rejects.toMatchObject({ code: 'store-failed' })
    expect(await store.sweep({ limit: 10 })).toEqual([])
    expect((await store.list({ limit: 10 })).leases).toEqual([])
    expect((await kv.get('lease.r'))?.string()).toBe('hello')
  })

  it('a lease in a bucket of NATS is removed without a trace, unless it was written again', async () => {
    const registers = new BucketRegisters(new Bucket(pair.connection, { name: pair.bucket, replicas: 1 }))
    const first = await registers.write('r', 'one', null)
    const second = first && (await registers.write('r', 'two', first.register))
    if (!first || !second) throw new Error('not written')
    await registers.write('other', 'stays', null)
    const textsOf = async () =>
      (await registers.read(['r', 'other'])).registers.map((register) => register?.text)
    await registers.remove(first.register)
    expect(await textsOf()).toEqual(['two', 'stays'])
    await registers.remove(second.register)
    expect(await textsOf()).toEqual([undefined, 'stays'])
    registers.close()
  })

  it('a lease in a bucket of NATS leaves no consumer on the server', async () => {
    await grab(store, 'a')
    await store.list({ limit: 10 })
    await store.sweep({ limit: 10 })
    const watch = await store.watch(() => {})
    await eventually(async () => expect(await consumersOf(pair)).toBe(1))
    await watch[Symbol.asyncDispose]()
    await eventually(async () => expect(await consumersOf(pair)).toBe(0))
    await store.watch(() => {})
    expect(await consumersOf(pair)).toBe(1)
    await store.close()
    expect(await consumersOf(pair)).toBe(0)
  })
})

describe('natsStore', () => {
  it('natsStore refuses a bucket with a TTL of its own', async () => {
    const connection = await dial(SERVER.host)
    const bucket = newBucket()
    await new Kvm(connection).create(bucket, { ttl: 60_000 })
    const store = natsStore(connection, { bucket })
    await expect(ask(store, 'a')).rejects.toMatchObject({ code: 'store-failed', message: /TTL of its own/ })
    await connection.close()
  })

  it('fails with a final error if its connection was closed', async () => {
    const connection = await dial(SERVER.host)
    const store = natsStore(connection, { bucket: newBucket() })
    await store.read(['r'])
    // The clock stands still, so the limit of the call does not end it.
    ownSystemClock()
    const call = expect(ask(store, 'a')).rejects.toMatchObject({
      code: 'store-failed',
      message: 'NATS: the connection was closed',
    })
    await connection.close()
    await call
    await expect(ask(store, 'a')).rejects.toMatchObject({ code: 'store-failed', retryable: false })
  })

  it('natsStore fails a call at once if the connection is lost, and with a final error after it was closed', async () => {
    const proxy = await cuttableProxy(SERVER.hostname, Number(SERVER.port))
    const connection = await dial(proxy.address)
    const store = natsStore(connection, { bucket: newBucket() })
    await grab(store, 'a')
    // The clock stands still, so the limit of the call does not end it.
    ownSystemClock()
    const call = ask(store, 'b')
    proxy.cut()
    await expect(call).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringContaining('NATS: the connection is down'),
    })
    await connection.close()
    await expect(ask(store, 'b')).rejects.toMatchObject({ code: 'store-failed' })
    await proxy[Symbol.asyncDispose]()
  })

  it('natsStore names the package that is missing', async () => {
    vi.doMock('@nats-io/kv', () => {
      throw new Error('Cannot find package')
    })
    vi.resetModules()
    try {
      const { natsStore: without } = await import('../../src/stores/nats/index.ts')
      const connection = await dial(SERVER.host)
      await expect(ask(without(connection), 'a')).rejects.toThrow('npm install @nats-io/kv')
      await connection.close()
    } finally {
      vi.doUnmock('@nats-io/kv')
      vi.resetModules()
    }
  })
})

/** Two stores on two connections and one new bucket. The first connection goes through a proxy. */
async function openPair() {
  const bucket = newBucket()
  const proxy = await cuttableProxy(SERVER.hostname, Number(SERVER.port))
  const [own, connection] = await Promise.all([dial(proxy.address), dial(SERVER.host)])
  const store = natsStore(own, { bucket })
  const peer = natsStore(connection, { bucket })
  return {
    bucket,
    proxy,
    connection,
    store,
    peer,
    async dispose() {
      await Promise.all([store.close(), peer.close()])
      const manager = await jetstreamManager(connection)
      await manager.streams.delete(`KV_${bucket}`).catch(() => {})
      await Promise.all([own.close(), connection.close()])
      await proxy[Symbol.asyncDispose]()
    },
  }
}

function cut(proxy: CuttableProxy): () => Promise<void> {
  proxy.cut()
  return async () => proxy.mend()
}

function dial(servers: string): Promise<NatsConnection> {
  return connect({ servers, reconnectTimeWait: 20, maxReconnectAttempts: -1 })
}

function newBucket(): string {
  return `test-${crypto.randomUUID()}`
}

async function consumersOf({ connection, bucket }: { connection: NatsConnection; bucket: string }) {
  const manager = await jetstreamManager(connection)
  return (await manager.streams.info(`KV_${bucket}`)).state.consumer_count
}
