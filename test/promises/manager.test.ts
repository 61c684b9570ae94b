import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import { type Ask, createLeases } from '../../src/core/index.ts'
import { setUp } from './set-up.ts'

interface Person {
  readonly name: string
  readonly room?: { readonly floor: number }
}

describe('a manager', () => {
  it('a manager takes a promise of a store, and says so when that fails', async () => {
    const { clock, store } = setUp()
    const leases = createLeases(Promise.resolve(store), { clock })
    expect((await leases.acquire('r')).held).toBe(true)
    expect((await leases.inspect('r'))?.resource).toBe('r')
    const cause = new Error('no such server')
    const failing = createLeases(Promise.reject(cause), { clock })
    await expect(failing.acquire('r')).rejects.toMatchObject({ code: 'store-failed', cause })
  })

  it('a manager takes what a store adds to its answers for what it is', async () => {
    const { clock, store } = setUp()
    const newer = { ...store, acquire: async (ask: Ask) => ({ ...(await store.acquire(ask)), code: 7 }) }
    expect((await createLeases(newer, { clock }).acquire('r')).held).toBe(true)
  })

  it('lists and inspects, no matter who holds', async () => {
    const { leases, another } = setUp()
    await another().acquire('job:1')
    await leases.acquire('job:2')
    await leases.acquire('other')
    const { leases: jobs, next } = await leases.list({ prefix: 'job:' })
    expect(jobs.map(({ resource }) => resource)).toEqual(['job:1', 'job:2'])
    expect(next).toBeUndefined()
    expect(await leases.inspect('none')).toBeNull()
    expect(await leases.inspect('job:2')).toMatchObject({ owner: 'me', state: 'held' })
  })

  it('a manager collects the pages of a store that answers less than was asked for', async () => {
    const { leases, store } = setUp()
    for (const name of ['a', 'b', 'c']) await leases.acquire(name)
    const paged = createLeases({ ...store, list: (query) => store.list({ ...query, limit: 1 }) })
    const page = await paged.list()
    expect(page.leases.map(({ resource }) => resource)).toEqual(['a', 'b', 'c'])
    expect(page.next).toBeUndefined()
  })

  it('a manager lists a hundred unless told otherwise, and says where the next page begins', async () => {
    const { store, leases } = setUp()
    for (let n = 0; n < 250; n++)
      await store.acquire({ resource: `r${n}`, id: `${n}`, owner: 'x', ttl: 30_000 })
    const found: string[] = []
    const sizes: number[] = []
    let after: string | undefined
    do {
      const page = await leases.list({ after })
      found.push(...page.leases.map(({ resource }) => resource))
      sizes.push(page.leases.length)
      after = page.next
    } while (after)
    expect(sizes).toEqual([100, 100, 50])
    expect(new Set(found).size).toBe(250)
    const most = await leases.list({ limit: 240 })
    expect(most.leases).toHaveLength(240)
    expect((await leases.list({ after: most.next })).leases).toHaveLength(10)
    await expect(leases.list({ after: 5 as never })).rejects.toThrow(/^after: expected a string, got 5/)
  })

  it('a manager is owned by host:pid unless told otherwise', async () => {
    const leases = createLeases(setUp().store)
    expect((await leases.acquire('a')).owner).toBe(`${hostname()}:${process.pid}`)
    expect((await leases.acquire('c', { owner: 'Mika' })).owner).toBe('Mika')
    await leases.close()
  })

  it('a manager takes an option that is undefined as one that is not given', async () => {
    const { store } = setUp()
    const none = { owner: undefined, ttl: undefined, heartbeat: undefined, wait: undefined, retry: undefined }
    const leases = createLeases(store, { ...none, clock: undefined, onEvent: undefined })
    const lease = await leases.acquire('r', { ...none, metadata: undefined, signal: undefined })
    expect(lease).toMatchObject({
      held: true,
      owner: `${hostname()}:${process.pid}`,
      metadata: null,
    })
    await leases.close()
  })

  it('a manager shows metadata as it was when it asked', async () => {
    const { leases } = setUp()
    const metadata = { user: 'Mika' }
    const lease = await leases.acquire('r', { metadata })
    metadata.user = 'changed'
    expect(lease.metadata).toEqual({ user: 'Mika' })
  })

  it('a manager takes metadata of the type of an interface, and nothing that is not an object', async () => {
    const { leases } = setUp()
    const person: Person = { name: 'Mika', room: { floor: 3 } }
    const lease = await leases.acquire('r', { metadata: person })
    expect(lease.metadata).toEqual(person)
    // @ts-expect-error: an array
    await expect(leases.acquire('a', { metadata: [person] })).rejects.toThrow('metadata: expected')
    // @ts-expect-error: a date
    await expect(leases.acquire('a', { metadata: new Date(0) })).rejects.toThrow('metadata: expected')
    // @ts-expect-error: a function
    await expect(leases.acquire('a', { metadata: () => person })).rejects.toThrow('metadata: expected')
    // @ts-expect-error: a text
    await expect(leases.acquire('a', { metadata: 'Mika' })).rejects.toThrow('metadata: expected')
  })
})
