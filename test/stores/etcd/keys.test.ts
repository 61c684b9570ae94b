import { Etcd3 } from 'etcd3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LeaseStore, StoreEvent } from '../../../src/core/index.ts'
import { etcdStore } from '../../../src/stores/etcd/index.ts'
import { asking, grab } from '../asking.ts'
import { etcdLeaseOf } from './etcd-leases.ts'

const { HOLDFAST_TEST_ETCD_URL: url = '' } = process.env

let client: Etcd3
let prefix: string
let store: LeaseStore
beforeAll(() => {
  client = new Etcd3({ hosts: url.replace(/^etcd:/, 'http:') })
  prefix = `keys-${crypto.randomUUID()}/`
  store = etcdStore(client, { prefix })
})
afterAll(async () => {
  await store.close()
  await client.delete().prefix(prefix)
  client.close()
})

describe('the keys of a store', () => {
  it('the keys of a store are within the namespace of the client, and begin with the prefix', async () => {
    const named = etcdStore(client.namespace(prefix), { prefix: 'own/' })
    const { id } = await grab(named, 'r')
    const keys = await client.getAll().prefix(`${prefix}own/`).keys()
    const used = expect.stringMatching(`^${prefix}own/s/\\d+$`)
    expect(keys.toSorted()).toEqual([`${prefix}own/e/r\0${id}`, `${prefix}own/l/r\0${id}`, used])
    expect(await store.read(['r'])).toEqual([[]])
    await named.release({ resource: 'r', id })
    expect(await client.getAll().prefix(`${prefix}own/`).keys()).toEqual([used])
    await named.close()
    expect(await client.getAll().prefix(`${prefix}own/`).count()).toBe(0)
  })

  it.each(['a/l/', 'a/e/b/', 'a/k/', 'a/q/', 'a/s/'])(
    'may not be among those of another store: the prefix %s is refused',
    (within) => {
      expect(() => etcdStore(client, { prefix: within })).toThrow('expected one without /l/')
      expect(() => etcdStore(client.namespace(within))).toThrow('expected one without /l/')
    },
  )

  it('the keys of a store leave nothing behind when the store is closed: neither keys nor etcd leases', async () => {
    const closing = etcdStore(client.namespace(prefix), { prefix: 'closing/' })
    const { id } = await grab(closing, 'gone', { lockDelay: 5000, atLeast: 1 })
    const waiter = asking('gone', { wake: () => {} })
    await closing.acquire(waiter)
    await closing.release({ resource: 'gone', id: waiter.id })
    const lease = await etcdLeaseOf(client, `${prefix}closing/l/gone\0${id}`)
    await closing.release({ resource: 'gone', id })
    await closing.close()
    await expect.poll(() => client.getAll().prefix(`${prefix}closing/`).keys()).toEqual([])
    const left = () => client.leaseClient.leaseTimeToLive({ ID: lease, keys: false })
    await expect.poll(async () => Number((await left()).TTL)).toBe(-1)
  })

  it('the keys of a store that another program wrote stop the resource, and stay as they are', async () => {
    const key = `${prefix}l/damaged\0x`
    await client.put(key).value('hello')
    for (const call of [() => store.acquire(asking('damaged')), () => store.read(['damaged'])])
      await expect(call()).rejects.toMatchObject({
        code: 'store-failed',
        message: expect.stringContaining('is damaged or of another version; it was left as it is'),
      })
    expect(await client.get(key).string()).toBe('hello')
    await client.delete().key(key)
  })

  it('the keys of a store that another program wrote while somebody waits cost nobody else anything', async () => {
    const { id } = await grab(store, 'awaited')
    const waiter = asking('awaited', { wake: () => {} })
    await store.acquire(waiter)
    // Its own place is read from the watch.
    await store.acquire(waiter)
    const key = `${prefix}l/awaited\0x`
    await client.put(key).value('hello')
    await client.delete().key(key)
    await store.release({ resource: 'awaited', id })
    await expect.poll(async () => (await store.acquire(waiter)).granted).toBe(true)
    await store.release({ resource: 'awaited', id: waiter.id })
  })

  it('the keys of a store hide no other resource: a list and a sweep skip them, also at the end of a page', async () => {
    const damaged = [`${prefix}l/skip:a\0x`, `${prefix}l/skip:b\0x`, `${prefix}e/skip:c\0x`]
    for (const key of damaged) await client.put(key).value('hello')
    const sound = await grab(store, 'skip:z')
    const first = await store.list({ prefix: 'skip:', limit: 1 })
    expect(first).toMatchObject({ leases: [], next: expect.any(String) })
    expect(await store.list({ prefix: 'skip:', limit: 1, after: first.next })).toMatchObject({
      leases: [{ token: sound.token }],
    })
    expect(await store.sweep({ limit: 10 })).toEqual([])
    await store.release({ resource: 'skip:z', id: sound.id })
    for (const key of damaged) await client.delete().key(key)
  })
})

it('a holder that was silent for its TTL is told, and so are watchers, before anybody asks', async () => {
  const events: StoreEvent[] = []
  await using _ = await store.watch((event) => events.push(event))
  let losses = 0
  const { token } = await grab(store, 'silent', { ttl: 1000, lost: () => losses++ })
  const expired = { type: 'change', lease: expect.objectContaining({ token, state: 'expired' }) }
  await expect.poll(() => events).toContainEqual(expired)
  expect(losses).toBe(1)
  expect(await store.sweep({ limit: 10 })).toMatchObject([{ token, state: 'expired' }])
  expect(await store.sweep({ limit: 10 })).toEqual([])
})
