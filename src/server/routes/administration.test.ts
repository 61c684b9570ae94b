import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../../../test/eventually.ts'
import { fakeSocket } from '../../../test/server/fake-socket.ts'
import { ADMIN_TOKEN, LEASE_TOKEN, serviceBed } from '../../../test/server/service-bed.ts'
import type { LeaseStore } from '../../core/index.ts'
import { memoryStore } from '../../stores/memory.ts'
import type { LockServerOptions } from '../index.ts'

const ASK = { owner: 'worker', ttl: 30_000 }

async function shownLocks(store: LeaseStore) {
  await using bed = await serviceBed({ store })
  const { body } = await bed.program(LEASE_TOKEN).call('GET', '/api/locks')
  return Object(body).locks as { readonly resource: string; readonly waiting: number | null }[]
}

describe('the list of locks', () => {
  it('the list of locks counts those who wait in the store, no matter who they are, with one call to it', async () => {
    const store = memoryStore()
    for (let n = 0; n < 50; n++) await store.acquire({ ...ASK, resource: `r${n}`, id: 'holder' })
    for (let n = 0; n < 30; n++) await store.acquire({ ...ASK, resource: 'r7', id: `${n}`, wake() {} })
    const waiting = vi.spyOn(store as Required<LeaseStore>, 'waiting')
    const locks = await shownLocks(store)
    expect(locks).toHaveLength(50)
    expect(locks.filter((lock) => lock.waiting !== 0)).toMatchObject([{ resource: 'r7', waiting: 30 }])
    expect(waiting).toHaveBeenCalledOnce()
  })

  it('the list of locks and the figures agree, also on leases of others in a store that cannot push', async () => {
    const store = memoryStore()
    Object.assign(store, { supports: { ...store.supports, push: false } })
    await store.acquire({ ...ASK, resource: 'before', id: 'a' })
    await using bed = await serviceBed({ store })
    for (let n = 0; n < 20; n++) await store.acquire({ ...ASK, resource: `r${n}`, id: 'a' })
    const program = bed.program(LEASE_TOKEN)
    await program.call('GET', '/api/locks')
    const { live, buckets } = Object((await program.call('GET', '/api/stats')).body)
    expect(live).toBe(21)
    expect(buckets.reduce((sum: number, { grants }: { grants: number }) => sum + grants, 0)).toBe(21)
  })

  it('the list of locks is shown without the numbers if a queue cannot be read', async () => {
    const store = memoryStore()
    await store.acquire({ ...ASK, resource: 'r', id: 'holder' })
    vi.spyOn(store as Required<LeaseStore>, 'waiting').mockRejectedValue(new Error('damaged'))
    expect(await shownLocks(store)).toMatchObject([{ resource: 'r', waiting: null }])
  })
})

describe('the people in view of a room', () => {
  it('the people in view of a room are shown to administrators, with the names of those who wait, and to nobody else', async () => {
    await using bed = await serviceBed()
    const [mika, jonas] = [bed.browser(), bed.browser()]
    await mika.call('POST', '/api/documents/minutes/lock', { name: 'Mika' })
    await jonas.call('GET', '/api/documents/minutes/lock')
    const waiting = jonas.call('POST', '/api/documents/minutes/lock?wait=30', { name: 'Jonas' })
    const aoi = fakeSocket(bed.server.channels, { key: 'holdfast' })
    await aoi.enter('presence-document.minutes', { user_id: 'aoi-1', user_info: { name: 'Aoi' } })
    const admin = bed.program(ADMIN_TOKEN)
    const read = (who: typeof admin) => who.call('GET', '/api/locks/document:minutes')
    const figures = (who: typeof admin) => who.call('GET', '/api/stats')
    const aoiShown = { name: 'Aoi', session_id: 'aoi-1' }
    await eventually(async () =>
      expect((await read(admin)).body).toMatchObject({ queue: [{ name: 'Jonas' }], viewers: [aoiShown] }),
    )
    expect((await figures(admin)).body).toMatchObject({
      viewed: [{ resource: 'document:minutes', count: 1, first: [aoiShown] }],
    })
    const program = bed.program(LEASE_TOKEN)
    const { body } = await read(program)
    expect(body).toMatchObject({ waiting: 1, viewers: [] })
    expect(JSON.stringify(body)).not.toMatch(/Jonas|Aoi/)
    expect((await figures(program)).body).toMatchObject({ viewed: [] })
    expect((await read(jonas)).status).toBe(403)
    await jonas.call('DELETE', '/api/documents/minutes/lock')
    await waiting
  })
})

