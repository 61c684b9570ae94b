import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { aborted } from '../aborted.ts'
import { setUp } from './set-up.ts'

describe('withLease with several names', () => {
  it('withLease with several names holds all of them while the work runs, and releases all of them afterwards', async () => {
    const { leases, store } = setUp()
    const tokens = await leases.withLease(['b', 'a'], async (group) => {
      expect(group.held).toBe(true)
      expect((await store.read(['a', 'b'])).flat()).toHaveLength(2)
      return group.leases.map(({ resource, token }) => [resource, token])
    })
    expect(tokens.map(([resource]) => resource)).toEqual(['b', 'a'])
    expect((await store.read(['a', 'b'])).flat()).toEqual([])
  })

  it('rejects with lease-lost if one of them is lost, and tells the work', async () => {
    const { leases, store } = setUp()
    const working = leases.withLease(['a', 'b'], async ({ leases }, signal) => {
      await store.release({ resource: 'b', token: Number(leases[1]?.token) })
      await aborted(signal)
      throw new Error('stopped')
    })
    await expect(working).rejects.toMatchObject({
      code: 'lease-lost',
      reason: 'ended',
      resource: 'b',
      cause: { message: 'stopped' },
    })
    expect((await store.read(['a', 'b'])).flat()).toEqual([])
  })
})

describe('tryWithLease', () => {
  it('tryWithLease runs the work if the lease is free, and says who holds it if not', async () => {
    const { leases, store, another } = setUp()
    expect(await leases.tryWithLease('r', async ({ held }) => held)).toEqual({ ran: true, result: true })
    expect(await store.read(['r'])).toEqual([[]])
    const held = await another().acquire('r', { owner: 'Mika' })
    const tried = await leases.tryWithLease('r', () => 'never')
    expect(tried).toMatchObject({ ran: false, holder: { owner: 'Mika', token: held.token } })
  })

  it('tryWithLease with several names runs the work only if all of them are free', async () => {
    const { leases, store, another } = setUp()
    const names = ['a', 'b'] as const
    expect(await leases.tryWithLease(names, (group) => group.leases.map(({ resource }) => resource))).toEqual(
      {
        ran: true,
        result: ['a', 'b'],
      },
    )
    await another().acquire('b', { owner: 'Mika' })
    const tried = await leases.tryWithLease(names, () => 'never')
    expect(tried).toMatchObject({ ran: false, holder: { owner: 'Mika', resource: 'b' } })
    expect(await store.read(['a'])).toEqual([[]])
  })

  it('tryWithLease says for how long a lease that has ended still keeps the resource', async () => {
    const { leases, clock } = setUp()
    expect(await leases.tryWithLease('r', () => 'made', { atLeast: '5m' })).toMatchObject({ ran: true })
    await clock.advance('1m')
    const tried = await leases.tryWithLease('r', () => 'never')
    expect(tried).toEqual({ ran: false, holder: undefined, keptFor: 240_000 })
  })

  it('tryWithLease rejects if the work throws, also if another lease was held', async () => {
    const { leases, another } = setUp()
    await another().acquire('other')
    const working = leases.tryWithLease('r', () => leases.acquire('other', { wait: 0 }))
    await expect(working).rejects.toMatchObject({ code: 'lease-held', resource: 'other' })
    await expect(leases.tryWithLease('r', () => {}, { wait: 5 } as never)).rejects.toThrow(
      /`wait`: unknown option/,
    )
    await expect(leases.tryWithLease('r', 5 as never)).rejects.toThrow(/^work: expected a function, got 5/)
  })
})

describe('onLost', () => {
  it('calls the listener once when the lease is lost, and at once if it was lost before', async () => {
    const { clock, leases, store } = setUp()
    const lease = await leases.acquire('r', { ttl: 3000 })
    const heard: string[] = []
    lease.onLost(() => {
      throw new Error('the problem of this listener')
    })
    lease.onLost(({ code }) => heard.push(code))
    const end = lease.onLost(() => heard.push('ended'))
    end()
    await store.release({ resource: 'r', token: lease.token })
    await clock.advance(3000)
    expect(heard).toEqual(['lease-lost'])
    lease.onLost(({ resource }) => heard.push(`again ${resource}`))
    expect(heard).toEqual(['lease-lost', 'again r'])
    expect(() => lease.onLost(5 as never)).toThrow(/^listener: expected a function, got 5/)
  })

  it('onLost does not call it after a release', async () => {
    const { clock, leases } = setUp()
    const lease = await leases.acquire('r')
    const heard: unknown[] = []
    lease.onLost((error) => heard.push(error))
    await lease.release()
    await clock.advance(60_000)
    expect(heard).toEqual([])
  })
})

