import { describe, expect, it } from 'vitest'
import { createLeases, type LeaseStore } from '../../src/core/index.ts'
import type { FakeClock } from '../../src/testing/index.ts'
import { setUp } from './set-up.ts'

describe('promise 3, nothing hangs', () => {
  it('a manager ends a wait when its time is over', async () => {
    const { clock, leases, another } = setUp()
    await another().acquire('r', { owner: 'Mika' })
    const acquiring = leases.acquire('r', { wait: 2500 })
    const failure = acquiring.catch((error) => error)
    await clock.advance(2499)
    expect(await Promise.race([failure, 'still waiting'])).toBe('still waiting')
    await clock.advance(1)
    expect(await failure).toMatchObject({ code: 'lease-held', holder: { owner: 'Mika' } })
  })

  it('a manager waits ten seconds unless told otherwise', async () => {
    const { clock, leases, another } = setUp()
    await another().acquire('r', { ttl: 60_000 })
    const failure = leases.acquire('r').catch((error) => error)
    await clock.advance(9999)
    expect(await Promise.race([failure, 'still waiting'])).toBe('still waiting')
    await clock.advance(1)
    expect(await failure).toMatchObject({ code: 'lease-held' })
  })

  it('a manager counts the time that a store takes to come as waited', async () => {
    const { clock, store, another } = setUp()
    await another().acquire('r', { ttl: 60_000 })
    const waitFor = (coming: Promise<LeaseStore>) =>
      createLeases(coming, { clock })
        .acquire('r', { wait: 200 })
        .catch((error) => error.code)
    const late = new Promise<LeaseStore>((resolve) => clock.setTimer(() => resolve(store), 150))
    const outcome = waitFor(late)
    await clock.advance(201)
    expect(await Promise.race([outcome, 'still waiting'])).toBe('lease-held')
  })

  it('a manager gives a store that never comes a second, however short the wait is', async () => {
    const { clock } = setUp()
    const failure = createLeases(new Promise<LeaseStore>(() => {}), { clock })
      .acquire('r', { wait: 200 })
      .catch((error) => error)
    await clock.advance(999)
    expect(await Promise.race([failure, 'still waiting'])).toBe('still waiting')
    await clock.advance(2)
    expect(await Promise.race([failure, 'still waiting'])).toMatchObject({ code: 'store-unavailable' })
  })

  it('asks for `callTimeout`, however short the TTL is', async () => {
    const { clock, network } = setUp()
    const leases = createLeases(network, { clock, callTimeout: '2s' })
    network.faults = { loseRequest: 1 }
    const failure = leases.tryAcquire('r', { ttl: 300 }).catch((error) => error)
    await clock.advance(1999)
    expect(await Promise.race([failure, 'still asking'])).toBe('still asking')
    await clock.advance(1)
    expect(await Promise.race([failure, 'still asking'])).toMatchObject({ code: 'store-unavailable' })
  })

  it('a manager takes a refusal that comes after the TTL of the request for a refusal', async () => {
    const { clock, network, leases, another } = setUp()
    await another().acquire('r', { ttl: '1h' })
    network.faults = { delay: [1000, 1000] }
    const refused = leases.tryAcquire('r', { ttl: 300 })
    await clock.advance(2000)
    expect(await Promise.race([refused, 'still asking'])).toBeNull()
  })

  it('a manager releases a grant that comes after the TTL of the request', async () => {
    const { clock, store, network, leases } = setUp()
    network.faults = { delay: [1000, 1000] }
    const late = leases.tryAcquire('r', { ttl: 1900 }).catch((error) => error)
    await clock.advance(1999)
    expect(await store.read(['r'])).toMatchObject([[{ state: 'held' }]])
    network.faults = {}
    await clock.advance(1)
    expect(await late).toMatchObject({ code: 'store-unavailable' })
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('tries to release no longer than the lease lives', async () => {
    const { clock, network, leases } = setUp()
    const lease = await leases.acquire('r', { ttl: 300 })
    network.faults = { loseRequest: 1 }
    const failure = lease.release().catch((error) => error)
    await clock.advance(300)
    expect(await Promise.race([failure, 'still trying'])).toMatchObject({ code: 'store-unavailable' })
  })

  it.each([Number.NaN, undefined, -1])(
    'promise 3, nothing hangs gives up when `retry` says %s',
    async (pause) => {
      const { clock, leases, another, asks } = setUp({ queue: false, push: false })
      await another().acquire('r')
      const waiting = leases.acquire('r', { retry: () => pause as number }).catch((error) => error)
      await clock.advance(0)
      expect(await Promise.race([waiting, 'still waiting'])).toMatchObject({ code: 'lease-held' })
      expect(asks()).toBe(1)
    },
  )

  it('a manager leaves no place in the queue and no timer behind', async () => {
    const { clock, leases, another, store } = setUp()
    const holder = await another().acquire('r', { heartbeat: false, ttl: 60_000 })
    const timers = clock.pending
    await settle(clock, leases.acquire('r', { wait: 100 }), 200)
    expect(clock.pending).toBe(timers)
    await holder.release()
    const newcomer = { resource: 'r', id: 'newcomer', owner: 'x', ttl: 1000 }
    expect(await store.acquire(newcomer)).toMatchObject({ granted: true })
  })

  it('a manager ends every call to a store that never answers', async () => {
    const { clock, network, leases } = setUp()
    const lease = await leases.acquire('held')
    network.faults = { loseRequest: 1 }
    const calls = {
      acquire: leases.acquire('r', { wait: 3000 }),
      tryAcquire: leases.tryAcquire('r'),
      withLease: leases.withLease('r', () => {}, { wait: 3000 }),
      inspect: leases.inspect('r'),
      list: leases.list(),
      renew: lease.renew(),
      release: lease.release(),
    }
    const outcomes = Promise.all(Object.values(calls).map((call) => call.catch((error) => error.code)))
    await clock.advance(6000)
    expect(await outcomes).toEqual(Array(7).fill('store-unavailable'))
  })

  it('a manager ends a wait when the caller aborts', async () => {
    const { clock, leases, another } = setUp()
    await another().acquire('r')
    const stop = new AbortController()
    const acquiring = leases.acquire('r', { wait: Infinity, signal: stop.signal }).catch((error) => error)
    await clock.advance(50_000)
    stop.abort('enough')
    expect(await acquiring).toMatchObject({ code: 'aborted', cause: 'enough' })
    await expect(leases.acquire('r', { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    })
  })

  it('closes: ends every wait and releases what is held', async () => {
    const { clock, leases, another, store, network } = setUp()
    await leases.acquire('mine')
    await another().acquire('theirs')
    const waiting = leases.acquire('theirs', { wait: Infinity }).catch((error) => error)
    await clock.advance(0)
    network.faults = { loseAnswer: 1 }
    const reading = [leases.inspect('theirs'), leases.list()].map((call) => call.catch((error) => error))
    await clock.advance(0)
    network.faults = {}
    await leases.close()
    for (const ended of [waiting, ...reading]) expect(await ended).toMatchObject({ code: 'closed' })
    expect((await store.list({ limit: 10 })).leases.map(({ resource }) => resource)).toEqual(['theirs'])
    await expect(leases.acquire('r')).rejects.toMatchObject({ code: 'closed' })
    await expect(leases.inspect('r')).rejects.toMatchObject({ code: 'closed' })
    await leases.close()
  })

  it('a manager tells the work before it gives its lease away', async () => {
    const { clock, leases, store } = setUp()
    let told: unknown
    const working = leases.withLease('r', async (lease) => {
      lease.signal.addEventListener('abort', async () => {
        told = [lease.signal.reason.code, (await store.read(['r']))[0]?.[0]?.id === lease.id]
      })
      await new Promise((resolve) => clock.setTimer(resolve as () => void, 1000))
      return 'saved'
    })
    const outcome = working.catch((error) => error.code)
    await clock.advance(10)
    const closing = leases.close()
    await clock.advance(1000)
    await closing
    expect(told).toEqual(['closed', true])
    expect(await outcome).toBe('saved')
  })

  it('a manager closes within its limit when the store is gone', async () => {
    const { clock, network, leases } = setUp()
    await leases.acquire('r')
    network.faults = { loseRequest: 1 }
    const closing = leases.close().then(() => 'closed')
    await clock.advance(6000)
    expect(await Promise.race([closing, 'still closing'])).toBe('closed')
  })

  it('a manager gives back a lease that is granted while the manager closes', async () => {
    const { clock, network, leases, store } = setUp()
    network.faults = { delay: [10, 10] }
    const acquiring = leases.acquire('r').catch((error) => error)
    await clock.advance(15)
    const closing = leases.close()
    await clock.advance(100)
    await closing
    expect(await acquiring).toMatchObject({ code: 'closed' })
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('a manager closes on all who renew', async () => {
    const { leases, network } = setUp()
    const lease = await leases.acquire('r')
    network.faults = { loseRequest: 1 }
    const renewing = [lease.renew(), lease.renew()].map((call) => call.catch((error) => error.code))
    network.faults = {}
    await leases.close()
    expect(await Promise.all(renewing)).toEqual(['closed', 'closed'])
  })

  it('a manager keeps no lease that is asked for by whom a close tells', async () => {
    const { leases, store } = setUp()
    const lease = await leases.acquire('r')
    let next: Promise<unknown> | undefined
    lease.signal.addEventListener('abort', () => {
      next = leases.acquire('next').catch((error) => error.code)
    })
    await leases.close()
    expect(await next).toBe('closed')
    expect((await store.list({ limit: 10 })).leases).toEqual([])
  })

  it('a manager asks a store that came in the last moment of the wait for a second', async () => {
    const { clock, network } = setUp()
    network.faults = { loseRequest: 1 }
    const late = new Promise<typeof network>((resolve) => clock.setTimer(() => resolve(network), 99.5))
    let ended = false
    const acquiring = createLeases(late, { clock }).acquire('r', { wait: 100 })
    acquiring.catch(() => (ended = true))
    await clock.advance(1099)
    expect(ended).toBe(false)
    await clock.advance(2)
    expect(ended).toBe(true)
  })

  it('a manager gives back a lease that is asked for at the moment of a close by a listener', async () => {
    const { clock, network, leases, store } = setUp()
    network.faults = { delay: [10, 10] }
    const order: string[] = []
    const { release } = network
    network.release = async (by) => {
      const released = await release(by)
      order.push('given back')
      return released
    }
    leases.subscribe(({ type }) => {
      if (type === 'attempt') leases.close().then(() => order.push('closed'))
    })
    const acquiring = leases.acquire('r').catch((error) => error)
    await clock.advance(100)
    expect(await acquiring).toMatchObject({ code: 'closed' })
    // Once when the wait ends, and once more when the grant has come after all.
    expect(order).toEqual(['given back', 'given back', 'closed'])
    expect(await store.read(['r'])).toEqual([[]])
  })
})

async function settle(clock: FakeClock, work: Promise<unknown>, ms: number): Promise<void> {
  const settled = work.catch(() => {})
  await clock.advance(ms)
  await settled
}
