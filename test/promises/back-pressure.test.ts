import { describe, expect, it } from 'vitest'
import { asLeaseError, LeaseError } from '../../src/base/errors.ts'
import { createLeases, type LeaseEvent, type LeaseStore } from '../../src/core/index.ts'
import type { Running } from '../../src/stores/local/calls.ts'
import { StoreCalls } from '../../src/stores/local/store-calls.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { FakeClock } from '../../src/testing/index.ts'

/** A manager on a store that sends one acquire request at a time. Each takes `takesMs`. */
function setUp(takesMs: number) {
  const clock = new FakeClock()
  const memory = memoryStore({ clock })
  const calls = new StoreCalls({ backend: 'Toy', explain: asLeaseError, clock, maxInFlight: 1 })
  const sent: string[] = []
  const released: string[] = []
  const store: LeaseStore = {
    ...memory,
    acquire: (ask, call) => {
      const work = async () => {
        sent.push(ask.resource)
        await new Promise<void>((resolve) => clock.setTimer(resolve, takesMs))
        return memory.acquire(ask)
      }
      return calls.acquire(ask, work, call)
    },
    release: (by, call) => {
      released.push(by.resource)
      return calls.release(by, () => memory.release(by), call)
    },
  }
  const events: LeaseEvent[] = []
  const leases = createLeases(store, { clock, onEvent: (event) => events.push(event) })
  return { clock, memory, leases, sent, released, events }
}

describe('a request for which the store is too busy', () => {
  it('waits in the process longer than a call may take, and is sent once', async () => {
    const { clock, leases, sent, events } = setUp(3000)
    const acquiring = ['a', 'b', 'c'].map((name) => leases.acquire(name, { wait: 10_000 }))
    await clock.advance(9000)
    expect((await Promise.all(acquiring)).map(({ held }) => held)).toEqual([true, true, true])
    expect(sent).toEqual(['a', 'b', 'c'])
    expect(events.filter(({ type }) => type === 'error')).toEqual([])
  })

  it('a request for which the store is too busy gets a lease that counts from when it was sent', async () => {
    const { clock, leases } = setUp(500)
    void leases.acquire('a')
    const acquiring = leases.acquire('b', { ttl: 800, heartbeat: false })
    await clock.advance(1000)
    const lease = await acquiring
    expect(lease.held).toBe(true)
    // It was sent after 500 ms. Counted from the answer, it would be held 800 ms longer than the store keeps it.
    await clock.advance(500 + 800 * 0.98 - 1000)
    expect(lease.held).toBe(false)
  })

  it('a request for which the store is too busy reports why it waits', async () => {
    const { clock, memory, leases, events } = setUp(500)
    await memory.acquire({ resource: 'b', id: 'other', owner: 'Mika', ttl: 60_000 })
    void leases.acquire('a')
    const failure = leases.acquire('b', { wait: 3000 }).catch((error) => error)
    await clock.advance(3000)
    expect(await failure).toMatchObject({ code: 'lease-held' })
    expect(events.filter(({ type }) => type === 'waiting')).toMatchObject([
      { resource: 'b', reason: 'store-busy', holder: null, place: null },
      { resource: 'b', reason: 'held', holder: { owner: 'Mika' } },
    ])
  })

  it('ends with its wait. It is not sent, and nothing is released', async () => {
    const { clock, leases, sent, released } = setUp(4000)
    void leases.acquire('a')
    const failure = leases.acquire('b', { wait: 1000 }).catch((error) => error)
    await clock.advance(1000)
    expect(await failure).toMatchObject({
      code: 'store-unavailable',
      message: expect.stringContaining('the store is busy: not sent within 1000 ms'),
    })
    await clock.advance(10_000)
    expect(sent).toEqual(['a'])
    expect(released).toEqual([])
  })

  it('waits for its turn also if it asks only once', async () => {
    const { clock, leases } = setUp(3000)
    const acquiring = ['a', 'b', 'c'].map((name) => leases.tryAcquire(name))
    await clock.advance(9000)
    expect((await Promise.all(acquiring)).map((lease) => lease?.held)).toEqual([true, true, true])
  })
})