describe('withLease and await using', () => {
  it('withLease and await using releases when the work is done, and when it throws', async () => {
    const { leases, store } = setUp()
    expect(await leases.withLease('r', async (lease) => lease.held && 'result')).toBe('result')
    expect(await store.read(['r'])).toEqual([[]])
    const failing = leases.withLease('r', () => {
      throw new Error('the work failed')
    })
    await expect(failing).rejects.toThrow('the work failed')
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('withLease and await using give the work a signal that aborts with the loss and with the signal of the caller', async () => {
    const { clock, leases, store } = setUp()
    const stop = new AbortController()
    const stopped = leases.withLease('r', (_, signal) => aborted(signal).then(() => signal.reason), {
      signal: stop.signal,
    })
    await clock.advance(0)
    stop.abort('enough')
    expect(await stopped).toBe('enough')
    const reasons: unknown[] = []
    const lost = leases.withLease('r', async (lease, signal) => {
      await store.release({ resource: 'r', token: lease.token })
      await aborted(signal)
      reasons.push(signal.reason)
    })
    await expect(lost).rejects.toMatchObject({ code: 'lease-lost' })
    expect(reasons).toMatchObject([{ code: 'lease-lost' }])
  })

  it('withLease and await using leaves nothing behind in the signal of the caller', async () => {
    const { leases } = setUp()
    const stop = new AbortController()
    const signals: AbortSignal[] = []
    const work = (_: unknown, signal: AbortSignal) => {
      signals.push(signal)
      expect(getEventListeners(stop.signal, 'abort')).not.toEqual([])
    }
    await leases.withLease('r', work, { signal: stop.signal })
    await leases.withLease(['a', 'b'], work, { signal: stop.signal })
    await leases.lead('r', work, { signal: stop.signal })
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
    // A signal of `AbortSignal.any` would follow it for good, and be kept for that.
    stop.abort()
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false])
  })

  it('rejects with lease-lost when the lease was lost before the work had ended', async () => {
    const { clock, leases, store } = setUp()
    const working = leases
      .withLease('r', (lease) => store.release({ resource: 'r', token: lease.token }))
      .catch((error) => error)
    await clock.advance(10)
    expect(await working).toMatchObject({ code: 'lease-lost' })
  })

  it('rejects with lease-lost whatever the work threw because of the loss, with its error as the cause', async () => {
    const { clock, leases, store } = setUp()
    const failure = new Error('the connection was cut')
    const working = leases
      .withLease('r', async (lease) => {
        await store.release({ resource: 'r', token: lease.token })
        throw failure
      })
      .catch((error) => error)
    await clock.advance(10)
    expect(await working).toMatchObject({ code: 'lease-lost', resource: 'r', cause: failure })
  })

  it('rejects with the loss itself if the work throws it', async () => {
    const { clock, leases, store } = setUp()
    let loss: unknown
    const working = leases
      .withLease('r', async (lease) => {
        await store.release({ resource: 'r', token: lease.token })
        loss = lease.signal.reason
        lease.signal.throwIfAborted()
      })
      .catch((error) => error)
    await clock.advance(10)
    expect(await working).toBe(loss)
  })

  it('withLease and await using returns the result though the release failed, and tells it by an event', async () => {
    const { clock, network, leases, events } = setUp()
    const working = leases.withLease('r', () => {
      network.faults = { failBefore: 1 }
      return 'result'
    })
    await clock.advance(6000)
    expect(await working).toBe('result')
    expect(events).toContainEqual(expect.objectContaining({ type: 'error', operation: 'release' }))
  })

  it('releases at the end of the scope', async () => {
    const { leases, store } = setUp()
    {
      await using lease = await leases.acquire('r')
      expect((await leases.inspect('r'))?.id).toBe(lease.id)
    }
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('withLease and await using releases once, however often it is asked', async () => {
    const { leases, events } = setUp()
    const lease = await leases.acquire('r')
    await Promise.all([lease.release(), lease.release(), lease[Symbol.asyncDispose]()])
    expect(events.filter(({ type }) => type === 'released').length).toBe(1)
    expect(lease.held).toBe(false)
    expect(lease.signal.aborted).toBe(false)
    await expect(lease.renew()).rejects.toMatchObject({ code: 'lease-lost' })
  })

  it('withLease and await using retries a release, and takes an ended lease as released if an answer was lost', async () => {
    const { clock, network, leases, events, store } = setUp()
    const lease = await leases.acquire('r')
    network.faults = { failAfter: 1 }
    const releasing = lease.release()
    await clock.advance(10)
    network.faults = {}
    await clock.advance(100)
    await releasing
    expect(events.at(-1)).toMatchObject({ type: 'released' })
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('withLease and await using tells the loss when the release shows that the lease was gone', async () => {
    const { leases, store, events } = setUp({ quietLoss: true })
    const lease = await leases.acquire('r')
    await store.release({ resource: 'r', token: lease.token })
    await lease.release()
    expect(events.at(-1)).toMatchObject({ type: 'lost', reason: 'refused' })
    expect(lease.signal.aborted).toBe(true)
  })
})
