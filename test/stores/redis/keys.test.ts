import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, expect, it } from 'vitest'
import type { StoreEvent } from '../../../src/core/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { SHARDS } from '../../../src/stores/redis/names.ts'
import { asking, granted } from '../asking.ts'
import { freshPrefix, HOLDFAST_TEST_REDIS_URL, openStore } from './clients.ts'

const admin = new Redis(HOLDFAST_TEST_REDIS_URL)
afterAll(() => admin.disconnect())

async function keysOf(prefix: string): Promise<string[]> {
  return admin.keys(`${prefix}:*`)
}

async function indexSize(prefix: string): Promise<number> {
  const sizes = Array.from({ length: SHARDS }, (_, shard) => admin.zcard(`${prefix}:{${shard}}:lease`))
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

it('every key has the number of its shard as its hash tag, whatever the name contains', async () => {
  await using opened = await openStore()
  const { store, prefix } = opened
  for (const resource of ['{a}b', '}{', '{', '{}', 'a{}b', '{0}']) {
    granted(await store.acquire(asking(resource)))
    await store.acquire(asking(resource, { wake: () => {} }))
    granted(await store.acquire(asking(`shared ${resource}`, { share: 2 })))
  }
  const keys = await keysOf(prefix)
  expect(keys.filter((key) => key.includes(':line:'))).toHaveLength(6)
  expect(keys.filter((key) => key.includes(':shared:'))).toHaveLength(6)
  for (const key of keys) expect(key.slice(prefix.length)).toMatch(/^:\{\d+\}:(lease|line|shared|watched)/)
})

it('wake-ups and changes arrive whatever the prefix contains', async () => {
  const prefix = `${freshPrefix()} it's "quoted" \\ %s ]] 界`
  await using one = await openStore({ prefix })
  await using two = await openStore({ prefix })
  const seen: string[] = []
  await two.store.watch((event) => seen.push(event.type === 'gap' ? 'gap' : event.lease.state))
  const { id } = granted(await one.store.acquire(asking('r')))
  let woken = 0
  await two.store.acquire(asking('r', { wake: () => woken++ }))
  await one.store.release({ resource: 'r', id })
  await expect.poll(() => [woken > 0, ...seen]).toEqual([true, 'held', 'released'])
})

it('two prefixes do not affect each other', async () => {
  await using one = await openStore()
  await using two = await openStore({ prefix: `${one.prefix}:lease` })
  const seen: StoreEvent[] = []
  await using _watch = await two.store.watch((event) => seen.push(event))
  const lapsing = granted(await one.store.acquire(asking('r', { ttl: 20 })))
  const other = granted(await two.store.acquire(asking('r')))
  expect(other.id).not.toBe(lapsing.id)
  expect((await two.store.list({ limit: 10 })).leases.map(({ id }) => id)).toEqual([other.id])
  await expect.poll(() => one.store.read(['r'])).toEqual([[]])
  expect(await two.store.sweep({ limit: 10 })).toEqual([])
  expect(await one.store.sweep({ limit: 10 })).toMatchObject([{ id: lapsing.id }])
  await expect.poll(() => seen).toMatchObject([{ lease: { id: other.id } }])
})

it.each([
  ['ioredis', async (keyPrefix: string) => new Redis(HOLDFAST_TEST_REDIS_URL, { keyPrefix })],
  [
    'node-redis',
    async (keyPrefix: string) => createClient({ url: HOLDFAST_TEST_REDIS_URL, keyPrefix }).connect(),
  ],
] as const)('the store works on a client of %s with a key prefix', async (_, connect) => {
  const keyPrefix = `${freshPrefix()}:`
  const client = await connect(keyPrefix)
  const store = redisStore(client, { prefix: 'p' })
  const lapsing = granted(await store.acquire(asking('lapsing', { ttl: 20 })))
  const holder = granted(await store.acquire(asking('r')))
  const wakes: number[] = []
  await store.acquire(asking('r', { wake: (inMs) => wakes.push(inMs) }))
  expect((await keysOf(`${keyPrefix}p`)).length).toBeGreaterThan(3)
  await expect.poll(() => store.sweep({ limit: 10 })).toMatchObject([{ id: lapsing.id }])
  expect((await store.list({ limit: 10 })).leases).toMatchObject([{ id: holder.id }])
  await store.release({ resource: 'r', id: holder.id })
  await expect.poll(() => wakes).toContain(0)
  await store.close()
  if ('destroy' in client) client.destroy()
  else client.disconnect()
})

it('a sweep leaves only tokens', async () => {
  await using opened = await openStore()
  const { store, prefix } = opened
  for (let n = 0; n < 30; n++) {
    const { id } = granted(await store.acquire(asking(`r${n}`, { ttl: 10 })))
    if (n % 2) await store.release({ resource: `r${n}`, id })
  }
  const sweepAll = async () => {
    await store.sweep({ limit: 100 })
    return (await keysOf(prefix)).filter((key) => !key.endsWith(':lease'))
  }
  await expect.poll(sweepAll).toEqual([])
  const shards = (await keysOf(prefix)).length
  expect(await indexSize(prefix)).toBe(shards)
})

it('unused rows are deleted without a sweep, but not expired leases', async () => {
  await using opened = await openStore()
  const { store, prefix } = opened
  const lapsed = granted(await store.acquire(asking('lapsed', { ttl: 10 })))
  const rounds = 60
  const perRound = 100
  for (let round = 0; round < rounds; round++) {
    const names = Array.from({ length: perRound }, (_, n) => `round ${round} name ${n}`)
    const leases = names.map(async (name) => granted(await store.acquire(asking(name, { ttl: 10 }))))
    await Promise.all((await Promise.all(leases)).map(({ resource, id }) => store.release({ resource, id })))
  }
  const rows = (await indexSize(prefix)) / 2
  expect(rows).toBeLessThan((rounds * perRound) / 2)
  expect(await store.sweep({ limit: 10 })).toMatchObject([{ id: lapsed.id, state: 'expired' }])
})

it('list is ordered by bytes, also beyond the basic plane', async () => {
  await using opened = await openStore()
  const { store } = opened
  const names = ['a', 'é', '\u{e000}', '\u{fffd}', '\u{10000}', '🔒', '🔒a']
  for (const name of names.toReversed()) granted(await store.acquire(asking(name)))
  const found: string[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page = await store.list({ limit: 2, after })
    found.push(...page.leases.map(({ resource }) => resource))
    after = page.next
  }
  expect(found).toEqual(names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
})

it('list returns many leases in pages, also with free resources between them', async () => {
  await using opened = await openStore()
  const { store } = opened
  const names = Array.from({ length: 2000 }, (_, n) => `n${String(n).padStart(4, '0')}`)
  const leases = await Promise.all(names.map(async (name) => granted(await store.acquire(asking(name)))))
  const free = leases.filter((_, n) => n % 10 !== 0 && n < 1500)
  await Promise.all(free.map(({ resource, id }) => store.release({ resource, id })))
  const held = names.filter((_, n) => n % 10 === 0 || n >= 1500)
  const found: string[] = []
  let pages = 0
  for (let after: string | undefined = ''; after !== undefined; pages++) {
    const page = await store.list({ prefix: 'n', limit: 100, after })
    expect(page.leases.length).toBeGreaterThan(0)
    expect(page.leases.length).toBeLessThanOrEqual(100)
    found.push(...page.leases.map(({ resource }) => resource))
    after = page.next
  }
  expect(found).toEqual(held)
  expect(pages).toBeLessThan(25)
})
