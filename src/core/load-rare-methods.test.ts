import { afterEach, expect, it, vi } from 'vitest'
import { memoryStore } from '../stores/memory.ts'

afterEach(() => {
  vi.doUnmock('./load-rare-methods.ts')
  vi.doUnmock('./load-local-queue.ts')
  vi.resetModules()
})

/** `createLeases` with another way to load the rare methods. */
async function createLeasesWith(loadRareMethods: () => Promise<unknown>) {
  vi.doMock('./load-rare-methods.ts', () => ({ loadRareMethods }))
  const { createLeases } = await import('./create-leases.ts')
  return createLeases(memoryStore())
}

it('a page loads the rare methods when one of them is used, and not before', async () => {
  const { loadRareMethods } = await import('./load-rare-methods-browser.ts')
  const load = vi.fn(loadRareMethods)
  await using leases = await createLeasesWith(load)
  await using lease = await leases.acquire('a')
  expect(load).not.toHaveBeenCalled()
  expect(await leases.inspect('a')).toMatchObject({ token: lease.token })
  const ticket = await lease.detach()
  await using adopted = await leases.adopt(ticket)
  expect(adopted.token).toBe(lease.token)
  await using both = await leases.acquireAll(['c', 'b'])
  expect(both.leases.map(({ resource }) => resource)).toEqual(['c', 'b'])
})

it('if the rare methods cannot be loaded, the call rejects with a LeaseError, and other methods work', async () => {
  await using leases = await createLeasesWith(async () => {
    throw new TypeError('Failed to fetch dynamically imported module')
  })
  await using lease = await leases.acquire('a')
  await expect(leases.list()).rejects.toMatchObject({ name: 'LeaseError', code: 'store-failed' })
  await expect(lease.detach()).rejects.toMatchObject({ name: 'LeaseError', code: 'store-failed' })
  expect(lease.held).toBe(true)
  // The work under a signal of the caller needs them, too. It does not run, and its lease is released.
  const { signal } = new AbortController()
  const work = vi.fn()
  await expect(leases.withLease('b', work, { signal })).rejects.toMatchObject({ code: 'store-failed' })
  expect(work).not.toHaveBeenCalled()
  expect(await leases.tryAcquire('b')).not.toBeNull()
})

it('on a store without a queue, a page loads the queue of the manager, and its waiters are served in order', async () => {
  vi.resetModules()
  vi.doMock('./load-local-queue.ts', () => import('./load-local-queue-browser.ts'))
  const { createLeases } = await import('./create-leases.ts')
  const store = memoryStore()
  await using leases = createLeases({ ...store, supports: { ...store.supports, queue: false } })
  const first = await leases.acquire('a')
  const order: number[] = []
  const waiters = [1, 2, 3].map((n) => leases.withLease('a', async () => order.push(n)))
  await first.release()
  await Promise.all(waiters)
  expect(order).toEqual([1, 2, 3])
})