describe('several leases of a resource', () => {
  it('several leases of a resource are shown with their shares, and each is counted, ended and recorded for itself', async () => {
    const changes: string[] = []
    const meter = {
      request() {},
      lease: (c: string) => changes.push(c),
      call() {},
      observe() {},
      text: vi.fn(),
    }
    await using bed = await serviceBed({ meter })
    const { store } = bed
    const program = bed.program(LEASE_TOKEN)
    const grab = (id: string, more: object) =>
      program.call('POST', '/api/leases/r', { id, owner: id, ttl: 30_000, ...more })
    const { lease: first } = Object((await grab('a', { share: 3 })).body)
    await grab('b', { share: 'unlimited' })
    await grab('b', { share: 'unlimited' })
    await grab('c', { wait: true })
    const holders = [
      { owner: 'a', share: 3 },
      { owner: 'b', share: 'unlimited' },
    ]
    expect((await program.call('GET', '/api/locks')).body).toMatchObject({
      locks: holders.map((holder) => ({ ...holder, waiting: 1 })),
    })
    expect((await program.call('GET', '/api/locks/r')).body).toMatchObject({
      lock: { owner: 'a' },
      holders,
      waiting: 1,
      queue: [{ owner: 'c', share: null, place: 0 }],
    })
    const admin = bed.program(ADMIN_TOKEN)
    expect((await admin.call('DELETE', `/api/locks/r?token=${first.token}`)).status).toBe(200)
    expect((await admin.call('DELETE', `/api/locks/r?token=${first.token}`)).status).toBe(404)
    expect((await store.read(['r']))[0]).toMatchObject([{ id: 'b' }])
    await program.call('DELETE', '/api/leases/r', { id: 'c' })
    await grab('d', { share: 'unlimited' })
    expect((await admin.call('DELETE', '/api/locks/r')).status).toBe(200)
    expect(await store.read(['r'])).toEqual([[]])
    const { body } = await admin.call('GET', '/api/audit')
    expect(body.entries.map((entry) => `${entry.action} ${Object(entry).owner}`)).toEqual([
      'force-release d',
      'force-release b',
      'force-release a',
    ])
    for (const id of ['e', 'f', 'g']) await grab(id, { share: 'unlimited' })
    const steal = { share: 'unlimited', replace: 'any' }
    await grab('thief', steal)
    await grab('h', { share: 'unlimited' })
    await grab('thief', steal)
    expect((await program.call('GET', '/api/stats')).body).toMatchObject({ live: 2 })
    const counts = Map.groupBy(changes, (change) => change)
    expect([...counts].map(([change, { length }]) => `${length} ${change}`)).toEqual([
      '8 granted',
      '3 released',
      '3 taken-over',
    ])
  })
})

describe('names in another form of Unicode', () => {
  it('are found by prefix, page and name, and are authorized in the form in which they are used', async () => {
    const asked: (string | undefined)[] = []
    const authorize: LockServerOptions['authorize'] = (_, action, resource) => {
      if (action === 'lease') asked.push(resource)
      return true
    }
    await using bed = await serviceBed({ authorize })
    const program = bed.program(LEASE_TOKEN)
    const [nfd, nfc] = [encodeURIComponent('cafe\u0301'), 'caf\u00e9']
    for (const n of [1, 2]) await bed.store.acquire({ ...ASK, resource: `${nfc}:${n}`, id: `${n}` })
    const shown = (n: number) => ({ resource: `${nfc}:${n}` })
    for (const path of ['locks', 'leases']) {
      const { body } = await program.call('GET', `/api/${path}?prefix=${nfd}&after=${nfd}%3A1`)
      expect(body).toMatchObject({ [path]: [shown(2)] })
    }
    asked.length = 0
    const { body } = await program.call('GET', `/api/leases?resource=${nfd}%3A1`)
    expect([body, new Set(asked)]).toMatchObject([{ leases: [shown(1)] }, new Set([`${nfc}:1`])])
  })
})

