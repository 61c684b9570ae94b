import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLeases, type LeaseEvent, type LeaseStore } from '../../../src/core/index.ts'
import { asking } from '../asking.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env
const CONNECTIONS = 2

let bed: Bed
let store: LeaseStore
/** Takes every connection of the pool. Resolves with a function that returns them. */
let occupyPool: () => Promise<() => void>

beforeEach(async () => {
  bed = await makeBed(url)
  const pool = bed.pool({ max: CONNECTIONS })
  store = bed.storeOn(pool)
  occupyPool = async () => {
    const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => pool.connect()))
    return () => {
      for (const client of clients) client.release()
    }
  }
})
afterEach(() => bed[Symbol.asyncDispose]())

describe('leases whose owners use every connection of the pool', () => {
  it('leases whose owners use every connection of the pool are renewed and released all the same', async () => {
    const leases = createLeases(store)
    const held = await Promise.all(['a', 'b', 'c'].map((name) => leases.acquire(name, { heartbeat: false })))
    // Resolves when the store has a connection of its own, for what must not wait for the pool.
    await using _watch = await store.watch(() => {})
    const freePool = await occupyPool()
    const before = held.map(({ expiresAt }) => expiresAt)
    await Promise.all(held.map((lease) => lease.renew()))
    expect(held.every(({ expiresAt }, n) => (expiresAt ?? 0) >= (before[n] ?? 0))).toBe(true)
    await Promise.all(held.map((lease) => lease.release()))
    freePool()
    expect(await store.read(['a', 'b', 'c'])).toEqual([[], [], []])
    await leases.close()
  })
})

describe('a burst of acquisitions', () => {
  it('a burst of acquisitions has as many requests in flight as the pool has connections, and each is sent once', async () => {
    const events: LeaseEvent[] = []
    const leases = createLeases(store, { wait: Infinity, onEvent: (event) => events.push(event) })
    await store.read([])
    const freePool = await occupyPool()
    const names = Array.from({ length: 50 }, (_, n) => `burst ${n}`)
    const acquiring = names.map((name) => leases.acquire(name))
    expect(store.load).toMatchObject({ inFlight: CONNECTIONS, queued: 50 - CONNECTIONS })
    freePool()
    await Promise.all(acquiring)
    expect(events.filter(({ type }) => type === 'attempt')).toHaveLength(50)
    expect(events.filter((event) => event.type === 'waiting').map(({ reason }) => reason)).toEqual(
      Array.from({ length: 50 - CONNECTIONS }, () => 'store-busy'),
    )
    expect(store.load).toMatchObject({ inFlight: 0, queued: 0, callTime: expect.any(Number) })
    await leases.close()
  })
})

describe('a release that overtakes its acquire request', () => {
  it('a release that overtakes its acquire request leaves no lease behind', async () => {
    const leases = createLeases(store)
    const holder = await leases.acquire('other')
    // Resolves when the store has a connection of its own, for what must not wait for the pool.
    await using _watch = await store.watch(() => {})
    const freePool = await occupyPool()
    const ask = asking('r')
    const caller = new AbortController()
    const aborted = store.acquire(ask, { signal: caller.signal }).catch((error) => error.code)
    caller.abort()
    expect(await aborted).toBe('aborted')
    // The request still waits in the pool. The release takes the store's own connection, and ends after the request.
    const released = store.release({ resource: 'r', id: ask.id })
    freePool()
    await released
    await expect.poll(() => store.load?.inFlight).toBe(0)
    await expect.poll(() => store.read(['r'])).toEqual([[]])
    await holder.release()
    await leases.close()
  })
})
