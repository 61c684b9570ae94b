import { describe, expect, it } from 'vitest'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock } from '../testing/index.ts'
import { createLeases, type Grant, LeaseError, type LeaseEvent, type LeaseStore } from './index.ts'

/** All of them or none, in one request, as some stores can. */
function togetherOn(memory: LeaseStore): NonNullable<LeaseStore['acquireAll']> {
  return async (asks, call) => {
    const grants: Grant[] = []
    for (const ask of asks) {
      const answer = await memory.acquire(ask, call)
      if (answer.granted) grants.push(answer)
    }
    if (grants.length === asks.length) return grants
    for (const { lease } of grants) await memory.release({ resource: lease.resource, id: lease.id })
    return null
  }
}

/** A manager, and the events that it emits. */
function listening(change: (memory: LeaseStore) => Partial<LeaseStore> = () => ({})) {
  const clock = new FakeClock()
  const memory = memoryStore({ clock })
  const events: LeaseEvent[] = []
  const store = { ...memory, ...change(memory) }
  const leases = createLeases(store, { clock, owner: 'me', onEvent: (event) => events.push(event) })
  return { clock, memory, leases, events }
}

const away = new LeaseError('store-unavailable', 'away')

describe('a manager tells', () => {
  it.each(['acquire', 'renew', 'release'] as const)(
    'a manager tells of each failed %s, with its error',
    async (operation) => {
      let isDown = false
      const { clock, leases, events } = listening((memory) => ({
        [operation]: (...given: never[]) =>
          isDown ? Promise.reject(away) : (memory[operation] as (...given: never[]) => unknown)(...given),
      }))
      isDown = operation === 'acquire'
      const acquiring = leases.acquire('r', { wait: 10_000, ttl: 3000 })
      await clock.advance(100)
      if (operation !== 'acquire') {
        const lease = await acquiring
        isDown = true
        if (operation === 'release') lease.release().catch(() => {})
        await clock.advance(1000)
      }
      expect(events).toContainEqual(
        expect.objectContaining({ type: 'error', operation, error: away, resource: 'r', owner: 'me' }),
      )
      isDown = false
      await clock.advance(10_000)
      await acquiring
    },
  )

  it('a manager tells of the attempt and the expired lease of each name of a group', async () => {
    const { clock, memory, leases, events } = listening((store) => ({ acquireAll: togetherOn(store) }))
    for (const resource of ['a', 'b'])
      await memory.acquire({ resource, id: resource, owner: 'Mika', ttl: 1000 })
    await clock.advance(2000)
    await leases.acquireAll(['a', 'b'])
    expect(events.map(({ type, resource }) => `${type} ${resource}`)).toEqual([
      'attempt a',
      'attempt b',
      'expired a',
      'acquired a',
      'expired b',
      'acquired b',
    ])
    expect(events[0]).toMatchObject({ attempt: 1, owner: 'me' })
    expect(events[2]).toMatchObject({ lease: { owner: 'Mika', state: 'expired', id: 'a' } })
  })

  it('a manager tells of no expired lease if a group finds its names free', async () => {
    const { memory, leases, events } = listening((store) => ({ acquireAll: togetherOn(store) }))
    await memory.acquire({ resource: 'a', id: 'a', owner: 'Mika', ttl: 1000 })
    await memory.release({ resource: 'a', id: 'a' })
    await leases.acquireAll(['a', 'b'])
    expect(events.map(({ type }) => type)).toEqual(['attempt', 'attempt', 'acquired', 'acquired'])
  })

  it.each(['acquire', 'acquireAll'] as const)(
    'a manager tells of the loss of a lease that ended while %s was under way',
    async (method) => {
      const { leases, events } = listening((memory) => ({
        async acquire(ask, call) {
          ask.lost?.()
          return memory.acquire(ask, call)
        },
        async acquireAll(asks, call) {
          asks[0]?.lost?.()
          return togetherOn(memory)(asks, call)
        },
      }))
      const granted = method === 'acquire' ? leases.acquire('a') : leases.acquireAll(['a', 'b'])
      const outcome = await granted.then(
        (lease) => lease.held,
        (error: LeaseError) => error.code,
      )
      expect(outcome).toBe(method === 'acquire' ? false : 'lease-lost')
      expect(events).toContainEqual(
        expect.objectContaining({
          type: 'lost',
          resource: 'a',
          reason: 'ended',
          error: expect.objectContaining({ code: 'lease-lost', reason: 'ended' }),
        }),
      )
    },
  )

  it('a manager tells once that a waiter waits, and why it polls', async () => {
    const polls = new LeaseError('store-unavailable', 'no notifications')
    const { clock, memory, leases, events } = listening((store) => ({
      async acquire(ask, call) {
        const answer = await store.acquire(ask, call)
        return answer.granted ? answer : { ...answer, polls }
      },
    }))
    await memory.acquire({ resource: 'r', id: 'x', owner: 'Mika', ttl: 20_000 })
    const waiting = leases.acquire('r', { wait: 60_000 })
    await clock.advance(21_000)
    await waiting
    const told = events.filter(({ type }) => type === 'waiting')
    expect(told).toEqual([
      expect.objectContaining({
        reason: 'held',
        holder: expect.objectContaining({ owner: 'Mika' }),
        place: 0,
      }),
    ])
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'error', operation: 'watch', error: polls, resource: 'r' }),
    )
  })

  it('a manager tells nothing of a wait to a caller that does not wait', async () => {
    const { memory, leases, events } = listening()
    await memory.acquire({ resource: 'r', id: 'x', owner: 'Mika', ttl: 20_000 })
    expect(await leases.tryAcquire('r')).toBeNull()
    expect(events.map(({ type }) => type)).toEqual(['attempt'])
  })

  it('a manager tells a waiter of a store without a queue that it cannot listen, and the waiter polls', async () => {
    let isDeaf = true
    const { clock, memory, leases, events } = listening((store) => ({
      supports: { ...store.supports, queue: false },
      watch: (listener, query) => (isDeaf ? Promise.reject(away) : store.watch(listener, query)),
    }))
    await memory.acquire({ resource: 'r', id: 'x', owner: 'Mika', ttl: 5000 })
    const waiting = leases.acquire('r', { wait: 60_000 })
    await clock.advance(10)
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'error', operation: 'watch', error: away, resource: 'r' }),
    )
    isDeaf = false
    await clock.advance(60_000)
    expect((await waiting).held).toBe(true)
  })
})

