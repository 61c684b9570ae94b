import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { LeaseStore, StoreEvent } from '../core/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { LiveLeases } from './live-leases.ts'

const TTL_MS = 2000

describe('leases as they change', () => {
  let store: LeaseStore
  let told: string[]
  let live: LiveLeases | undefined
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    })
    store = memoryStore()
    told = []
  })
  afterEach(async () => {
    await live?.[Symbol.asyncDispose]()
    vi.useRealTimers()
  })

  const follow = async (from: LeaseStore = store) => {
    live = await LiveLeases.follow(
      from,
      '',
      ({ type, lease }) => told.push(`${type} ${lease.resource}`),
      (error) => told.push(String(error)),
    )
    return live
  }
  const take = (resource: string, id = resource) =>
    store.acquire({ resource, id, owner: 'mika', ttl: TTL_MS })

  it('are told from those that are held already on', async () => {
    await take('a')
    const { current } = await follow()
    expect(current.map(({ resource }) => resource)).toEqual(['a'])
    await take('b')
    await store.renew({ resource: 'a', id: 'a', ttl: TTL_MS })
    await store.release({ resource: 'b', id: 'b' })
    expect(told).toEqual(['held a', 'held b', 'renewed a', 'released b'])
  })

  it('have less and less time left, and expire once though nobody looks', async () => {
    await take('a')
    const leases = await follow()
    vi.advanceTimersByTime(500)
    expect(leases.current[0]?.remaining).toBe(1500)
    await vi.advanceTimersByTimeAsync(3000)
    expect(leases.current).toEqual([])
    await store.sweep({ limit: 10 })
    expect(told).toEqual(['held a', 'expired a'])
  })

  it('are read again after a gap', async () => {
    let tell: (event: StoreEvent) => void = () => {}
    const deaf: LeaseStore = {
      ...store,
      list: (query) => store.list(query),
      read: (resources) => store.read(resources),
      async watch(on) {
        tell = on
        return { async [Symbol.asyncDispose]() {} }
      },
    }
    await take('a')
    const leases = await follow(deaf)
    await store.release({ resource: 'a', id: 'a' })
    await take('b')
    tell({ type: 'gap' })
    await vi.advanceTimersByTimeAsync(1)
    expect(leases.current.map(({ resource }) => resource)).toEqual(['b'])
    expect(told).toEqual(['held a', 'held b', 'released a'])
  })
})
