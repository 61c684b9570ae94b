import { describe, expect, it, vi } from 'vitest'
import { createLeases, type LeaseStore } from '../../src/core/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { FakeClock, settled } from '../../src/testing/fake-clock.ts'
import { aborted } from '../aborted.ts'
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

  it('close of a manager renews a lease until its work has ended, and the caller gets the result', async () => {
    const { clock, store, leases, another } = setUp()
    const running = leases.withLease(
      'r',
      async (lease, signal) => {
        await aborted(signal)
        await new Promise<void>((resolve) => clock.setTimer(resolve, 9000))
        return [lease.held, signal.reason.code]
      },
      { ttl: '3s' },
    )
    await clock.advance(10)
    const closing = leases.close()
    const waiting = another().acquire('r', { wait: '1m' })
    await clock.advance(8900)
    expect(await Promise.race([waiting, closing, 'works'])).toBe('works')
    expect(await store.read(['r'])).toMatchObject([[{ state: 'held' }]])
    await clock.advance(200)
    expect(await running).toEqual([true, 'closed'])
    await closing
    expect((await waiting).held).toBe(true)
  })

  it('close of a manager releases a group when the work under it has ended', async () => {
    const { clock, store, leases } = setUp()
    const running = leases.withLease(['a', 'b'], async (_, signal) => {
      await aborted(signal)
      await new Promise<void>((resolve) => clock.setTimer(resolve, 1000))
      return (await store.read(['a', 'b'])).map((found) => found.length)
    })
    await clock.advance(10)
    const closing = leases.close()
    await clock.advance(1000)
    await closing
    expect(await running).toEqual([1, 1])
    expect(await store.read(['a', 'b'])).toEqual([[], []])
  })

  it('close of a manager does not wait for work longer than closeTimeout, and the call rejects with closed', async () => {
    const { clock, store, network } = setUp()
    const leases = createLeases(network, { clock, closeTimeout: '2s' })
    let end = () => {}
    const running = leases.withLease('r', () => new Promise<void>((resolve) => (end = resolve)))
    const outcome = running.catch((error) => error.code)
    await clock.advance(10)
    const closing = leases.close()
    await clock.advance(1900)
    expect(await store.read(['r'])).toMatchObject([[{ state: 'held' }]])
    await clock.advance(200)
    await closing
    expect(await store.read(['r'])).toEqual([[]])
    end()
    expect(await outcome).toBe('closed')
  })

  it('close of a manager starts no work whose lease has just been granted', async () => {
    const { clock, store, leases } = setUp()
    const work = vi.fn()
    leases.subscribe(({ type }) => {
      if (type === 'acquired') leases.close()
    })
    await expect(leases.withLease('r', work)).rejects.toMatchObject({ code: 'closed' })
    await clock.advance(10)
    expect(work).not.toHaveBeenCalled()
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('a lease that is lost while close waits for its work rejects the call with lease-lost', async () => {
    const { clock, store, leases } = setUp()
    const running = leases
      .withLease(
        'r',
        async ({ token }) => {
          await store.release({ resource: 'r', token })
          await new Promise<void>((resolve) => clock.setTimer(resolve, 9000))
        },
        { ttl: '3s' },
      )
      .catch((error) => error.code)
    await clock.advance(10)
    const closing = leases.close()
    await clock.advance(9000)
    await closing
    expect(await running).toBe('lease-lost')
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
    const leading = leases.lead('r', work).then(
      () => 'resolved',
      (error) => error.code,
    )
    await settled()
    expect(work).toHaveBeenCalledTimes(what === 'works' ? 1 : 0)
    await leases.close()
    expect(await leading).toBe(what === 'works' ? 'resolved' : 'closed')
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