describe('the error of a lost lease', () => {
  it('the error of a lost lease says that a renewal had no answer', async () => {
    const { clock, leases } = listening(() => ({ renew: () => new Promise(() => {}) }))
    const lease = await leases.acquire('r', { ttl: 3000 })
    await clock.advance(3000)
    expect(lease.signal.reason).toMatchObject({
      code: 'lease-lost',
      reason: 'deadline',
      message: expect.stringMatching(/^the lease of r was lost \(deadline\): no answer to a renewal/),
      cause: { code: 'store-unavailable' },
    })
  })

  it('the error of a lost lease blames this process if no renewal was sent', async () => {
    const { clock, leases } = listening()
    const lease = await leases.acquire('r', { ttl: 3000 })
    clock.jump(5000)
    expect(lease.held).toBe(false)
    expect(lease.signal.reason).toMatchObject({
      message: 'the lease of r was lost (deadline): this process was busy or stopped',
    })
  })

  it('the error of a lost lease without a heartbeat blames nobody', async () => {
    const { clock, leases } = listening()
    const lease = await leases.acquire('r', { ttl: 3000, heartbeat: false })
    await clock.advance(5000)
    expect(lease.signal.reason).toMatchObject({
      message: 'the lease of r was lost (deadline)',
      cause: undefined,
    })
  })

  it('the error of a lost lease has the last failure as its cause, but not if another caller ended the lease', async () => {
    for (const isEnded of [false, true]) {
      let isDown = false
      let end = () => {}
      const { clock, leases } = listening((memory) => ({
        acquire(ask, call) {
          end = () => ask.lost?.()
          return memory.acquire(ask, call)
        },
        renew: (ask, call) => (isDown ? Promise.reject(away) : memory.renew(ask, call)),
      }))
      const lease = await leases.acquire('r', { ttl: 3000 })
      isDown = true
      await clock.advance(1500)
      if (isEnded) end()
      await clock.advance(3000)
      expect(lease.signal.reason.message).toBe(
        `the lease of r was lost (${isEnded ? 'ended' : 'deadline'})${isEnded ? '' : ': away'}`,
      )
    }
  })
})
