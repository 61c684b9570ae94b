import { Redis } from 'ioredis'
import { afterAll, expect, it } from 'vitest'
import { Keys } from '../../../src/stores/redis/names.ts'
import { asking, granted } from '../asking.ts'
import { HOLDFAST_TEST_REDIS_URL, openStore } from './clients.ts'

const admin = new Redis(HOLDFAST_TEST_REDIS_URL)
afterAll(() => admin.disconnect())

const HOUR_MS = 3_600_000
const rowOf = (prefix: string, resource: string) => new Keys(prefix, resource).row

/** Simulates a clock that was ahead when the last lease was granted. */
async function setLastToken(prefix: string, resource: string, token: number): Promise<void> {
  const row = rowOf(prefix, resource)
  const value = await admin.get(row)
  await admin.set(row, value?.replace(/^F \d+/, `F ${token}`) ?? '', 'KEEPTTL')
}

it('tokens of 16 digits are exact, though Lua prints 14', async () => {
  await using opened = await openStore()
  const { store, prefix } = opened
  const { id } = granted(await store.acquire(asking('r')))
  await store.release({ resource: 'r', id })
  const last = Number.MAX_SAFE_INTEGER - 10
  await setLastToken(prefix, 'r', last)
  for (let n = 1; n <= 3; n++) {
    const lease = granted(await store.acquire(asking('r')))
    expect(lease.token).toBe(last + n)
    expect(await store.read(['r'])).toMatchObject([[{ token: last + n }]])
    const { ended } = await store.release({ resource: 'r', id: lease.id })
    expect(ended?.token).toBe(last + n)
  }
})

it('the token rises though the row was deleted and the clock had been ahead', async () => {
  await using opened = await openStore()
  const { store, prefix } = opened
  const { id } = granted(await store.acquire(asking('r', { ttl: 20 })))
  await store.release({ resource: 'r', id })
  const ahead = (Date.now() + 24 * HOUR_MS) * 1000
  await setLastToken(prefix, 'r', ahead)
  await expect
    .poll(async () => {
      await store.sweep({ limit: 10 })
      return admin.exists(rowOf(prefix, 'r'))
    })
    .toBe(0)
  expect(granted(await store.acquire(asking('r'))).token).toBe(ahead + 1)
})

it('a row is kept for an hour after its lease and its token', async () => {
  await using opened = await openStore()
  const { store, prefix } = opened
  const row = rowOf(prefix, 'r')
  const keptFor = async () => (await admin.pexpiretime(row)) - Date.now()
  const ttl = 60_000
  const lease = granted(await store.acquire(asking('r', { ttl })))
  expect(await keptFor()).toBeGreaterThan(ttl + HOUR_MS)
  const waiter = asking('r', { wake: () => {} })
  await store.acquire(waiter)
  const line = await admin.pexpiretime(new Keys(prefix, 'r').queue)
  expect(line - Date.now()).toBeGreaterThan(ttl + HOUR_MS)
  await store.renew({ resource: 'r', id: lease.id, ttl: 10 * HOUR_MS })
  expect(await keptFor()).toBeGreaterThan(11 * HOUR_MS)
  for (const { id } of [waiter, lease]) await store.release({ resource: 'r', id })
  await setLastToken(prefix, 'r', (Date.now() + 24 * HOUR_MS) * 1000)
  granted(await store.acquire(asking('r', { ttl })))
  expect(await keptFor()).toBeGreaterThan(25 * HOUR_MS - ttl)
})

it('a shared row and its leases are kept for an hour after the last of them', async () => {
  await using opened = await openStore()
  const { store, prefix } = opened
  const { row, shared } = new Keys(prefix, 'r')
  granted(await store.acquire(asking('r', { ttl: 10 * HOUR_MS, share: 2 })))
  granted(await store.acquire(asking('r', { ttl: 1000, share: 2 })))
  for (const key of [row, shared])
    expect((await admin.pexpiretime(key)) - Date.now()).toBeGreaterThan(11 * HOUR_MS)
})
