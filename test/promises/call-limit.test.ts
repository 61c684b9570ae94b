import { describe, expect, it } from 'vitest'
import { asLeaseError, LeaseError } from '../../src/base/errors.ts'
import { type Clock, createLeases, type LeaseStore } from '../../src/core/index.ts'
import { createLockManager } from '../../src/locks/index.ts'
import { StoreCalls } from '../../src/stores/local/store-calls.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { chaosStore, FakeClock } from '../../src/testing/index.ts'

describe('the limit of one call', () => {
  it('the limit of one call needs no timer of the manager if the store limits its calls', async () => {
    const { clock, counted, foreground } = setUp()
    const lease = await createLeases(limitedStore(clock), { clock: counted }).acquire('a')
    await lease.release()
    expect(foreground()).toBe(0)
  })

  it('the limit of one call needs no timer of the manager for renewals, takeovers of a ticket and looks', async () => {
    const { clock, counted, foreground } = setUp()
    const store = limitedStore(clock)
    const leases = createLeases(store, { clock: counted })
    const lease = await leases.acquire('a')
    await lease.renew()
    await leases.inspect('a')
    await leases.waiting('a')
    await leases.list()
    await using adopted = await leases.adopt(await lease.detach())
    await leases.release('a', { token: adopted.token })
    await createLockManager(store, { clock: counted }).query()
    expect(foreground()).toBe(0)
  })

  it('the limit of one call needs no timer of the manager for a look of a caller that does not wait', async () => {
    const { clock, counted, foreground } = setUp()
    const store = limitedStore(clock)
    const withoutQueue = { ...store, supports: { ...store.supports, queue: false, push: false } }
    const leases = createLeases(withoutQueue, { clock: counted })
    await using _held = await leases.acquire('a')
    const ending = new AbortController()
    const waiting = leases.acquire('a', { wait: 60_000, signal: ending.signal }).catch(() => {})
    await clock.advance(0)
    const before = foreground()
    expect(await leases.tryAcquire('a')).toBeNull()
    expect(foreground()).toBe(before)
    ending.abort()
    await waiting
  })

  it('the limit of one call is that of the store if the store limits its renewals', async () => {
    const { clock } = setUp()
    const store = limitedStore(clock, { renew: never })
    const lease = await createLeases(store, { clock, callTimeout: 2000, heartbeat: false }).acquire('a')
    const failing = expect(lease.renew()).rejects.toThrow('Toy: no answer within 2000 ms')
    await clock.advance(2500)
    await failing
  })

  it('the limit of one call is set by the manager if the store does not limit its calls', async () => {
    const { clock, counted, foreground } = setUp()
    const lease = await createLeases(memoryStore({ clock }), { clock: counted }).acquire('a')
    await lease.release()
    expect(foreground()).toBe(2)
  })

  it('the limit of one call is that of the store if the store limits its calls', async () => {
    const { clock } = setUp()
    const store = limitedStore(clock, { acquire: never })
    const leases = createLeases(store, { clock, callTimeout: 2000, retry: () => null })
    const failing = expect(leases.acquire('a')).rejects.toThrow('Toy: no answer within 2000 ms')
    await clock.advance(2500)
    await failing
  })

  it('the limit of one call is the time that is left of a release, also in a store that limits its calls', async () => {
    const { clock } = setUp()
    const store = limitedStore(clock, { release: never })
    const lease = await createLeases(store, { clock, ttl: 1000, heartbeat: false }).acquire('a')
    const failing = expect(lease.release()).rejects.toThrow('Toy: no answer within 1000 ms')
    await clock.advance(1500)
    await failing
  })

  it('the limit of one call is set by the manager if a wait is shorter than the limit of the store', async () => {
    const { clock } = setUp()
    const leases = createLeases(limitedStore(clock, { acquire: never }), { clock })
    const failing = expect(leases.acquire('a', { wait: 1500 })).rejects.toThrow('no answer within 1500 ms')
    await clock.advance(2000)
    await failing
  })

  it('the limit of one call is set by the manager for each call that a wrapper keeps from a store that limits its calls', async () => {
    const { clock } = setUp()
    const store = limitedStore(clock)
    let asked = 0
    const wrapped: LeaseStore = {
      ...store,
      // The first request fails in time. The second one never reaches the store.
      acquire: (ask, call) =>
        asked++
          ? never()
          : store.acquire(ask, call).then(() => Promise.reject(new LeaseError('store-unavailable', 'lost'))),
    }
    const leases = createLeases(wrapped, { clock, retry: (tries) => (tries === 1 ? 0 : null) })
    const failing = expect(leases.acquire('a', { wait: 20_000 })).rejects.toThrow('no answer within 5000 ms')
    await clock.advance(6000)
    await failing
  })

  it('the limit of one call is set by the manager if an answer of such a store gets lost on the way', async () => {
    const { clock } = setUp()
    const network = chaosStore(limitedStore(clock), { clock, faults: { loseAnswer: 1 } })
    const failing = expect(createLeases(network, { clock, retry: () => null }).acquire('a')).rejects.toThrow(
      'no answer within 5000 ms',
    )
    await clock.advance(6000)
    await failing
  })
})

const never = () => new Promise<never>(() => {})

/** The memory store behind the calls that the stores of databases share. */
function limitedStore(
  clock: Clock,
  work: { acquire?: typeof never; release?: typeof never; renew?: typeof never } = {},
): LeaseStore {
  const memory = memoryStore({ clock })
  const calls = new StoreCalls({ backend: 'Toy', explain: asLeaseError, clock })
  return {
    ...memory,
    acquire: (ask, call) => calls.acquire(ask, work.acquire ?? (() => memory.acquire(ask)), call),
    release: (by, call) => calls.release(by, work.release ?? (() => memory.release(by)), call),
    renew: (ask, call) => calls.renew(work.renew ?? (() => memory.renew(ask)), call),
    read: (resources, call) => calls.run(() => memory.read(resources), call),
    waiting: (query, call) => calls.run(() => (memory as Required<LeaseStore>).waiting(query), call),
    list: (query, call) => calls.run(() => memory.list(query), call),
  }
}

function setUp() {
  const clock = new FakeClock()
  let timers = 0
  const counted: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    random: () => clock.random(),
    setTimer(run, ms, background) {
      if (!background) timers++
      return clock.setTimer(run, ms)
    },
  }
  return { clock, counted, foreground: () => timers }
}
