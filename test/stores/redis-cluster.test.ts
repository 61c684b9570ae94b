import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LeaseStore, Leases } from '../../src/core/index.ts'
import { type RedisClient, redisStore } from '../../src/stores/redis/index.ts'
import { Keys } from '../../src/stores/redis/names.ts'
import { describeStore } from '../../src/testing/index.ts'
import { holdfast } from '../cli/holdfast.ts'
import { startServe } from '../cli/server.ts'
import { blocksOfPage } from '../docs/blocks.ts'
import { eventually } from '../eventually.ts'
import { HANG_MS } from '../hang-limit.ts'
import { importExample } from '../server/docs-example.ts'
import { browserAt } from '../server/node-client.ts'
import { asking, granted } from './asking.ts'
import { freshPrefix } from './redis/clients.ts'
import { TestCluster } from './redis/cluster.ts'

let cluster: TestCluster
beforeAll(async () => {
  cluster = await TestCluster.start(3)
})
afterAll(() => cluster[Symbol.asyncDispose]())

interface Connected {
  readonly client: RedisClient
  close(): unknown
}

const clusters = {
  async ioredis(): Promise<Connected> {
    const nodes = cluster.ports.map((port) => ({ host: '127.0.0.1', port }))
    const client = new Cluster(nodes, { slotsRefreshTimeout: HANG_MS })
    client.on('error', () => {})
    await new Promise((resolve) => client.once('ready', resolve))
    return { client, close: () => client.disconnect() }
  },
  async 'node-redis'(): Promise<Connected> {
    const rootNodes = cluster.ports.map((port) => ({ url: `redis://127.0.0.1:${port}` }))
    const client = createCluster({ rootNodes })
    client.on('error', () => {})
    await client.connect()
    return { client, close: () => client.destroy() }
  },
}

async function openPair(name: keyof typeof clusters) {
  const prefix = freshPrefix()
  const [own, other] = await Promise.all([clusters[name](), clusters[name]()])
  const [store, peer] = [redisStore(own.client, { prefix }), redisStore(other.client, { prefix })]
  const dispose = async () => {
    await Promise.all([store.close(), peer.close()])
    for (const { close } of [own, other]) close()
  }
  return { store, peer, prefix, other, dispose, [Symbol.asyncDispose]: dispose }
}

async function killSubscribers(): Promise<void> {
  for (const index of cluster.ports.keys()) {
    const node = cluster.node(index)
    await node.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    node.disconnect()
  }
}

for (const name of ['ioredis', 'node-redis'] as const) {
  describeStore(`${name} on a cluster`, {
    runner: { describe, it },
    create: () => openPair(name),
    reopen: async ({ store, other, prefix }) => {
      await store.close()
      return redisStore(other.client, { prefix })
    },
    interruptWatch: killSubscribers,
  })

  describe(`${name} on a cluster`, () => {
    it(`${name} on a cluster spreads leases over all nodes, whatever their names contain`, async () => {
      await using pair = await openPair(name)
      const names = Array.from({ length: 200 }, (_, n) => `{same}${n}`)
      await Promise.all(names.map(async (resource) => granted(await pair.store.acquire(asking(resource)))))
      const { leases } = await pair.peer.list({ prefix: '{same}', limit: 1000 })
      expect(leases.map(({ resource }) => resource)).toEqual(names.toSorted())
      for (const index of cluster.ports.keys()) {
        const node = cluster.node(index)
        expect((await node.keys(`${pair.prefix}:*:lease:{same}*`)).length).toBeGreaterThan(20)
        node.disconnect()
      }
    })

    it(`${name} on a cluster skips all waiters of a dead process after about a second`, async () => {
      await using live = await openPair(name)
      const dead = await clusters[name]()
      const deadStore = redisStore(dead.client, { prefix: live.prefix })
      const holder = granted(await live.store.acquire(asking('r')))
      for (let n = 0; n < 3; n++) await enqueue(deadStore)
      const next = await enqueue(live.store)
      dead.close()
      await deadStore.close()
      await live.store.release({ resource: 'r', id: holder.id })
      await expect.poll(() => next.wakes).toEqual([1000])
      // Until the reservation of the first has ended. The others get none.
      await sleep(1100)
      granted(await live.store.acquire(next.ask))
      expect(await live.store.acquire(asking('r', { wake: () => {} }))).toMatchObject({ place: 0 })
    })
  })
}