describe('a timer', () => {
  it('a timer never gets a negative time, also if a pause before it took too long', async () => {
    const clock = new FakeClock()
    const memory = memoryStore({ clock })
    const times: number[] = []
    const late = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      random: () => 0.5,
      setTimer(run: () => void, ms: number) {
        times.push(ms)
        return clock.setTimer(run, ms + 5)
      },
    }
    const release = async () => {
      throw new LeaseError('store-unavailable', 'no answer')
    }
    const leases = createLeases({ ...memory, release }, { clock: late, retry: () => 98 })
    const lease = await leases.acquire('r', { ttl: 100, heartbeat: false })
    const failure = lease.release().catch((error) => error.message)
    await clock.advance(1000)
    expect(await failure).toBe('no answer')
    expect(times.filter((ms) => ms < 0)).toEqual([])
  })
})

describe('a renewal or release that waits in this process', () => {
  /** A store whose renewals and releases leave when `leave` is called. */
  function setUpWaiting(takesMs: number) {
    const clock = new FakeClock()
    const memory = memoryStore({ clock })
    const calls = new StoreCalls({ backend: 'Toy', explain: asLeaseError, clock })
    const { promise: left, resolve: leave } = Promise.withResolvers<void>()
    const later =
      <T>(work: () => Promise<T>) =>
      async (running: Running) => {
        running.hold()
        await left
        running.leave(clock.monotonic())
        await new Promise<void>((resolve) => clock.setTimer(resolve, takesMs))
        return work()
      }
    const store: LeaseStore = {
      ...memory,
      renew: (ask, call) =>
        calls.run(
          later(() => memory.renew(ask)),
          call,
        ),
      release: (by, call) =>
        calls.release(
          by,
          later(() => memory.release(by)),
          call,
        ),
    }
    const events: LeaseEvent[] = []
    const leases = createLeases(store, { clock, ttl: 60_000, onEvent: (event) => events.push(event) })
    return { clock, memory, leases, leave, events }
  }

  it('a renewal or release that waits in this process is not given up: its time counts from when it leaves', async () => {
    const { clock, memory, leases, leave, events } = setUpWaiting(4000)
    const lease = await leases.acquire('r', { heartbeat: false })
    const releasing = lease.release()
    await clock.advance(8000)
    leave()
    await clock.advance(4000)
    await releasing
    expect(events.map(({ type }) => type)).toEqual(['attempt', 'acquired', 'released'])
    expect(await memory.read(['r'])).toEqual([[]])
  })

  it('a renewal or release that waits in this process is given up if the store does not answer after it left', async () => {
    const { clock, leases, leave } = setUpWaiting(1e9)
    const lease = await leases.acquire('r', { heartbeat: false })
    const failure = lease.release().catch((error) => error)
    await clock.advance(8000)
    leave()
    await clock.advance(6000)
    expect(await failure).toMatchObject({ code: 'store-unavailable' })
  })

  it('a renewal or release that waits in this process extends the lease from when it left, and the next heartbeat follows a whole interval later', async () => {
    const { clock, leases, leave, events } = setUpWaiting(0)
    const lease = await leases.acquire('r', { heartbeat: 10_000 })
    await clock.advance(25_000)
    leave()
    await clock.advance(9000)
    expect(events.filter(({ type }) => type === 'renewed').length).toBeGreaterThan(0)
    const renewed = events.length
    await clock.advance(500)
    expect(events).toHaveLength(renewed)
    expect(lease.expiresAt).toBe(lease.acquiredAt + 25_000 + 60_000)
    expect(lease.held).toBe(true)
  })
})

it('a renewal that waits in the process is not sent a second time, and counts from when it is sent', async () => {
  const clock = new FakeClock()
  const memory = memoryStore({ clock })
  const sending: (() => void)[] = []
  const store: LeaseStore = {
    ...memory,
    async renew(ask, call) {
      call?.queued?.(true)
      await new Promise<void>((resolve) => sending.push(resolve))
      call?.queued?.(false)
      return memory.renew(ask)
    },
  }
  const lease = await createLeases(store, { clock }).acquire('a', { ttl: 30_000 })
  await clock.advance(25_000)
  expect(sending).toHaveLength(1)
  sending[0]?.()
  await clock.advance(29_000)
  expect(lease.held).toBe(true)
  await clock.advance(1000)
  expect(lease.held).toBe(false)
})
