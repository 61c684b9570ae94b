import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LeaseError } from '../base/errors.ts'
import type { LeaseStore, StoreEvent } from '../core/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { followLeases, type LiveLeases } from './live-leases.ts'

const TTL_MS = 2000

describe('live leases', () => {
  let store: LeaseStore
  let reported: string[]
  let live: LiveLeases | undefined
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    })
    store = memoryStore()
    reported = []
  })
  afterEach(async () => {
    await live?.[Symbol.asyncDispose]()
    vi.useRealTimers()
  })

  const follow = async (from: LeaseStore = store) => {
    live = await followLeases(from, {
      prefix: '',
      onChange: ({ type, lease }) => reported.push(`${type} ${lease.resource}`),
      onGap: (error) => reported.push(`gap ${error?.code ?? ''}`),
    })
    return live
  }
  const take = (resource: string, id = resource) =>
    store.acquire({ resource, id, owner: 'mika', ttl: TTL_MS })

  it('live leases are reported, first those that are already held', async () => {
    await take('a')
    const { current } = await follow()
    expect(current.map(({ resource }) => resource)).toEqual(['a'])
    await take('b')
    vi.advanceTimersByTime(1)
    await store.renew({ resource: 'a', id: 'a', ttl: TTL_MS })
    await store.release({ resource: 'b', id: 'b' })
    expect(reported).toEqual(['held a', 'held b', 'renewed a', 'released b'])
  })

  it('live leases are several if several share a resource', async () => {
    const share = (id: string) => store.acquire({ resource: 'pool', id, owner: id, ttl: TTL_MS, share: 3 })
    await share('mika')
    const leases = await follow()
    await share('zoe')
    expect(leases.current.map(({ owner }) => owner)).toEqual(['mika', 'zoe'])
    await store.release({ resource: 'pool', id: 'mika' })
    expect(leases.current.map(({ owner }) => owner)).toEqual(['zoe'])
    expect(reported).toEqual(['held pool', 'held pool', 'released pool'])
  })

  it('live leases have less and less time left, and their expiry is reported once without a push', async () => {
    await take('a')
    const leases = await follow()
    vi.advanceTimersByTime(500)
    expect(leases.current[0]?.remaining).toBe(1500)
    await vi.advanceTimersByTimeAsync(3000)
    expect(leases.current).toEqual([])
    await store.sweep({ limit: 10 })
    expect(reported).toEqual(['held a', 'expired a'])
  })

  it('live leases are listed again after a gap', async () => {
    let emit: (event: StoreEvent) => void = () => {}
    const withoutPush: LeaseStore = {
      ...store,
      async watch(on) {
        emit = on
        return { async [Symbol.asyncDispose]() {} }
      },
    }
    await take('a')
    const leases = await follow(withoutPush)
    await store.release({ resource: 'a', id: 'a' })
    await take('b')
    emit({ type: 'gap' })
    await vi.advanceTimersByTimeAsync(1000)
    expect(leases.current.map(({ resource }) => resource)).toEqual(['b'])
    expect(reported).toEqual(['held a', 'gap ', 'held b', 'released a'])
  })

  it('live leases have a gap, which is reported once, while they cannot be listed', async () => {
    const { list } = store
    await follow(store)
    store.list = async () => {
      throw new LeaseError('store-unavailable', 'away')
    }
    await vi.advanceTimersByTimeAsync(62_000)
    expect(reported).toEqual(['gap store-unavailable'])
    store.list = list
    await take('a')
    await vi.advanceTimersByTimeAsync(1000)
    expect(reported).toEqual(['gap store-unavailable', 'held a'])
  })
})
