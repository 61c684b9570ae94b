import { afterEach, expect, it, vi } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import type { createSync } from './index.ts'
import { memoryStorage } from './memory.ts'
import type { SyncWarning } from './warnings.ts'

afterEach(() => {
  vi.doUnmock('./load-writer.ts')
})

/** `createSync` with another way to load the writer. */
async function createSyncWith(loadWriter: () => Promise<unknown>): Promise<typeof createSync> {
  vi.resetModules()
  vi.doMock('./load-writer.ts', () => ({ loadWriter }))
  return (await import('./sync.ts')).createSync
}

it('a page loads the writer with its first write, and not before', async () => {
  const { loadWriter } = await import('./load-writer-browser.ts')
  const load = vi.fn(loadWriter)
  const create = await createSyncWith(load)
  await using sync = create<{ n: number }>({ storage: memoryStorage() })
  await sync.bootstrap()
  expect(sync.state.entries).toEqual([])
  expect(load).not.toHaveBeenCalled()
  await sync.setEntity('a', { n: 1 })
  await sync.setEntity('b', { n: 2 })
  expect(load).toHaveBeenCalledTimes(1)
})

it('if the writer cannot be loaded, a write waits in the log, and the writer is loaded later', async () => {
  const writer = await import('./writer.ts')
  const clock = new FakeClock()
  const storage = memoryStorage()
  const warnings: SyncWarning[] = []
  let isOffline = true
  const create = await createSyncWith(async () => {
    if (isOffline) throw new TypeError('Failed to fetch dynamically imported module')
    return writer
  })
  const onWarning = (warning: SyncWarning) => void warnings.push(warning)
  await using sync = create<{ n: number }>({ storage, clock, onWarning })
  await sync.bootstrap()
  await sync.setEntity('a', { n: 1 })
  expect(sync.get('a')).toEqual({ n: 1 })
  expect(warnings).toMatchObject([{ code: 'write-postponed' }])
  expect(sync.waiting).toBe(1)
  isOffline = false
  await clock.advance(60_000)
  expect(sync.waiting).toBe(0)
  expect(await storage.get(['trackedEntity:a'])).toEqual({ 'trackedEntity:a': { n: 1 } })
})
