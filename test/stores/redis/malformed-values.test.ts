import { Redis } from 'ioredis'
import { afterAll, describe, expect, it } from 'vitest'
import { Keys } from '../../../src/stores/redis/names.ts'
import { asking, failure, granted } from '../asking.ts'
import { HOLDFAST_TEST_REDIS_URL, openStore } from './clients.ts'

const admin = new Redis(HOLDFAST_TEST_REDIS_URL)
afterAll(() => admin.disconnect())

const ABOUT = JSON.stringify({ resource: 'bad', id: 'x', owner: 'y', metadata: null })

const MALFORMED: Record<string, (row: string) => Promise<unknown>> = {
  'a text': (row) => admin.set(row, 'something else'),
  'an empty text': (row) => admin.set(row, ''),
  'a list': (row) => admin.rpush(row, 'x'),
  'a hash': (row) => admin.hset(row, 'name', 'Mika'),
  'a row without a token': (row) => admin.set(row, 'F'),
  'a row with more than a lease': (row) => admin.set(row, 'F 1 1 and more'),
  'a lease without numbers': (row) => admin.set(row, `F 1 1 a b c d x ${ABOUT}`),
  'a row of another version': (row) => admin.set(row, '{"version":2}'),
  'a row with an unknown kind of queue': (row) => admin.set(row, 'Q 1 1'),
  'a shared row without its numbers': (row) => admin.set(row, 'S 1 1'),
  'a shared row with leases that are not': async (row) => {
    await admin.set(row, `S 1 1 0 0 1 1 held:1x1, reserved:`)
    await admin.hset(row.replace(':lease:', ':shared:'), 'x', 'not a lease')
  },
  'a shared row with leases of another type': async (row) => {
    await admin.set(row, `S 1 1 0 0 1 1 held:1x1, reserved:`)
    await admin.set(row.replace(':lease:', ':shared:'), 'x')
  },
}

describe.each(Object.entries(MALFORMED))('%s in the key of a lease', (_, write) => {
  it('is reported, grants nothing, and does not affect other resources', async () => {
    await using opened = await openStore()
    const { store, prefix } = opened
    const good = granted(await store.acquire(asking('good')))
    await write(new Keys(prefix, 'bad').row)
    const calls = [
      store.acquire(asking('bad')),
      store.acquire(asking('bad', { wake: () => {} })),
      store.acquire(asking('bad', { replace: 1 })),
      store.renew({ resource: 'bad', id: 'someone', ttl: 1000 }),
    ]
    for (const call of calls)
      expect(await failure(call)).toMatchObject({ code: 'store-failed', retryable: false })
    expect((await store.list({ limit: 10 })).leases.map((lease) => lease.id)).toEqual([good.id])
    expect(await store.sweep({ limit: 10 })).toEqual([])
    granted(await store.acquire(asking('other')))
  })
})

it('a malformed lease is skipped by list and sweep', async () => {
  await using opened = await openStore()
  const { store, prefix } = opened
  await store.acquire(asking('bad', { ttl: 20 }))
  const lapsed = granted(await store.acquire(asking('lapsed', { ttl: 20 })))
  const good = granted(await store.acquire(asking('good')))
  await admin.set(new Keys(prefix, 'bad').row, 'garbage')
  expect(await failure(store.read(['bad']))).toMatchObject({ code: 'store-failed' })
  await expect.poll(async () => (await store.list({ limit: 10 })).leases).toMatchObject([{ id: good.id }])
  await expect.poll(() => store.sweep({ limit: 10 })).toMatchObject([{ id: lapsed.id, state: 'expired' }])
})

it('a malformed message is skipped', async () => {
  await using opened = await openStore()
  const { store, prefix } = opened
  const seen: unknown[] = []
  await using _watch = await store.watch((event) => seen.push(event))
  for (const message of ['', 'held', 'held F 1 2 3', 'held F 1 1 1 1 1 c x {}', '{"json":true}'])
    await admin.publish(`${prefix}:changes`, message)
  granted(await store.acquire(asking('r')))
  await expect.poll(() => seen).toMatchObject([{ type: 'change', lease: { resource: 'r' } }])
})
