import { describe, expect, it } from 'vitest'
import { createLeases, type LeaseStore } from '../../src/core/index.ts'
import { setUp } from './set-up.ts'

/** The answer takes 800 ms. */
const SLOW = { delay: [400, 400] } as const

describe('a short wait', () => {
  it.each([0, 1, 10, 500])(
    'a short wait of %d ms is granted a free resource by a slow store',
    async (wait) => {
      const { clock, leases, network } = setUp()
      network.faults = SLOW
      const acquiring = leases.acquire('r', { wait }).catch((error) => error)
      await clock.advance(900)
      expect(await Promise.race([acquiring, 'still asking'])).toMatchObject({ held: true })
    },
  )

  it('a short wait ends as soon as a slow store refuses, and leaves the queue', async () => {
    const { clock, leases, store, network, another } = setUp()
    await another().acquire('r', { ttl: '1h', owner: 'Mika' })
    network.faults = SLOW
    const failure = leases.acquire('r', { wait: 10 }).catch((error) => error)
    await clock.advance(900)
    expect(await Promise.race([failure, 'still waiting'])).toMatchObject({
      code: 'lease-held',
      holder: { owner: 'Mika' },
    })
    await clock.advance(1000)
    expect(await store.waiting?.({ resources: ['r'], limit: 1 })).toEqual([{ count: 0, first: [] }])
  })

  it.each([
    { callTimeout: undefined, ends: 1000 },
    { callTimeout: 300, ends: 300 },
  ])(
    'asks a silent store for $ends ms if the call timeout is $callTimeout',
    async ({ callTimeout, ends }) => {
      const { clock, network } = setUp()
      const leases = createLeases(network, { clock, callTimeout })
      network.faults = { loseRequest: 1 }
      const failure = leases.acquire('r', { wait: 10 }).catch((error) => error)
      await clock.advance(ends - 1)
      expect(await Promise.race([failure, 'still asking'])).toBe('still asking')
      await clock.advance(2)
      expect(await Promise.race([failure, 'still asking'])).toMatchObject({ code: 'store-unavailable' })
    },
  )

  it('a short wait covers every call after the first one', async () => {
    const { clock, network } = setUp()
    const leases = createLeases(network, { clock, retry: () => 1 })
    network.faults = { failBefore: 1 }
    const failure = leases.acquire('r', { wait: 500 }).catch((error) => error)
    await clock.advance(400)
    network.faults = { loseRequest: 1 }
    await clock.advance(101)
    expect(await Promise.race([failure, 'still asking'])).toMatchObject({ code: 'store-unavailable' })
  })

  it('a short wait is granted by a store that takes a while to open', async () => {
    const { clock, store } = setUp()
    const coming = new Promise<LeaseStore>((resolve) => clock.setTimer(() => resolve(store), 900))
    const acquiring = createLeases(coming, { clock })
      .acquire('r', { wait: 10 })
      .catch((error) => error)
    await clock.advance(950)
    expect(await Promise.race([acquiring, 'still asking'])).toMatchObject({ held: true })
  })

  it('a short wait of several leases asks for each of them', async () => {
    const { clock, leases, network } = setUp()
    network.faults = SLOW
    const acquiring = leases.acquireAll(['a', 'b', 'c'], { wait: 10 }).catch((error) => error)
    await clock.advance(3 * 900)
    expect(await Promise.race([acquiring, 'still asking'])).toMatchObject({ held: true })
  })

  it('a short wait of several leases does not wait for the second when the first has used it up', async () => {
    const { clock, leases, store, network, another } = setUp()
    await another().acquire('b', { ttl: '1h' })
    network.faults = SLOW
    const failure = leases.acquireAll(['a', 'b', 'c'], { wait: 10 }).catch((error) => error)
    await clock.advance(3 * 900)
    expect(await Promise.race([failure, 'still waiting'])).toMatchObject({
      code: 'lease-held',
      resource: 'b',
    })
    expect(await store.read(['a', 'c'])).toEqual([[], []])
  })
})
