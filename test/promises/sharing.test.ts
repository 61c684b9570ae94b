import { describe, expect, it } from 'vitest'
import { createLeases } from '../../src/core/index.ts'
import { setUp } from './set-up.ts'

describe('shared leases', () => {
  it('are as many as their share allows', async () => {
    const { leases, another } = setUp()
    const held = [await leases.acquire('r', { share: 2 }), await another().acquire('r', { share: 2 })]
    expect(held.map(({ share }) => share)).toEqual([2, 2])
    expect(await leases.tryAcquire('r', { share: 2 })).toBeNull()
    await held[1]?.release()
    expect(await leases.tryAcquire('r', { share: Infinity })).toMatchObject({ share: Infinity })
  })

  it('are all named when a request is refused, the oldest first', async () => {
    const { clock, store, leases, events } = setUp()
    for (const owner of ['Ann', 'Ben']) await createLeases(store, { clock, owner }).acquire('r', { share: 2 })
    const failure = leases.acquire('r', { wait: 100 }).catch((error) => error)
    await clock.advance(100)
    expect(await failure).toMatchObject({
      code: 'lease-held',
      holder: { owner: 'Ann' },
      holders: [{ owner: 'Ann' }, { owner: 'Ben' }],
      message: expect.stringContaining('held by this process'),
    })
    expect(events.find(({ type }) => type === 'waiting')).toMatchObject({
      holder: { owner: 'Ann' },
      holders: [{ owner: 'Ann' }, { owner: 'Ben' }],
    })
    expect(await leases.holders('r')).toMatchObject([{ owner: 'Ann' }, { owner: 'Ben' }])
    expect(await leases.inspect('r')).toMatchObject({ owner: 'Ann' })
  })

  it('are renewed and lost one by one', async () => {
    const { clock, leases, another } = setUp()
    const [a, b] = [
      await leases.acquire('r', { share: 2, ttl: 3000 }),
      await another().acquire('r', { share: 2, ttl: 3000 }),
    ]
    await clock.advance(10_000)
    expect([a.held, b.held]).toEqual([true, true])
    expect(await leases.release('r', { token: b.token })).toBe(true)
    await clock.advance(0)
    expect([a.held, b.signal.aborted]).toEqual([true, true])
  })

  it.each([0, -1, 1.5, NaN, '2', null])('need a whole share from 1, not %s', async (share) => {
    const { leases } = setUp()
    await expect(leases.acquire('r', { share: share as number })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringMatching(/^share: expected a whole number from 1, or Infinity, got /),
    })
  })

  it.each([{ share: 2 }, { atLeast: '1s' }, { lockDelay: 5 }] as const)(
    'are refused by name on a store without them: %o',
    async (options) => {
      const { clock, store } = setUp()
      const plain = { ...store, supports: { ...store.supports, share: false } }
      await expect(createLeases(plain, { clock }).acquire('r', options)).rejects.toMatchObject({
        code: 'invalid-argument',
        message: expect.stringContaining(Object.keys(options)[0] ?? ''),
      })
    },
  )
})

describe('a resource that is kept', () => {
  it('stays taken for `atLeast`, though the lease was released', async () => {
    const { clock, leases } = setUp()
    await leases.withLease('job', async () => {}, { atLeast: '5m' })
    await expect(leases.acquire('job', { wait: 0 })).rejects.toMatchObject({
      code: 'lease-held',
      message: 'job is kept for 300000 ms after its last lease',
    })
    const acquiring = leases.acquire('job', { wait: '10m' })
    await clock.advance(299_000)
    expect(await Promise.race([acquiring, 'still waiting'])).toBe('still waiting')
    await clock.advance(1100)
    expect((await acquiring).held).toBe(true)
  })

  it('is given to a waiter that was asleep at the release as soon as it is kept no longer', async () => {
    const { clock, leases, another } = setUp()
    const lease = await another().acquire('job', { atLeast: 1500, ttl: '1m' })
    const acquiring = leases.acquire('job', { wait: '1m' })
    await clock.advance(500)
    await lease.release()
    await clock.advance(990)
    expect(await Promise.race([acquiring, 'still waiting'])).toBe('still waiting')
    await clock.advance(20)
    expect(await Promise.race([acquiring, 'still waiting'])).toMatchObject({ held: true })
  })

  it('says for how long it is kept, when the wait begins and when it is over', async () => {
    const { clock, leases, events, another } = setUp()
    await (await another().acquire('r', { atLeast: 60_000 })).release()
    await clock.advance(10_000)
    const failing = leases.acquire('r', { wait: 5000 }).catch((error) => error)
    await clock.advance(5000)
    expect(events.find(({ type }) => type === 'waiting')).toMatchObject({ holder: null, keptFor: 50_000 })
    const error = await failing
    expect(error).toMatchObject({ code: 'lease-held', message: expect.stringContaining('kept for') })
    expect(error.keptFor).toBeLessThanOrEqual(50_000)
    expect(error.holder).toBeUndefined()
  })

  it('stays taken for `lockDelay` after an expiry', async () => {
    const { clock, leases, another } = setUp()
    await leases.acquire('disk', { ttl: 1000, heartbeat: false, lockDelay: '5s' })
    const acquiring = another().acquire('disk', { wait: '1m' })
    await clock.advance(5900)
    expect(await Promise.race([acquiring, 'still waiting'])).toBe('still waiting')
    await clock.advance(200)
    expect((await acquiring).held).toBe(true)
  })
})