it('the example of docs/stores/redis.md hands a lease from one client to the next', async () => {
  const open = async () => {
    const example = blocksOfPage('docs/stores/redis.md').find(({ code }) => code.includes('new Cluster('))
    const address = (_: string, letter: string) =>
      `host: '127.0.0.1', port: ${cluster.ports['abc'.indexOf(letter)]}`
    const code = example?.code.replaceAll(/host: 'redis-(\w)', port: 6379/g, address) ?? ''
    return importExample<{ client: Cluster; leases: Leases }>(code)
  }
  const examples = await Promise.all([open(), open()])
  const [ours, theirs] = examples
  const lease = await ours.leases.acquire('invoice:42')
  expect(await theirs.leases.tryAcquire('invoice:42')).toBeNull()
  const waiting = theirs.leases.acquire('invoice:42', { wait: HANG_MS })
  await eventually(async () => expect(await ours.leases.waiting('invoice:42')).toHaveLength(1))
  await lease.release()
  const next = await waiting
  expect(next.token).toBeGreaterThan(lease.token)
  await next.release()
  for (const { client, leases } of examples) {
    await leases.close()
    client.disconnect()
  }
})

it('serve and the command line use a cluster by its address, also while a slot moves to another node', async () => {
  await using moving = await TestCluster.start(2)
  const prefix = freshPrefix()
  const hosts = moving.ports.map((port) => `127.0.0.1:${port}`).join(',')
  const address = `redis+cluster://${hosts}?prefix=${prefix}`
  const { url } = await startServe(address)
  const browser = browserAt(url)
  const { status, body } = await browser.call('POST', '/api/documents/draft/lock')
  expect(status).toBe(200)
  const save = (content: string) =>
    browser.call('PUT', '/api/documents/draft', { content, token: body.token })
  expect((await save('before')).status).toBe(200)
  await moving.moveSlotOf(`${prefix}:content:draft`)
  await moving.moveSlotOf(new Keys(prefix, 'document:draft').all[0] ?? '')
  expect((await save('after')).status).toBe(200)
  expect((await browser.call('POST', '/api/documents/draft/lock')).body).toMatchObject({ token: body.token })
  expect(await holdfast(['ls', '--store', address, '--json'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"document:draft"'),
  })
  expect((await fetch(`${url}/readyz`)).status).toBe(200)

  const wrong = await holdfast(['ls', '--store', `redis+cluster://app:secret@${hosts}`])
  expect(wrong).toMatchObject({ code: 70, stderr: expect.stringMatching(/WRONGPASS.*check the user and/) })
  const none = await holdfast(['ls', '--store', 'redis+cluster://127.0.0.1:1,127.0.0.1:2'])
  expect(none).toMatchObject({
    code: 69,
    stderr: expect.stringMatching(/none of these nodes .* answers; check/),
  })
  const plain = await holdfast(['ls', '--store', `redis://127.0.0.1:${moving.ports[0]}?prefix=${prefix}`])
  expect(plain.stderr).toMatch(/this server is part of a cluster: .* redis\+cluster: on the command line/)
})

it('a waiter keeps its turn though `listen` is a client of one node only', async () => {
  const { client, close } = await clusters.ioredis()
  const listen = cluster.node(0)
  const store = redisStore(client, { prefix: freshPrefix(), listen })
  for (let n = 0; n < 8; n++) {
    const holder = granted(await store.acquire(asking(`r${n}`)))
    const waiter = await enqueue(store, `r${n}`)
    await store.release({ resource: `r${n}`, id: holder.id })
    expect(await store.acquire(asking(`r${n}`))).toMatchObject({ granted: false, holders: [] })
    await expect.poll(() => waiter.wakes).toEqual([0])
    granted(await store.acquire(waiter.ask))
  }
  await store.close()
  listen.disconnect()
  close()
})

it('a plain client works if one node has all slots', async () => {
  await using lone = await TestCluster.start(1)
  const client = lone.node(0)
  const store = redisStore(client)
  const names = Array.from({ length: 50 }, (_, n) => `r${n}`)
  await Promise.all(names.map(async (resource) => granted(await store.acquire(asking(resource)))))
  expect((await store.list({ limit: 100 })).leases).toHaveLength(50)
  await store.close()
  client.disconnect()
})

it('a plain client fails with advice if other nodes have slots', async () => {
  const client = cluster.node(0)
  const store = redisStore(client, { prefix: freshPrefix() })
  const names = Array.from({ length: 50 }, (_, n) => `r${n}`)
  const outcomes = await Promise.allSettled(names.map((resource) => store.acquire(asking(resource))))
  const failures = outcomes.filter((outcome) => outcome.status === 'rejected')
  expect(failures[0]?.reason).toMatchObject({ code: 'store-failed' })
  expect(failures[0]?.reason.message).toContain('cluster client')
  await store.close()
  client.disconnect()
})

async function enqueue(store: LeaseStore, resource = 'r') {
  const wakes: number[] = []
  const ask = asking(resource, { wake: (inMs) => wakes.push(inMs) })
  expect((await store.acquire(ask)).granted).toBe(false)
  return { ask, wakes }
}
