import { describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { setUp } from './set-up.ts'

describe('events', () => {
  it('events tell a lease’s life in order, with what each carries', async () => {
    const { clock, leases, another, events } = setUp()
    const holder = await another().acquire('r', { owner: 'Mika' })
    const acquiring = leases.acquire('r', { ttl: 3000 })
    await clock.advance(500)
    await holder.release()
    await clock.advance(0)
    const lease = await acquiring
    await clock.advance(1000)
    await lease.release()
    expect(events.map(({ type }) => type)).toEqual([
      'attempt',
      'waiting',
      'attempt',
      'acquired',
      'renewed',
      'released',
    ])
    const base = { resource: 'r', leaseId: lease.id, owner: 'me' }
    for (const event of events) expect(event).toMatchObject({ ...base, at: expect.any(Number) })
    const { token } = lease
    expect(events[1]).toMatchObject({ holder: { owner: 'Mika' }, place: 0 })
    expect(events[3]).toMatchObject({
      token,
      attempts: 2,
      waited: expect.closeTo(500),
      expiresAt: expect.any(Number),
    })
    expect(events[4]).toMatchObject({ token, remaining: expect.closeTo(1940, 0), expiresAt: lease.expiresAt })
    expect(events[5]).toMatchObject({ token, heldFor: expect.closeTo(1000) })
  })

  it('events survive a listener that throws, and are delivered in order to all', async () => {
    const { leases } = setUp()
    const first: string[] = []
    const second: string[] = []
    leases.subscribe(() => {
      throw new Error('a bad listener')
    })
    leases.subscribe(({ type, resource }) => {
      first.push(`${type} ${resource}`)
      if (type === 'acquired' && resource === 'a') void leases.tryAcquire('b')
    })
    const stop = leases.subscribe(({ type, resource }) => second.push(`${type} ${resource}`))
    await leases.acquire('a')
    await eventually(() => expect(first).toContain('acquired b'))
    expect(second).toEqual(first)
    stop()
    await leases.acquire('c')
    expect(second).not.toContain('acquired c')
  })
})
