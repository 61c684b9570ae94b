/** What the client repeats by itself, what arrives late, and what happens between a look and a grant. */
import { Etcd3 } from 'etcd3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { LeaseStore } from '../../../src/core/index.ts'
import { type EtcdClient, etcdStore } from '../../../src/stores/etcd/index.ts'
import { asking, grab } from '../asking.ts'
import { etcdLeaseOf } from './etcd-leases.ts'

const { HOLDFAST_TEST_ETCD_URL: url = '' } = process.env

type Txn = Etcd3['kv']['txn']

let client: Etcd3
let prefix: string
beforeAll(() => {
  client = new Etcd3({ hosts: url.replace(/^etcd:/, 'http:') })
  prefix = `repeated-${crypto.randomUUID()}/`
})
afterAll(async () => {
  await client.delete().prefix(prefix)
  client.close()
})

/** A store whose grants go through `send`. */
function storeThrough(send: (txn: Txn, ...args: Parameters<Txn>) => ReturnType<Txn>): LeaseStore {
  const { leaseClient, watchClient, kv } = client
  const txn: Txn = (request, options) => {
    const sent = client.kv.txn.bind(kv)
    const isGrant = request.success?.some(({ request_put }) =>
      String(Buffer.from(request_put?.key ?? '')).includes('/l/'),
    )
    return isGrant ? send(sent, request, options) : sent(request, options)
  }
  const through = { prefix: client.namespace('').prefix, leaseClient, watchClient, kv: { txn } }
  return etcdStore(through as unknown as EtcdClient, { prefix })
}

it('a released lease leaves its etcd lease to the next one with the same TTL, with all its time', async () => {
  await using store = storeThrough((txn, ...args) => txn(...args))
  const first = await grab(store, 'spare:a', { ttl: 30_000 })
  const lease = await etcdLeaseOf(client, `${prefix}l/spare:a\0${first.id}`)
  await store.release({ resource: 'spare:a', id: first.id })
  const other = await grab(store, 'spare:b', { ttl: 40_000 })
  expect(await etcdLeaseOf(client, `${prefix}l/spare:b\0${other.id}`)).not.toBe(lease)
  const next = await grab(store, 'spare:c', { ttl: 30_000 })
  expect(await etcdLeaseOf(client, `${prefix}l/spare:c\0${next.id}`)).toBe(lease)
  expect(next.remaining).toBe(30_000)
  // A renewal for another TTL attaches the lease to another etcd lease, which is used once.
  await store.renew({ resource: 'spare:c', id: next.id, ttl: 50_000 })
  const exchanged = await etcdLeaseOf(client, `${prefix}l/spare:c\0${next.id}`)
  await store.release({ resource: 'spare:c', id: next.id })
  const last = await grab(store, 'spare:d', { ttl: 50_000 })
  expect(await etcdLeaseOf(client, `${prefix}l/spare:d\0${last.id}`)).not.toBe(exchanged)
})

it('a spare etcd lease that has ended is replaced', async () => {
  await using store = storeThrough((txn, ...args) => txn(...args))
  const first = await grab(store, 'ended', { ttl: 30_000 })
  const lease = await etcdLeaseOf(client, `${prefix}l/ended\0${first.id}`)
  await store.release({ resource: 'ended', id: first.id })
  await client.leaseClient.leaseRevoke({ ID: lease })
  const next = await grab(store, 'ended', { ttl: 30_000 })
  expect(await store.read(['ended'])).toMatchObject([[{ token: next.token }]])
})

it('a grant that is sent twice is found by its id, and stays', async () => {
  await using store = storeThrough(async (txn, ...args) => {
    await txn(...args)
    return txn(...args)
  })
  for (const round of [1, 2]) {
    const { id, token } = await grab(store, 'twice', { ttl: 30_000, atLeast: 1, lockDelay: 1000 })
    // A revocation that was sent in the background would arrive before this one is answered.
    await client.put(`${prefix}fence`).value(round)
    expect(await store.read(['twice'])).toMatchObject([[{ id, token }]])
    await store.release({ resource: 'twice', id })
    await expect.poll(() => client.getAll().prefix(`${prefix}k/twice`).count()).toBe(0)
  }
})

it('a copy of a grant that arrives after the release grants nothing', async () => {
  const late: (() => ReturnType<Txn>)[] = []
  await using store = storeThrough((txn, ...args) => {
    late.push(() => txn(...args))
    return txn(...args)
  })
  // The first one has a new etcd lease, and the second one a spare one.
  for (const resource of ['late:a', 'late:b']) {
    const { id } = await grab(store, resource, { ttl: 30_000 })
    await store.release({ resource, id })
    for (const send of late) expect((await send()).succeeded).toBe(false)
  }
  expect(late).toHaveLength(2)
  expect(await store.read(['late:a', 'late:b'])).toEqual([[], []])
})

it('a lease that came and went between look and grant keeps the resource by its atLeast', async () => {
  const other = storeThrough((txn, ...args) => txn(...args))
  let isFirst = true
  await using store = storeThrough(async (txn, ...args) => {
    if (isFirst) {
      isFirst = false
      const { id } = await grab(other, 'between', { atLeast: 60_000 })
      await other.release({ resource: 'between', id })
    }
    return txn(...args)
  })
  const answer = await store.acquire(asking('between'))
  expect(answer).toMatchObject({ granted: false, holders: [], keptFor: expect.any(Number) })
  await other.close()
})
