import { describe, expect, it } from 'vitest'
import { createLeases, type LeaseStore, type StoreEvent } from '../../src/core/index.ts'
import { setUp } from './set-up.ts'

describe('promise 4, waiting is woken', () => {
  it('a manager wakes the first waiter when the holder releases', async () => {
    const { clock, leases, another } = setUp()
    const holder = await another().acquire('r')
    let granted = false
    leases.acquire('r', { wait: Infinity }).then(() => {
      granted = true
    })
    await clock.advance(1000)
    await holder.release()
    await clock.advance(0)
    expect(granted).toBe(true)
  })

  it('a manager wakes the first waiter when the holder expires', async () => {
    const { clock, leases, store, events } = setUp()
    await store.acquire({ resource: 'r', id: 'dead', owner: 'dead', ttl: 4000 })
    const acquiring = leases.acquire('r')
    await clock.advance(3999)
    expect(events.some(({ type }) => type === 'acquired')).toBe(false)
    await clock.advance(1)
    expect((await acquiring).held).toBe(true)
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'expired', lease: expect.objectContaining({ owner: 'dead' }) }),
    )
  })

  it('a manager asks again when the store may have missed something', async () => {
    const { clock, store } = setUp()
    let tell: (event: StoreEvent) => void = () => {}
    const forgetful: LeaseStore = {
      ...store,
      supports: { ...store.supports, queue: false },
      async watch(on) {
        tell = on
        return { async [Symbol.asyncDispose]() {} }
      },
    }
    const holder = await createLeases(store, { clock }).acquire('r')
    const acquiring = createLeases(forgetful, { clock }).acquire('r', { wait: Infinity })
    await clock.advance(100)
    await holder.release()
    await clock.advance(100)
    expect(await Promise.race([acquiring, 'still waiting'])).toBe('still waiting')
    tell({ type: 'gap' })
    await clock.advance(0)
    expect((await acquiring).held).toBe(true)
  })

  it('a manager asks again with backoff when a store without a queue can tell nobody of changes', async () => {
    const { clock, store } = setUp()
    const { kind, supports, acquire, renew, release, close } = store
    const holding = { kind, supports: { ...supports, queue: false }, acquire, renew, release, close }
    const holder = await createLeases(store, { clock }).acquire('r')
    const acquiring = createLeases(holding, { clock }).acquire('r', { wait: Infinity })
    await clock.advance(100)
    await holder.release()
    await clock.advance(500)
    expect(await Promise.race([acquiring, 'still waiting'])).toMatchObject({ held: true })
  })

  it('a manager asks again by itself when the push was lost', async () => {
    const { clock, network, leases, another } = setUp()
    const holder = await another().acquire('r')
    network.faults = { losePush: 1 }
    const acquiring = leases.acquire('r', { wait: Infinity })
    await clock.advance(100)
    await holder.release()
    await clock.advance(5000)
    expect((await acquiring).held).toBe(true)
  })

  it('a manager asks the more rarely the longer the queue before it, so that thousands of waiters cost little', async () => {
    const { clock, store } = setUp()
    const asksWithin = async (place: number) => {
      let asks = 0
      const full: LeaseStore = {
        ...store,
        acquire: async () => {
          asks++
          return { granted: false, holders: [], place, retryIn: 3_600_000 }
        },
      }
      const leases = createLeases(full, { clock })
      void leases.acquire('r', { wait: Infinity }).catch(() => {})
      await clock.advance(60_000)
      await leases.close()
      return asks
    }
    expect(await asksWithin(0)).toBe(13)
    expect(await asksWithin(100)).toBe(5)
    expect(await asksWithin(10_000)).toBe(1)
  })

  it('a manager serves its waiters first in, first out', async () => {
    const { clock, leases } = setUp()
    const holder = await leases.acquire('r')
    const order: number[] = []
    const waiting = [0, 1, 2, 3].map((n) => leases.withLease('r', () => order.push(n)))
    await clock.advance(1000)
    await holder.release()
    await clock.advance(100)
    await Promise.all(waiting)
    expect(order).toEqual([0, 1, 2, 3])
  })

  describe('where the store keeps no queue', () => {
    it('a manager whose store keeps no queue serves its waiters first in, first out, and only the first asks', async () => {
      const { clock, leases, asks } = setUp({ queue: false })
      const holder = await leases.acquire('r')
      const order: number[] = []
      const waiting = [0, 1, 2, 3].map((n) => leases.withLease('r', () => order.push(n)))
      await clock.advance(1000)
      // One that was refused, and once more when the watch had begun.
      expect(asks()).toBe(1 + 2)
      await holder.release()
      await clock.advance(100)
      await Promise.all(waiting)
      expect(order).toEqual([0, 1, 2, 3])
    })

    it('a waiter of a manager whose store keeps no queue is woken by the push of another manager', async () => {
      const { clock, leases, another } = setUp({ queue: false })
      const holder = await another().acquire('r')
      let granted = false
      leases.acquire('r', { wait: Infinity }).then(() => {
        granted = true
      })
      await clock.advance(1000)
      await holder.release()
      await clock.advance(0)
      expect(granted).toBe(true)
    })

    it('asks by backoff where the store cannot push either', async () => {
      const { clock, leases, another, asks } = setUp({ queue: false, push: false })
      const holder = await another().acquire('r', { ttl: 60_000, heartbeat: false })
      const acquiring = leases.acquire('r', { wait: Infinity })
      await clock.advance(1000)
      const early = asks()
      expect(early).toBeGreaterThan(4)
      await clock.advance(10_000)
      expect(asks() - early).toBeLessThan(8)
      await holder.release()
      await clock.advance(2400)
      expect((await acquiring).held).toBe(true)
    })

    it('a manager whose store keeps no queue does not let tryAcquire overtake the queue', async () => {
      const { clock, leases, another } = setUp({ queue: false })
      await another().acquire('r', { owner: 'Mika' })
      const waiting = leases.acquire('r', { wait: 1000 }).catch(() => {})
      await clock.advance(100)
      await expect(leases.acquire('r', { wait: 0 })).rejects.toMatchObject({ holder: { owner: 'Mika' } })
      await clock.advance(1000)
      await waiting
    })
  })
})
