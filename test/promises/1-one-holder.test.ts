import { describe, expect, it } from 'vitest'
import { createLeases, type LeaseStore } from '../../src/core/index.ts'
import { setUp } from './set-up.ts'

describe('promise 1, one holder', () => {
  it('a manager grants a resource to one of two managers', async () => {
    const { leases, another } = setUp()
    const lease = await leases.acquire('r')
    expect(lease.held).toBe(true)
    expect(await another().tryAcquire('r')).toBeNull()
    await lease.release()
    expect(await another().tryAcquire('r')).not.toBeNull()
  })

  it('a lease is not re-entrant', async () => {
    const { leases } = setUp()
    await leases.acquire('r')
    expect(await leases.tryAcquire('r')).toBeNull()
  })

  it('a manager counts the deadline from before the request was sent', async () => {
    const { clock, network, leases } = setUp()
    network.faults = { delay: [1000, 1000] }
    const acquiring = leases.acquire('r', { ttl: 10_000, heartbeat: false })
    await clock.advance(2000)
    const lease = await acquiring
    await clock.advance(7790)
    expect(lease.held).toBe(true)
    await clock.advance(10)
    expect(lease.held).toBe(false)
  })

  it('a manager takes no grant whose answer comes after its deadline, and gives it back', async () => {
    const { clock, leases, store } = setUp()
    const slow: LeaseStore = {
      ...store,
      acquire: async (ask) => {
        const answer = await store.acquire(ask)
        clock.jump(980)
        return answer
      },
    }
    const asking = createLeases(slow, { clock }).tryAcquire('r', { ttl: 1000 })
    await expect(asking).rejects.toMatchObject({ code: 'store-unavailable', resource: 'r' })
    await clock.advance(0)
    expect(await leases.tryAcquire('r')).not.toBeNull()
  })

  it('ends with the wall clock when the monotonic clock stood still', async () => {
    const { clock, leases } = setUp()
    const lease = await leases.acquire('r', { ttl: 10_000 })
    clock.jump(9799)
    expect(lease.held).toBe(true)
    clock.jump(1)
    expect(lease.held).toBe(false)
    expect(lease.signal.reason).toMatchObject({ code: 'lease-lost' })
  })

  it('a manager does not mind a wall clock that is set back', async () => {
    const { clock, leases } = setUp()
    const lease = await leases.acquire('r', { ttl: 10_000, heartbeat: false })
    clock.jump(-3_600_000)
    await clock.advance(9797)
    expect(lease.held).toBe(true)
    await clock.advance(3)
    expect(lease.held).toBe(false)
  })

  it('a manager trusts no more time than the store granted', async () => {
    const { clock, store } = setUp()
    const stingy: LeaseStore = { ...store, acquire: (ask) => store.acquire({ ...ask, ttl: 1000 }) }
    const lease = await createLeases(stingy, { clock }).acquire('r', { ttl: 10_000, heartbeat: false })
    await clock.advance(980)
    expect(lease.held).toBe(false)
  })
})
