import { describe, expect, it, vi } from 'vitest'
import { createLeases } from '../../src/core/index.ts'
import { freshStore } from './file/fresh-store.ts'

vi.mock('node:fs', async (original) => ({
  ...(await original<typeof import('node:fs')>()),
  watch: () => {
    throw Object.assign(new Error('ENOSPC: System limit for number of file watchers reached'), {
      code: 'ENOSPC',
    })
  },
}))

const ask = (resource: string) => ({ resource, id: crypto.randomUUID(), owner: 'Mika', ttl: 30_000 })

describe('a file store that gets no watch from the system', () => {
  it('a file store that gets no watch from the system finds changes by reading the directory regularly', async () => {
    await using fresh = await freshStore()
    const { store, peer } = fresh
    const seen: string[] = []
    await peer.acquire(ask('before'))
    await using _ = await store.watch((event) => {
      seen.push(event.type === 'gap' ? 'gap' : `${event.lease.resource} ${event.lease.state}`)
    })
    const held = ask('r')
    await peer.acquire(held)
    await peer.release(held)
    await expect.poll(() => seen).toEqual(['r held', 'r released'])
  })

  it('tells of a gap when more changed between two reads than the directory still shows', async () => {
    await using fresh = await freshStore()
    const { store, peer } = fresh
    const seen: string[] = []
    await using _ = await store.watch((event) => {
      seen.push(event.type === 'gap' ? 'gap' : event.lease.state)
    })
    while (!seen.includes('gap')) {
      const held = ask('r')
      await peer.acquire(held)
      await peer.release(held)
    }
    await expect.poll(() => seen.at(-1)).toBe('released')
  })

  it('a file store that gets no watch from the system tells a holder of its loss', async () => {
    await using fresh = await freshStore()
    const { promise: isLost, resolve: lost } = Promise.withResolvers<void>()
    const answer = await fresh.store.acquire({ ...ask('r'), lost })
    await fresh.peer.release({ resource: 'r', token: answer.granted ? answer.lease.token : 0 })
    await isLost
  })

  it('a file store that gets no watch from the system wakes a waiter', async () => {
    await using fresh = await freshStore()
    const held = ask('r')
    await fresh.peer.acquire(held)
    await using leases = createLeases(fresh.store)
    const waiting = leases.acquire('r')
    await fresh.peer.release(held)
    expect((await waiting).held).toBe(true)
  })
})
