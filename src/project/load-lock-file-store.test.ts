import { afterEach, expect, it, vi } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'

afterEach(() => {
  vi.doUnmock('./load-lock-file-store.ts')
})

/** A bed whose tabs load the fallback in another way. */
async function bedWith(loadLockFileStore: () => Promise<unknown>): Promise<ReturnType<typeof projectBed>> {
  vi.resetModules()
  vi.doMock('./load-lock-file-store.ts', () => ({ loadLockFileStore }))
  return (await import('../../test/web/project-bed.ts')).projectBed()
}

it('a page with Web Locks never loads the fallback, and another page loads it once', async () => {
  const { loadLockFileStore } = await import('./load-lock-file-store-browser.ts')
  const loaded = await loadLockFileStore()
  const load = vi.fn(async () => loaded)
  const { openTab, finished } = await bedWith(load)
  const lease = await finished(openTab().locks.acquireProjectLock())
  expect(lease.backend).toBe('web')
  expect(load).not.toHaveBeenCalled()
  const { locks } = openTab({ locks: null })
  const fallback = await finished(locks.acquireProjectLock({ scope: 'history' }))
  expect(fallback.backend).toBe('fallback')
  await finished(locks.releaseProjectLock(fallback))
  await finished(locks.acquireProjectLock())
  expect(load).toHaveBeenCalledTimes(1)
})

it('if the fallback cannot be loaded, an acquisition tries again, and the lock can be closed', async () => {
  const loaded = await import('./lock-file-store.ts')
  let failures = 2
  const { openTab, finished } = await bedWith(async () => {
    if (failures-- > 0) throw new TypeError('Failed to fetch dynamically imported module')
    return loaded
  })
  const { locks, emitted } = openTab({ locks: null })
  await finished(locks.acquireProjectLock())
  expect(emitted().filter((type) => type === 'retry')).toHaveLength(2)
  await finished(locks.close())
})

it('a lock that was closed before its fallback was loaded grants nothing', async () => {
  const { openTab, finished } = projectBed()
  const { locks } = openTab({ locks: null })
  await finished(locks.close())
  await expect(finished(locks.acquireProjectLock())).rejects.toMatchObject({ code: 'closed' })
})
