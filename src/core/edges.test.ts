import { describe, expect, it, vi } from 'vitest'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock } from '../testing/index.ts'
import { createLeases, LeaseError, type LeaseStore, type StoreEvent } from './index.ts'
import { withBoth } from './with-both.ts'

const away = new LeaseError('store-unavailable', 'away')

function setUp(change: (memory: LeaseStore) => Partial<LeaseStore> = () => ({})) {
  const clock = new FakeClock()
  const memory = memoryStore({ clock })
  return { clock, memory, leases: createLeases({ ...memory, ...change(memory) }, { clock }) }
}

it('a lease can be renewed by hand again and again, and calls at the same time share one renewal', async () => {
  const renew = vi.fn()
  const { clock, leases } = setUp((memory) => ({
    renew(ask, call) {
      renew()
      return memory.renew(ask, call)
    },
  }))
  const lease = await leases.acquire('r', { ttl: 10_000, heartbeat: false })
  for (const times of [1, 2, 3]) {
    await clock.advance(1000)
    const before = lease.expiresAt ?? 0
    await Promise.all([lease.renew(), lease.renew()])
    expect(lease.expiresAt).toBe(before + 1000)
    expect(renew).toHaveBeenCalledTimes(times)
  }
})

it('a wait that ends while the store is down was a wait for another holder, and names the failure as its cause', async () => {
  let isDown = false
  const { clock, memory, leases } = setUp((store) => ({
    acquire: (ask, call) => (isDown ? Promise.reject(away) : store.acquire(ask, call)),
  }))
  await memory.acquire({ resource: 'r', id: 'x', owner: 'Mika', ttl: 60_000 })
  const waiting = leases.acquire('r', { wait: 5000, retry: () => 100 }).catch((error) => error)
  await clock.advance(10)
  isDown = true
  // The push wakes the waiter, which then finds the store down.
  await memory.release({ resource: 'r', id: 'x' })
  await clock.advance(6000)
  expect(await waiting).toMatchObject({
    code: 'lease-held',
    message: 'r is held by Mika',
    holders: [{ owner: 'Mika' }],
    cause: away,
  })
})

it('a wait that ends while another caller holds the lease has no cause', async () => {
  const { clock, memory, leases } = setUp()
  await memory.acquire({ resource: 'r', id: 'x', owner: 'Mika', ttl: 60_000 })
  const waiting = leases.acquire('r', { wait: 500 }).catch((error) => error)
  await clock.advance(600)
  expect(await waiting).not.toHaveProperty('cause')
})

it('tryWithLease rejects if the store is down, and does not call that a refusal', async () => {
  const { leases } = setUp(() => ({ acquire: () => Promise.reject(away) }))
  await expect(leases.tryWithLease('r', () => {}, { retry: () => null })).rejects.toBe(away)
})

it('a ticket is not adopted after its signal has aborted', async () => {
  const { memory, leases } = setUp()
  const ticket = await (await leases.acquire('r')).detach()
  const renew = vi.spyOn(memory, 'renew')
  await expect(leases.adopt(ticket, { signal: AbortSignal.abort('enough') })).rejects.toMatchObject({
    code: 'aborted',
    cause: 'enough',
  })
  expect(renew).not.toHaveBeenCalled()
})

describe('the signal of work under a lease', () => {
  const lease = { signal: new AbortController().signal }

  it.each([
    ['the caller', lease, AbortSignal.abort('caller'), 'caller'],
    ['the lease', { signal: AbortSignal.abort('lease') }, new AbortController().signal, 'lease'],
  ])(
    'the signal of work under a lease has aborted if that of %s has before',
    async (_, held, callers, reason) => {
      const seen = await withBoth(held, callers, (_lease, signal) => signal)
      expect(seen).toMatchObject({ aborted: true, reason })
    },
  )

  it('the signal of work under a lease aborts with that of the caller, and not after the work', async () => {
    const caller = new AbortController()
    const seen = await withBoth(lease, caller.signal, (_lease, signal) => {
      expect(signal.aborted).toBe(false)
      return signal
    })
    caller.abort('late')
    expect(seen.aborted).toBe(false)
  })
})

describe('waiters of a store without a queue', () => {
  /** A store whose watchers the test tells of changes itself. */
  function watched() {
    const listeners = new Set<(event: StoreEvent) => void>()
    const asked = vi.fn()
    const up = setUp((memory) => ({
      supports: { ...memory.supports, queue: false },
      acquire(ask, call) {
        asked()
        const { wake: _, ...rest } = ask
        return memory.acquire(rest, call)
      },
      async watch(listener) {
        listeners.add(listener)
        return { [Symbol.asyncDispose]: async () => void listeners.delete(listener) }
      },
    }))
    const tell = (event: StoreEvent) => {
      for (const listener of listeners) listener(event)
    }
    return { ...up, listeners, asked, tell }
  }

  it('waiters of a store without a queue listen while one of them waits, and no longer', async () => {
    const { clock, memory, leases, listeners } = watched()
    await memory.acquire({ resource: 'r', id: 'x', owner: 'Mika', ttl: 60_000 })
    const stop = new AbortController()
    const waiting = ['r', 'r'].map((resource) =>
      leases.acquire(resource, { wait: 20_000, signal: stop.signal }),
    )
    const settled = Promise.allSettled(waiting)
    await clock.advance(10)
    expect(listeners.size).toBe(1)
    stop.abort()
    await settled
    await clock.advance(10)
    expect(listeners.size).toBe(0)
  })

  it('waiters of a store without a queue ask again after a gap and after an end, and not after a renewal', async () => {
    const { clock, memory, leases, asked, tell } = watched()
    const answer = await memory.acquire({ resource: 'r', id: 'x', owner: 'Mika', ttl: 60_000 })
    if (!answer.granted) throw new Error('it is free')
    const { lease } = answer
    const waiting = leases.acquire('r', { wait: 50_000 })
    await clock.advance(10)
    const before = asked.mock.calls.length
    tell({ type: 'change', lease })
    await clock.advance(10)
    expect(asked).toHaveBeenCalledTimes(before)
    tell({ type: 'change', lease: { ...lease, resource: 'other', state: 'released' } })
    await clock.advance(10)
    expect(asked).toHaveBeenCalledTimes(before)
    tell({ type: 'gap' })
    await clock.advance(10)
    expect(asked).toHaveBeenCalledTimes(before + 1)
    await memory.release({ resource: 'r', id: 'x' })
    tell({ type: 'change', lease: { ...lease, state: 'released' } })
    await clock.advance(10)
    expect((await waiting).held).toBe(true)
  })

  it('a caller that does not wait is refused behind waiters, with the live holders and without those that ended', async () => {
    const { clock, memory, leases } = watched()
    await memory.acquire({ resource: 'r', id: 'x', owner: 'Mika', ttl: 60_000, share: 5 })
    await memory.acquire({ resource: 'r', id: 'y', owner: 'Ren', ttl: 60_000, share: 5, atLeast: 30_000 })
    await memory.release({ resource: 'r', id: 'y' })
    const waiting = leases.acquire('r', { wait: 20_000 }).catch(() => {})
    await clock.advance(10)
    await expect(leases.acquire('r', { wait: 0 })).rejects.toMatchObject({
      code: 'lease-held',
      holders: [{ owner: 'Mika' }],
    })
    await clock.advance(20_000)
    await waiting
  })
})
