import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../../../test/eventually.ts'
import { LEASE_TOKEN, serviceBed } from '../../../test/server/service-bed.ts'
import type { LeaseStore } from '../../core/index.ts'
import { memoryStore } from '../../stores/memory.ts'

const ASK = { owner: 'worker', ttl: 30_000 }

async function shownLocks(store: LeaseStore) {
  await using bed = await serviceBed({ store })
  const { body } = await bed.program(LEASE_TOKEN).call('GET', '/api/locks')
  return Object(body).locks as { readonly resource: string; readonly waiting: number | null }[]
}

describe('the list of locks', () => {
  it('counts those who wait in the store, whoever they are, with one call to it', async () => {
    const store = memoryStore()
    for (let n = 0; n < 50; n++) await store.acquire({ ...ASK, resource: `r${n}`, id: 'holder' })
    for (let n = 0; n < 30; n++) await store.acquire({ ...ASK, resource: 'r7', id: `${n}`, wake() {} })
    const waiting = vi.spyOn(store as Required<LeaseStore>, 'waiting')
    const locks = await shownLocks(store)
    expect(locks).toHaveLength(50)
    expect(locks.filter((lock) => lock.waiting !== 0)).toMatchObject([{ resource: 'r7', waiting: 30 }])
    expect(waiting).toHaveBeenCalledOnce()
  })

  it('is shown without the numbers if a queue cannot be read', async () => {
    const store = memoryStore()
    await store.acquire({ ...ASK, resource: 'r', id: 'holder' })
    vi.spyOn(store as Required<LeaseStore>, 'waiting').mockRejectedValue(new Error('damaged'))
    expect(await shownLocks(store)).toMatchObject([{ resource: 'r', waiting: null }])
  })
})

describe('a store without a queue', () => {
  it('leaves the numbers of leases open, and the nodes count the waiters of rooms', async () => {
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