describe('a resource that is only kept', () => {
  it('a resource that is only kept is listed with its last owner, the time left and its waiters, and is freed by force', async () => {
    await using bed = await serviceBed()
    const program = bed.program(LEASE_TOKEN)
    const ask = { ...ASK, id: 'a', atLeast: 60_000 }
    await program.call('POST', '/api/leases/job', ask)
    await program.call('DELETE', '/api/leases/job', { id: 'a' })
    await program.call('POST', '/api/leases/job', { ...ASK, id: 'b', owner: 'next', wait: true })
    await bed.clock.advance(10_000)
    const kept = { resource: 'job', owner: 'worker', state: 'kept', remaining: 50_000 }
    expect((await program.call('GET', '/api/locks')).body).toMatchObject({ locks: [{ ...kept, waiting: 1 }] })
    expect((await program.call('GET', '/api/locks/job')).body).toMatchObject({
      lock: kept,
      holders: [kept],
      waiting: 1,
      queue: [{ owner: 'next' }],
    })
    expect((await program.call('GET', '/api/leases/job')).body).toMatchObject({
      leases: [kept],
      holders: [[kept]],
    })
    expect((await program.call('GET', '/api/leases')).body).toMatchObject({ leases: [kept] })
    const { body } = await program.call('GET', '/api/stats')
    expect(body).toMatchObject({ live: 0, kept: 1, waiters: 1, queues: [{ resource: 'job', waiting: 1 }] })
    const renewal = await program.call('PUT', '/api/leases/job', { id: 'a', ttl: 30_000 })
    expect([renewal.status, Object(renewal.body).holders]).toEqual([409, []])
    const admin = bed.program(ADMIN_TOKEN)
    expect((await admin.call('DELETE', '/api/locks/job')).status).toBe(200)
    expect((await admin.call('DELETE', '/api/locks/job')).status).toBe(404)
    expect((await program.call('GET', '/api/locks')).body).toEqual({ locks: [] })
  })

  it('a resource that is only kept has no holder as a room', async () => {
    await using bed = await serviceBed()
    const admin = bed.program(ADMIN_TOKEN)
    await admin.call('POST', '/api/leases/document:room', { ...ASK, id: 'a', atLeast: 60_000 })
    await admin.call('DELETE', '/api/leases/document:room', { id: 'a' })
    expect(await bed.store.read(['document:room'])).toMatchObject([[{ state: 'kept' }]])
    expect((await bed.browser('a').call('GET', '/api/documents/room/lock')).body).toMatchObject({
      is_locked: false,
    })
  })
})

describe('a store without shared leases', () => {
  it('a store without shared leases is named in the refusal of each field that it lacks', async () => {
    const { supports, ...rest } = memoryStore()
    await using bed = await serviceBed({ store: { ...rest, supports: { ...supports, share: false } } })
    const program = bed.program(LEASE_TOKEN)
    for (const more of [{ share: 2 }, { atLeast: 5 }, { lockDelay: 5 }, { replace: 'any' }]) {
      const { status, body } = await program.call('POST', '/api/leases/r', { ...ASK, id: 'a', ...more })
      expect([status, body.error]).toEqual([400, 'share_unsupported'])
      expect(body.message).toContain('share: the store of this server (memory)')
    }
    expect((await program.call('POST', '/api/leases/r', { ...ASK, id: 'a' })).status).toBe(200)
  })
})

describe('a store without a queue', () => {
  it('a store without a queue leaves the numbers of leases open, and the nodes count the waiters of rooms', async () => {
    const { waiting: _, ...rest } = memoryStore()
    const store = { ...rest, supports: { ...rest.supports, queue: false } }
    await using bed = await serviceBed({ store })
    const program = bed.program(LEASE_TOKEN)
    await store.acquire({ ...ASK, resource: 'job', id: 'holder' })
    await bed.browser('a').call('POST', '/api/documents/room/lock')
    const waits = bed.browser('b').call('POST', '/api/documents/room/lock?wait=30')
    await eventually(async () => {
      const { body } = await program.call('GET', '/api/locks/document:room')
      expect(body).toMatchObject({ waiting: 1, queue: [{ place: 0, owner: expect.any(String) }] })
    })
    expect((await program.call('GET', '/api/locks')).body).toMatchObject({
      locks: [
        { resource: 'document:room', waiting: 1 },
        { resource: 'job', waiting: null },
      ],
    })
    const refused = await program.call('GET', '/api/leases/job?waiting=5')
    expect([refused.status, refused.body.error]).toEqual([400, 'no_queue'])
    await bed.clock.advance(31_000)
    await waits
  })
})
