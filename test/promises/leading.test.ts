import { describe, expect, it } from 'vitest'
import { type Lease, LeaseError } from '../../src/core/index.ts'
import { aborted } from '../aborted.ts'
import { setUp } from './set-up.ts'

describe('a leader', () => {
  it('waits without a limit, leads, and returns what the work returns', async () => {
    const { clock, leases, store, another } = setUp()
    const before = await another().acquire('r', { ttl: '2h', heartbeat: false })
    const leading = leases.lead('r', (lease) => `led with ${lease.token > before.token}`)
    await clock.advance(3_600_000)
    await before.release()
    await clock.advance(10)
    expect(await leading).toBe('led with true')
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('a leader leads again after a loss, also if the work returned or threw because of it', async () => {
    const { clock, leases, store } = setUp()
    const tokens: number[] = []
    const leading = leases.lead('r', async (lease) => {
      tokens.push(lease.token)
      if (tokens.length === 3) return 'done'
      const lost = new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
      await store.release({ resource: 'r', token: lease.token })
      await lost
      if (tokens.length === 2) throw lease.signal.reason
      return 'too early'
    })
    await clock.advance(10_000)
    expect(await leading).toBe('done')
    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b))
    expect(new Set(tokens).size).toBe(3)
  })

  it('a leader ends when the work throws, and releases', async () => {
    const { leases, store } = setUp()
    const failing = leases.lead('r', () => {
      throw new Error('no schedule')
    })
    await expect(failing).rejects.toThrow('no schedule')
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('resolves at once when the signal aborts while it waits', async () => {
    const { clock, leases, store, another } = setUp()
    const holder = await another().acquire('r', { ttl: '1h' })
    const stop = new AbortController()
    const leading = leases.lead('r', () => 'led', { signal: stop.signal })
    await clock.advance(10)
    stop.abort('enough')
    expect(await leading).toBeUndefined()
    await clock.advance(10)
    await holder.release()
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('resolves at once when the signal has aborted before', async () => {
    const { leases, store } = setUp()
    expect(await leases.lead('r', () => 'led', { signal: AbortSignal.abort() })).toBeUndefined()
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('a leader holds the lease until the work has ended, though the signal has aborted', async () => {
    const { clock, leases, store } = setUp()
    const stop = new AbortController()
    const { promise: finished, resolve: finish } = Promise.withResolvers<string>()
    const leading = leases.lead('r', () => finished, { signal: stop.signal })
    await clock.advance(10)
    stop.abort('enough')
    await clock.advance(60_000)
    expect(await store.read(['r'])).toMatchObject([[{ owner: 'me' }]])
    finish('led')
    expect(await leading).toBeUndefined()
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('a leader resolves also when the manager is closed in the same moment', async () => {
    const { clock, leases } = setUp()
    const stop = new AbortController()
    const leading = leases.lead('r', (_, signal) => aborted(signal), { signal: stop.signal })
    await clock.advance(10)
    stop.abort()
    await leases.close()
    expect(await leading).toBeUndefined()
  })

  it.each<[string, (signal: AbortSignal) => unknown]>([
    ['the reason of the signal', (signal) => signal.reason],
    ['an AbortError', () => new DOMException('stopped', 'AbortError')],
    ['an error of a lease that it waited for', () => new LeaseError('aborted', 'the wait was aborted')],
  ])('ends cleanly when the work throws %s because the signal has aborted', async (_, errorOf) => {
    const { clock, leases, store } = setUp()
    const stop = new AbortController()
    const work = async (_: Lease, signal: AbortSignal) => {
      await aborted(signal)
      throw errorOf(signal)
    }
    const leading = leases.lead('r', work, { signal: stop.signal })
    await clock.advance(10)
    stop.abort(new Error('enough'))
    expect(await leading).toBeUndefined()
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('a leader rejects when the work fails in another way after the signal has aborted', async () => {
    const { clock, leases } = setUp()
    const stop = new AbortController()
    const work = async (_: Lease, signal: AbortSignal) => {
      await aborted(signal)
      throw new Error('the disk is full')
    }
    const leading = leases.lead('r', work, { signal: stop.signal }).catch((error) => error.message)
    await clock.advance(10)
    stop.abort()
    expect(await leading).toBe('the disk is full')
  })

  it('rejects with an AbortError of the work if nobody has aborted', async () => {
    const { leases } = setUp()
    const failure = new DOMException('its own limit', 'AbortError')
    const leading = leases.lead('r', () => Promise.reject(failure), { signal: new AbortController().signal })
    await expect(leading).rejects.toBe(failure)
  })

  it('a leader gives the work a signal that aborts with the loss', async () => {
    const { clock, leases, store } = setUp()
    const reasons: unknown[] = []
    const work = async (lease: Lease, signal: AbortSignal) => {
      if (reasons.length === 0) await store.release({ resource: 'r', token: lease.token })
      else return 'again'
      await aborted(signal)
      reasons.push(signal.reason)
      return 'too early'
    }
    const leading = leases.lead('r', work, { signal: new AbortController().signal })
    await clock.advance(10)
    expect(await leading).toBe('again')
    expect(reasons).toMatchObject([{ code: 'lease-lost' }])
  })

  it('a leader resolves with what its work returns after the manager is closed', async () => {
    const { clock, leases } = setUp()
    const leading = leases.lead('r', async (lease) => {
      await aborted(lease.signal)
      return 'stopped'
    })
    await clock.advance(10)
    await leases.close()
    expect(await leading).toBe('stopped')
  })

  it('a leader rejects with closed if its work outlasts the close of the manager', async () => {
    const { clock, leases } = setUp()
    let began = 0
    const leading = leases
      .lead('r', () => {
        began++
        return new Promise<void>((resolve) => clock.setTimer(resolve, 11_000))
      })
      .catch((error) => error.code)
    await clock.advance(10)
    const closing = leases.close()
    await clock.advance('10s')
    await closing
    expect(await Promise.race([leading, 'works'])).toBe('works')
    await clock.advance('1s')
    expect(await leading).toBe('closed')
    expect(began).toBe(1)
  })

  it('a leader refuses a wrong option also if the signal has aborted', async () => {
    const { leases } = setUp()
    const leading = leases.lead('r', () => {}, { ttl: 1, signal: AbortSignal.abort() })
    await expect(leading).rejects.toMatchObject({ code: 'invalid-argument' })
  })

  it('a leader has no wait of its own', async () => {
    const { leases } = setUp()
    await expect(leases.lead('r', () => {}, { wait: 5 } as never)).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringContaining('`wait`: unknown option'),
    })
  })
})
