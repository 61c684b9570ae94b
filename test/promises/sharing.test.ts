import { describe, expect, it } from 'vitest'
import { createLeases } from '../../src/core/index.ts'
import { setUp } from './set-up.ts'

describe('shared leases', () => {
  it("`mode: 'shared'` is a reader, as `share: Infinity` is", async () => {
    const { leases, another } = setUp()
    const reader = await leases.acquire('r', { mode: 'shared' })
    expect(reader.share).toBe(Infinity)
    expect(await another().tryAcquire('r', { share: Infinity })).toMatchObject({ held: true })
    expect(await leases.tryAcquire('r', { mode: 'exclusive' })).toBeNull()
    const both = leases.acquire('r', { mode: 'shared', share: 5 })
    await expect(both).rejects.toThrow(/^mode: expected no mode beside share/)
    const unknown = leases.acquire('r', { mode: 'read' as never })
    await expect(unknown).rejects.toThrow(/^mode: expected "exclusive" or "shared", got "read"/)
  })

  it('shared leases are as many as their share allows', async () => {
    const { leases, another } = setUp()
    const held = [await leases.acquire('r', { share: 2 }), await another().acquire('r', { share: 2 })]
    expect(held.map(({ share }) => share)).toEqual([2, 2])
    expect(await leases.tryAcquire('r', { share: 2 })).toBeNull()
    await held[1]?.release()
    expect(await leases.tryAcquire('r', { share: Infinity })).toMatchObject({ share: Infinity })
  })

  it('shared leases are all named when a request is refused, the oldest first', async () => {
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

  it('shared leases are renewed and lost one by one', async () => {
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

  it.each([0, -1, 1.5, NaN, '2', null])('shared leases need a whole share from 1, not %s', async (share) => {
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
  it('a resource that is kept stays taken for `atLeast`, though the lease was released', async () => {
    const { clock, leases } = setUp()
    await leases.withLease('job', async () => {}, { atLeast: '5m' })
    await expect(leases.acquire('job', { wait: 0 })).rejects.toMatchObject({
      code: 'lease-held',
      message: 'job is kept for another 300000 ms (atLeast or lockDelay)',
    })
    const acquiring = leases.acquire('job', { wait: '10m' })
    await clock.advance(299_000)
    expect(await Promise.race([acquiring, 'still waiting'])).toBe('still waiting')
    await clock.advance(1100)
    expect((await acquiring).held).toBe(true)
  })

  it('a resource that is kept is given to a waiter that was asleep at the release as soon as it is kept no longer', async () => {
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
    expect(error).toMatchObject({ code: 'lease-held', keptFor: 45_000 })
    expect(error.message).toContain('kept for another 45000 ms')
    expect(error.holder).toBeUndefined()
  })

  it('a resource that is kept is shown as kept, with its last owner and the time left, and has no holder', async () => {
    const { clock, leases, another } = setUp()
    const worker = another({ owner: 'worker' })
    await worker.withLease('job', async () => {}, { atLeast: '5m', metadata: { host: 'a' } })
    await clock.advance(60_000)
    const shown = {
      resource: 'job',
      owner: 'worker',
      state: 'kept',
      remaining: 240_000,
      metadata: { host: 'a' },
    }
    expect(await leases.inspect('job')).toMatchObject(shown)
    expect(await leases.holders('job')).toMatchObject([shown])
    expect(await leases.list({ prefix: 'jo' })).toMatchObject({ leases: [shown] })
    await clock.advance(240_000)
    expect(await leases.inspect('job')).toBeNull()
  })

  it('a resource that is kept is inspected by its live lease, though an older one keeps a permit', async () => {
    const { leases, another } = setUp()
    const permit = { share: 2, atLeast: 300_000 }
    await another({ owner: 'first' }).withLease('pool', async () => {}, permit)
    await another({ owner: 'second' }).acquire('pool', permit)
    expect(await leases.inspect('pool')).toMatchObject({ owner: 'second', state: 'held' })
    expect(await leases.holders('pool')).toMatchObject([
      { owner: 'first', state: 'kept' },
      { owner: 'second', state: 'held' },
    ])
  })

  it('a resource that is kept is freed by force with its token, once', async () => {
    const { leases, another } = setUp()
    await another().withLease('job', async () => {}, { atLeast: '5m' })
    const { token = 0 } = (await leases.inspect('job')) ?? {}
    expect(await leases.release('job', { token })).toBe(true)
    expect(await leases.release('job', { token })).toBe(false)
    expect(await leases.inspect('job')).toBeNull()
  })

  it('a resource that is kept is no holder to a store without a queue, but the time that is left', async () => {
    const { clock, store } = setUp()
    const leases = createLeases({ ...store, supports: { ...store.supports, queue: false } }, { clock })
    await leases.withLease('job', async () => {}, { atLeast: '5m' })
    const waiting = leases.acquire('job', { wait: '10m' })
    await clock.advance(1000)
    const error = await leases.acquire('job', { wait: 0 }).catch((cause) => cause)
    expect(error).toMatchObject({ code: 'lease-held', keptFor: 299_000 })
    await clock.advance(300_000)
    await waiting
  })

  it('a resource that is kept stays taken for `lockDelay` after an expiry', async () => {
    const { clock, leases, another } = setUp()
    await leases.acquire('disk', { ttl: 1000, heartbeat: false, lockDelay: '5s' })
    const acquiring = another().acquire('disk', { wait: '1m' })
    await clock.advance(5900)
    expect(await Promise.race([acquiring, 'still waiting'])).toBe('still waiting')
    await clock.advance(200)
    expect((await acquiring).held).toBe(true)
  })
})
