/** Processes of the version before shared leases use the same keys, while a system is upgraded. */
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { afterAll, expect, it } from 'vitest'
import { Keys } from '../../../src/stores/redis/names.ts'
import { asking, granted } from '../asking.ts'
import { freshPrefix, HOLDFAST_TEST_REDIS_URL, openStore } from './clients.ts'

const admin = new Redis(HOLDFAST_TEST_REDIS_URL)
afterAll(() => admin.disconnect())

const SCRIPT = readFileSync(new URL('version-1.lua', import.meta.url), 'utf8')
const NOT_A_LEASE = 'the value is not a lease'

/** Runs an operation as the previous version does. */
async function previously(prefix: string, ...args: string[]): Promise<string> {
  const { row, watched, queue, index } = new Keys(prefix, 'r')
  const script = `local PREFIX = "${prefix}"\n${SCRIPT}`
  return String(await admin.eval(script, 4, row, watched, queue, index, ...args))
}

const lease = (id: string) => `60000000 old ${id} {"resource":"r","id":"${id}","owner":"old"}`
const acquisition = (id: string, waits = false) => ['acquire', lease(id), waits ? '"old"' : '', '']

it('a store of version 1 grants nothing beside shared leases, and ends none of them', async () => {
  await using opened = await openStore()
  const { store, prefix } = opened
  const leases = [
    granted(await store.acquire(asking('r', { share: 2 }))),
    granted(await store.acquire(asking('r', { share: 2 }))),
  ]
  const row = await admin.get(new Keys(prefix, 'r').row)
  const { token = 0, id = '' } = leases[1] ?? {}
  const due = row?.split(' ')[2] ?? ''
  for (const args of [
    acquisition('other'),
    acquisition('other', true),
    ['acquire', lease('other'), '', String(token)],
    ['renew', id, '60000000'],
    ['release', `old ${id}`],
    ['force', String(token)],
    ['expire', due, 'sweep'],
  ])
    await expect(previously(prefix, ...args)).rejects.toThrow(NOT_A_LEASE)
  expect(await admin.get(new Keys(prefix, 'r').row)).toBe(row)
  expect((await store.read(['r']))[0]).toMatchObject(leases.map(({ token }) => ({ token })))
})

it('a store of version 1 may take the resource when the last shared lease was released', async () => {
  await using opened = await openStore()
  const { store, prefix } = opened
  const { id, token } = granted(await store.acquire(asking('r', { share: 2 })))
  await store.release({ resource: 'r', id })
  expect(await admin.exists(new Keys(prefix, 'r').shared)).toBe(0)
  expect(await previously(prefix, ...acquisition('old'))).toMatch(/ (fresh|granted)/)
  const [[old] = []] = await store.read(['r'])
  expect(old).toMatchObject({ id: 'old', share: null })
  expect(old?.token).toBeGreaterThan(token)
})

it('a store of version 1 waits in one queue with this version for exclusive leases', async () => {
  const prefix = freshPrefix()
  await using opened = await openStore({ prefix })
  const { store } = opened
  const first = granted(await store.acquire(asking('r')))
  const listener = new Redis(HOLDFAST_TEST_REDIS_URL)
  const heard: string[] = []
  listener.on('message', (_, message) => heard.push(message))
  await listener.subscribe(`${prefix}:wake:old`)
  expect(await previously(prefix, ...acquisition('old', true))).toContain('refused')
  const wakes: number[] = []
  const reader = asking('r', { share: Infinity, wake: (inMs) => wakes.push(inMs) })
  expect(await store.acquire(reader)).toMatchObject({ place: 1 })
  await store.release({ resource: 'r', id: first.id })
  await expect.poll(() => heard).toEqual(['wake 0 old'])
  expect(await previously(prefix, ...acquisition('old', true))).toContain('granted')
  expect(await previously(prefix, 'end', 'old old')).toContain('released')
  await expect.poll(() => wakes).toContain(0)
  expect(granted(await store.acquire(reader))).toMatchObject({ share: Infinity })
  listener.disconnect()
})
