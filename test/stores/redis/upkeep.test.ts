/** How rows, queues and indexes are kept up to date: on a real server, by the clock of the test. */
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import type { LeaseRecord, LeaseStore } from '../../../src/core/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { Keys } from '../../../src/stores/redis/names.ts'
import { FakeClock } from '../../../src/testing/index.ts'
import { asking, grab } from '../asking.ts'
import { freshPrefix, HOLDFAST_TEST_REDIS_URL } from './clients.ts'
import { timedClient } from './timed-client.ts'

const HOUR_MS = 3_600_000
const admin = new Redis(HOLDFAST_TEST_REDIS_URL)
afterAll(() => admin.disconnect())

let clock: FakeClock
let store: LeaseStore
let keys: Keys
let close: () => void
beforeEach(() => {
  clock = new FakeClock()
  const timed = timedClient(HOLDFAST_TEST_REDIS_URL, clock)
  const prefix = freshPrefix()
  keys = new Keys(prefix, 'r')
  store = redisStore(timed.client, { prefix })
  close = timed.close
})
afterEach(async () => {
  await store.close()
  close()
})

async function entries(): Promise<string[]> {
  return admin.zrangebylex(keys.index, '-', '+')
}

it('the entry of a row in the index moves when its lease ends more than an hour after it', async () => {
  const first = await grab(store, 'r', { ttl: 1000 })
  const due = (at: number) => `due:${at * 1000} r`
  expect(await entries()).toEqual([due(clock.now() + 1000), 'name:r'])
  await store.release({ resource: 'r', id: first.id })
  await clock.advance(HOUR_MS / 2)
  const second = await grab(store, 'r', { ttl: 1000 })
  expect(await entries()).toEqual([due(first.acquiredAt + 1000), 'name:r'])
  await store.release({ resource: 'r', id: second.id })
  await clock.advance(HOUR_MS)
  await grab(store, 'r', { ttl: 1000 })
  expect(await entries()).toEqual([due(clock.now() + 1000), 'name:r'])
})

it('the entry of a row in the index moves when its lease ends before it', async () => {
  const long = await grab(store, 'r', { ttl: 10_000 })
  await store.release({ resource: 'r', id: long.id })
  const short = await grab(store, 'r', { ttl: 100 })
  await clock.advance(101)
  expect(await store.sweep({ limit: 10 })).toMatchObject([{ id: short.id }])
})

it('a sweep keeps a row without a lease if somebody waits for it', async () => {
  const holder = await grab(store, 'r', { ttl: 100 })
  const waiter = asking('r', { wake: () => {} })
  await store.acquire(waiter)
  await store.release({ resource: 'r', id: holder.id })
  await clock.advance(200)
  expect(await store.sweep({ limit: 10 })).toEqual([])
  expect(await store.acquire(asking('r'))).toMatchObject({ granted: false, holders: [] })
  const answer = await store.acquire(waiter)
  expect(answer.granted && answer.lease.token).toBeGreaterThan(holder.token)
})

it('a sweep removes a waiter that did not use its reservation', async () => {
  const holder = await grab(store, 'r', { ttl: 100 })
  await store.acquire(asking('r', { wake: () => {} }))
  await store.release({ resource: 'r', id: holder.id })
  await clock.advance(1001)
  await store.sweep({ limit: 10 })
  expect(await admin.exists(keys.row, keys.queue)).toBe(0)
  await grab(store, 'r')
})

it('a sweep removes the name of a row that Redis has deleted', async () => {
  await grab(store, 'r', { ttl: 100 })
  await admin.del(keys.row)
  await clock.advance(101)
  expect(await store.sweep({ limit: 10 })).toEqual([])
  expect(await entries()).toEqual([])
})

it('the queue of a row that Redis has deleted is not used again', async () => {
  await grab(store, 'r')
  await store.acquire(asking('r', { wake: () => {} }))
  await admin.del(keys.row)
  await grab(store, 'r')
  expect(await store.acquire(asking('r', { wake: () => {} }))).toMatchObject({ place: 0 })
})

it('a sweep ends the expired leases of a shared row, and comes again when the next one may have expired', async () => {
  const first = await grab(store, 'r', { ttl: 100, share: 3 })
  const second = await grab(store, 'r', { ttl: 300, share: 3 })
  const third = await grab(store, 'r', { ttl: 300, share: 3 })
  await clock.advance(101)
  expect(await store.sweep({ limit: 10 })).toMatchObject([{ id: first.id, share: 3 }])
  await clock.advance(200)
  expect(await store.sweep({ limit: 1 })).toMatchObject([{ id: second.id }])
  expect(await store.sweep({ limit: 1 })).toMatchObject([{ id: third.id }])
  expect(await admin.exists(keys.row, keys.shared)).toBe(0)
})

it('a shared row is a plain one again when its last lease has ended', async () => {
  const leases = [await grab(store, 'r', { share: 2 }), await grab(store, 'r', { share: 2 })]
  expect(await admin.get(keys.row)).toMatch(/^S /)
  for (const { id } of leases) await store.release({ resource: 'r', id })
  expect(await admin.get(keys.row)).toMatch(/^F /)
  expect(await admin.exists(keys.shared)).toBe(0)
})

it('the leases of a row that Redis has deleted are not used again', async () => {
  await grab(store, 'r', { share: 1 })
  await admin.del(keys.row)
  const { id } = await grab(store, 'r', { share: 2 })
  expect(await store.read(['r'])).toMatchObject([[{ id }]])
})

it('a renewal and a grant beside many leases read none of them', async () => {
  const leases = [await grab(store, 'r', { share: 9 }), await grab(store, 'r', { share: 9 })]
  const [mine, other] = leases as [LeaseRecord, LeaseRecord]
  // Every read of it fails.
  await admin.hset(keys.shared, other.id, 'not a lease')
  expect(await store.renew({ resource: 'r', id: mine.id, ttl: 1000 })).toMatchObject({ ok: true })
  expect(await store.acquire(asking('r', { share: 9 }))).toMatchObject({ granted: true })
  await expect(store.read(['r'])).rejects.toMatchObject({ code: 'store-failed' })
})
