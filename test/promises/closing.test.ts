import { describe, expect, it, vi } from 'vitest'
import { createLeases, type LeaseStore } from '../../src/core/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { FakeClock, settled } from '../../src/testing/fake-clock.ts'
import { setUp } from './set-up.ts'

/** A store whose requests arrive when the test says so. Their callers cannot end them. */
function setUpLate() {
  const clock = new FakeClock()
  const memory = memoryStore({ clock })
  const waiting: { readonly method: string; arrive(): void }[] = []
  const late = (method: string) =>
    new Promise<void>((arrive) => {
      waiting.push({ method, arrive })
    })
  const store: LeaseStore = {
    ...memory,
    acquire: (ask) => late('acquire').then(() => memory.acquire(ask)),
    release: (by) => late('release').then(() => memory.release(by)),
  }
  /** The next request of this method arrives, and is answered. */
  const arrive = async (method: string) => {
    const index = waiting.findIndex((request) => request.method === method)
    expect(index, `a request to ${method} is on its way`).toBeGreaterThanOrEqual(0)
    waiting.splice(index, 1)[0]?.arrive()
    await settled()
  }
  return { clock, memory, arrive, waiting, leases: createLeases(store, { clock }) }
}

describe('close of a manager', () => {
  it('close of a manager ends after the release of a grant that the first release has overtaken', async () => {
    const { memory, arrive, leases } = setUpLate()
    const acquiring = expect(leases.acquire('r')).rejects.toMatchObject({ code: 'closed' })
    await settled()
    const closed = vi.fn()
    const closing = leases.close().then(closed)
    await acquiring
    await arrive('release')
    await arrive('acquire')
    expect(await memory.read(['r'])).toMatchObject([[{ state: 'held' }]])
    expect(closed).not.toHaveBeenCalled()
    await arrive('release')
    await closing
    expect(await memory.read(['r'])).toEqual([[]])
  })

  it('waits for an answer no longer than a call may take, and releases it later all the same', async () => {
    const { clock, memory, arrive, leases } = setUpLate()
    const acquiring = expect(leases.acquire('r')).rejects.toMatchObject({ code: 'closed' })
    await settled()
    const closing = leases.close()
    await acquiring
    await arrive('release')
    await clock.advance(5000)
    await closing
    await arrive('acquire')
    await arrive('release')
    expect(await memory.read(['r'])).toEqual([[]])
    expect(clock.pending).toBe(0)
  })

  it('waits for the answers of all attempts of an acquire', async () => {
    const { clock, memory, arrive, waiting, leases } = setUpLate()
    const acquiring = expect(leases.acquire('r', { wait: '1m' })).rejects.toMatchObject({ code: 'closed' })
    await clock.advance(6000)
    expect(waiting.map(({ method }) => method)).toEqual(['acquire', 'acquire'])
    const closed = vi.fn()
    const closing = leases.close().then(closed)
    await acquiring
    for (const method of ['release', 'acquire', 'release', 'acquire']) await arrive(method)
    expect(closed).not.toHaveBeenCalled()
    await arrive('release')
    await closing
    expect(await memory.read(['r'])).toEqual([[]])
  })

  it.each(['a lease', 'a lease of somebody, by its token'])(
    'ends after a release that is under way: of %s',
    async (what) => {
      const { memory, arrive, leases } = setUpLate()
      const acquiring = leases.acquire('r')
      await settled()
      await arrive('acquire')
      const lease = await acquiring
      const byToken = what !== 'a lease'
      const { token } = lease
      if (byToken) await lease.detach()
      const releasing = byToken ? leases.release('r', { token }) : lease.release()
      await settled()
      const closed = vi.fn()
      const closing = leases.close().then(closed)
      await settled()
      expect(closed).not.toHaveBeenCalled()
      await arrive('release')
      expect(await releasing).toBe(byToken ? true : undefined)
      await closing
      expect(await memory.read(['r'])).toEqual([[]])
    },
  )

  it('close of a manager ends after all of a group are released', async () => {
    const { memory, arrive, leases } = setUpLate()
    const group = expect(leases.acquireAll(['a', 'b'])).rejects.toMatchObject({ code: 'closed' })
    await settled()
    await arrive('acquire')
    const closed = vi.fn()
    const closing = leases.close().then(closed)
    await settled()
    await arrive('release')
    await arrive('acquire')
    expect(closed).not.toHaveBeenCalled()
    for (const _ of ['a', 'b']) await arrive('release')
    await group
    await closing
    expect(await memory.read(['a', 'b'])).toEqual([[], []])
  })

  it('close of a manager tells the work of withLease, and ends when its lease is released', async () => {
    const { store, leases } = setUp()
    const work = vi.fn(
      (_: unknown, signal: AbortSignal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
    )
    const running = expect(leases.withLease('r', work)).rejects.toMatchObject({ code: 'closed' })
    await settled()
    await leases.close()
    await running
    expect(await store.read(['r'])).toEqual([[]])
  })

  it.each(['waits', 'works'])('close of a manager ends a leader that %s', async (what) => {
    const { store, leases, another } = setUp()
    if (what === 'waits') await another().acquire('r', { ttl: '1h' })
    const work = vi.fn(
      (_: unknown, signal: AbortSignal) =>
        new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve())
        }),
    )
    const leading = expect(leases.lead('r', work)).rejects.toMatchObject({ code: 'closed' })
    await settled()
    expect(work).toHaveBeenCalledTimes(what === 'works' ? 1 : 0)
    await leases.close()
    await leading
    expect(work).toHaveBeenCalledTimes(what === 'works' ? 1 : 0)
    expect(await store.waiting?.({ resources: ['r'], limit: 1 })).toMatchObject([{ count: 0 }])
  })

  it('ends with its block, before that of its store', async () => {
    const memory = memoryStore()
    const closed: string[] = []
    const store: LeaseStore = {
      ...memory,
      async release(by) {
        const released = await memory.release(by)
        closed.push(`released ${by.resource}`)
        return released
      },
      async [Symbol.asyncDispose]() {
        closed.push('store')
      },
    }
    {
      await using opened = store
      await using leases = createLeases(opened)
      await leases.acquire('r')
    }
    expect(closed).toEqual(['released r', 'store'])
  })
})
