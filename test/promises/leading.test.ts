import { describe, expect, it } from 'vitest'
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

  it('leads again after a loss, also if the work returned or threw because of it', async () => {
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

  it('ends when the work throws, and releases', async () => {
    const { leases, store } = setUp()
    const failing = leases.lead('r', () => {
      throw new Error('no schedule')
    })
    await expect(failing).rejects.toThrow('no schedule')
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('stops waiting when the signal aborts', async () => {
    const { clock, leases, another } = setUp()
    await another().acquire('r', { ttl: '1h' })
    const stop = new AbortController()
    const leading = leases.lead('r', () => {}, { signal: stop.signal }).catch((error) => error)
    await clock.advance(10)
    stop.abort('enough')
    await clock.advance(10)
    expect(await leading).toMatchObject({ code: 'aborted', cause: 'enough' })
  })

  it('holds the lease until the work has ended, though the signal has aborted', async () => {
    const { clock, leases, store } = setUp()
    const stop = new AbortController()
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
    const leading = leases.lead('r', () => finished, { signal: stop.signal }).catch((error) => error)
    await clock.advance(10)
    stop.abort('enough')
    await clock.advance(60_000)
    expect(await store.read(['r'])).toMatchObject([[{ owner: 'me' }]])
    finish()
    await clock.advance(10)
    expect(await leading).toMatchObject({ code: 'aborted', cause: 'enough' })
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('rejects with closed when the manager is closed', async () => {
    const { clock, leases } = setUp()
    const leading = leases
      .lead('r', (lease) => new Promise((resolve) => lease.signal.addEventListener('abort', resolve)))
      .catch((error) => error)
    await clock.advance(10)
    await leases.close()
    expect(await leading).toMatchObject({ code: 'closed' })
  })

  it('has no wait of its own', async () => {
    const { leases } = setUp()
    await expect(leases.lead('r', () => {}, { wait: 5 } as never)).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringContaining('`wait`: unknown option'),
    })
  })
})
