import { describe, expect, it } from 'vitest'
import { createLeases, type LeaseTicket } from '../../src/core/index.ts'
import { setUp } from './set-up.ts'

describe('a lease that is handed over', () => {
  it('a lease that is handed over is not renewed any more by the handle that detached it, and not released by its block', async () => {
    const { clock, store, leases, events } = setUp()
    const ticket = await leases.withLease('r', (lease) => lease.detach(), { ttl: 3000 })
    expect(ticket).toEqual({
      type: 'holdfast-lease',
      store: 'memory',
      resource: 'r',
      id: expect.any(String),
      token: expect.any(Number),
      ttl: 3000,
    })
    await clock.advance(2999)
    expect(await store.read(['r'])).toMatchObject([[{ token: ticket.token }]])
    await clock.advance(1)
    expect(await store.read(['r'])).toEqual([[]])
    expect(events.map(({ type }) => type)).toEqual(['attempt', 'acquired', 'renewed', 'released'])
  })

  it('a lease that is handed over has a deadline that counts from before the renewal of its adoption', async () => {
    const { clock, network, leases, another } = setUp()
    const ticket = await (await another().acquire('r', { ttl: 10_000 })).detach()
    await clock.advance(5000)
    network.faults = { delay: [500, 500] }
    const adopting = leases.adopt(ticket, { heartbeat: false })
    await clock.advance(1000)
    const lease = await adopting
    await clock.advance(8700)
    expect(lease.held).toBe(true)
    await clock.advance(100)
    expect(lease.held).toBe(false)
  })

  it('a lease that is handed over is not adopted by an answer that comes after its deadline', async () => {
    const { clock, network, leases, another } = setUp()
    const ticket = await (await another().acquire('r', { ttl: 1000 })).detach()
    network.faults = { delay: [600, 600] }
    const late = leases.adopt(ticket).catch((error) => error)
    await clock.advance(1200)
    expect(await late).toMatchObject({ code: 'store-unavailable' })
  })

  it('a lease that is handed over may have a heartbeat that only its own TTL allows', async () => {
    const { leases, another } = setUp()
    const ticket = await (await another().acquire('r', { ttl: '10m' })).detach()
    const lease = await leases.adopt(ticket, { heartbeat: '2m' })
    expect(lease.held).toBe(true)
  })

  it.each([null, { signal: 'stop' }, { signal: null }, { heartbeat: 'soon' }])(
    'is not adopted with wrong options: %#',
    async (options) => {
      const { leases, another } = setUp()
      const ticket = await (await another().acquire('r')).detach()
      const adopting = leases.adopt(ticket, options as never)
      await expect(adopting).rejects.toMatchObject({ code: 'invalid-argument' })
    },
  )

  it('a lease that is handed over keeps its heartbeat after its adoption, and is released by close', async () => {
    const { clock, store, leases, another } = setUp()
    const ticket = await (await another().acquire('r', { ttl: 3000 })).detach()
    const lease = await leases.adopt(ticket)
    await clock.advance(60_000)
    expect(lease.held).toBe(true)
    await leases.close()
    expect(lease.signal.reason).toMatchObject({ code: 'closed' })
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('stays with its handle if the store does not answer when it is detached', async () => {
    const { clock, network, leases } = setUp()
    const lease = await leases.acquire('r', { ttl: 60_000 })
    network.faults = { failBefore: 1 }
    await expect(lease.detach()).rejects.toMatchObject({ code: 'store-unavailable' })
    network.faults = {}
    await clock.advance(120_000)
    expect(lease.held).toBe(true)
  })

  it('a lease that is handed over cannot be detached twice, nor after a release', async () => {
    const { leases } = setUp()
    const lease = await leases.acquire('r')
    await lease.detach()
    await expect(lease.detach()).rejects.toMatchObject({ code: 'lease-lost' })
    await expect(lease.renew()).rejects.toMatchObject({ code: 'lease-lost' })
  })

  it('a lease that is handed over has one ticket, however often it is detached at once', async () => {
    const { store, leases } = setUp()
    const lease = await leases.acquire('r')
    const outcomes = await Promise.allSettled([lease.detach(), lease.detach()])
    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: { token: lease.token } },
      { status: 'rejected', reason: { code: 'lease-lost' } },
    ])
    const [[live] = []] = await store.read(['r'])
    expect(live?.token).toBe(lease.token)
  })

  it('a lease that is handed over has no ticket if it is released while it is detached', async () => {
    const { store, leases } = setUp()
    const lease = await leases.acquire('r')
    const detaching = lease.detach()
    const released = lease.release()
    await expect(detaching).rejects.toMatchObject({ code: 'lease-lost' })
    await released
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('a lease that is handed over keeps its TTL if the adopter names none, also as undefined', async () => {
    const { clock, store, leases, another } = setUp()
    const ticket = await (await another().acquire('r', { ttl: 60_000 })).detach()
    await clock.advance(50_000)
    await leases.adopt(ticket, { ttl: undefined })
    expect(await store.read(['r'])).toMatchObject([[{ remaining: 60_000 }]])
  })

  it('a lease that is handed over is not lost with another lease of the same ticket: the ticket of another token is refused', async () => {
    const { leases, another } = setUp()
    const ticket = await (await another().acquire('r')).detach()
    const failure = { code: 'lease-lost', resource: 'r' }
    await expect(leases.adopt({ ...ticket, token: ticket.token + 1 })).rejects.toMatchObject(failure)
    await expect(leases.adopt({ ...ticket, id: 'other' })).rejects.toMatchObject(failure)
  })

  const ticket: LeaseTicket = {
    type: 'holdfast-lease',
    store: 'memory',
    resource: 'r',
    id: 'a',
    token: 5,
    ttl: 1000,
  }
  it.each([
    ['nothing', undefined],
    ['a text', JSON.stringify(ticket)],
    ['an array', [ticket]],
    ['something else', { ...ticket, type: 'other' }],
    ['a ticket of another store', { ...ticket, store: 'redis' }],
    ['no id', { ...ticket, id: 7 }],
    ['no token', { ...ticket, token: '5' }],
    ['an empty name', { ...ticket, resource: '' }],
    ['a negative TTL', { ...ticket, ttl: -1 }],
  ])('a lease that is handed over is not adopted with %s for a ticket', async (_, value) => {
    const { leases } = setUp()
    await expect(leases.adopt(value as LeaseTicket)).rejects.toMatchObject({ code: 'invalid-argument' })
  })
})

describe('a renewal with a TTL of its own', () => {
  it('a renewal with a TTL of its own moves the deadline, and later heartbeats neither shorten it nor come more often', async () => {
    const { clock, network, leases, events } = setUp()
    const lease = await leases.acquire('r', { ttl: '30s' })
    await lease.renew({ ttl: '10m' })
    await clock.advance(60_000)
    expect(events.filter(({ type }) => type === 'renewed')).toHaveLength(7)
    network.faults = { failBefore: 1 }
    await clock.advance(500_000)
    expect(lease.held).toBe(true)
    await clock.advance(60_000)
    expect(lease.held).toBe(false)
  })

  it.each([0, -1, 'long', Number.NaN])('a renewal with a TTL of its own is refused with %s', async (ttl) => {
    const { leases } = setUp()
    const lease = await leases.acquire('r')
    await expect(lease.renew({ ttl: ttl as number })).rejects.toMatchObject({ code: 'invalid-argument' })
    expect(lease.held).toBe(true)
  })
})

describe('a release by token', () => {
  it.each([undefined, null, {}, { token: '5' }, { token: 1.5 }])(
    'a release by token is refused with %j',
    async (by) => {
      const { leases } = setUp()
      await expect(leases.release('r', by as never)).rejects.toMatchObject({ code: 'invalid-argument' })
    },
  )

  it('a release by token wakes a waiter of a store without a queue', async () => {
    const { clock, leases, another } = setUp({ queue: false, push: false })
    const { token } = await another().acquire('r', { ttl: '1h' })
    const waiting = leases.acquire('r', { wait: '1h', retry: () => 3_000_000 })
    await clock.advance(10)
    expect(await leases.release('r', { token })).toBe(true)
    await clock.advance(10)
    expect((await Promise.race([waiting, null]))?.held).toBe(true)
  })
})

describe('the waiters of a resource', () => {
  it('the waiters of a resource cannot be told by a store that keeps no queue', async () => {
    const { store, clock } = setUp()
    const { waiting: _, ...silent } = store
    const leases = createLeases({ ...silent, supports: { ...store.supports, queue: false } }, { clock })
    await expect(leases.waiting('r')).rejects.toMatchObject({
      code: 'invalid-argument',
      message: 'store: expected a LeaseStore (with waiting), got an object',
    })
  })
})
