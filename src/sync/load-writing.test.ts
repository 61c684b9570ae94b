import { afterEach, describe, expect, it, vi } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import type { createSync } from './index.ts'
import { memoryMessengers, memoryStorage } from './memory.ts'
import { SYNC_ACTIONS } from './messages.ts'
import type { SyncWarning } from './warnings.ts'

afterEach(() => {
  vi.doUnmock('./load-writing.ts')
})

/** `createSync` with another way to load the writer. */
async function createSyncWith(loadWriting: () => Promise<unknown>): Promise<typeof createSync> {
  vi.resetModules()
  vi.doMock('./load-writing.ts', () => ({ loadWriting }))
  return (await import('./sync.ts')).createSync
}

it('a page loads what a write needs with its first write, and not before', async () => {
  const { loadWriting } = await import('./load-writing-browser.ts')
  const load = vi.fn(loadWriting)
  const create = await createSyncWith(load)
  await using sync = create<{ n: number }>({ storage: memoryStorage() })
  await sync.bootstrap()
  expect(sync.state.entries).toEqual([])
  expect(load).not.toHaveBeenCalled()
  await sync.setEntity('a', { n: 1 })
  await sync.setEntity('b', { n: 2 })
  expect(load).toHaveBeenCalledTimes(1)
})

it('a write waits in the log while what it needs cannot be loaded, and is carried out later', async () => {
  const writing = await import('./writing.ts')
  const clock = new FakeClock()
  const storage = memoryStorage()
  const warnings: SyncWarning[] = []
  let isOffline = true
  const create = await createSyncWith(async () => {
    if (isOffline) throw new TypeError('Failed to fetch dynamically imported module')
    return writing
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

describe('a page that cannot load what a write needs', () => {
  const offline = async () => {
    throw new TypeError('Failed to fetch dynamically imported module')
  }

  it('a page that cannot load what a write needs takes back a write that the storage refuses', async () => {
    const create = await createSyncWith(offline)
    const storage = memoryStorage()
    await using sync = create<{ n: number }>({ storage, clock: new FakeClock(), onWarning: () => {} })
    await sync.bootstrap()
    const refused = vi.spyOn(storage, 'set').mockRejectedValue(new Error('full'))
    await expect(sync.setEntity('a', { n: 1 })).rejects.toMatchObject({ message: 'full' })
    expect(sync.get('a')).toBeUndefined()
    expect(sync.waiting).toBe(0)
    refused.mockRestore()
  })

  it('a page that cannot load what a write needs refuses a patch of an entity that does not exist', async () => {
    const create = await createSyncWith(offline)
    const clock = new FakeClock()
    await using sync = create<{ n: number }>({ storage: memoryStorage(), clock, onWarning: () => {} })
    await sync.bootstrap()
    await expect(sync.patchEntity('a', { n: 1 })).rejects.toMatchObject({ code: 'not-found' })
  })

  it('a page that cannot load what a write needs takes back a write before its bootstrap that a schema has not checked', async () => {
    const create = await createSyncWith(offline)
    const storage = memoryStorage({ 'trackedEntities:index': { ids: ['a'] }, 'trackedEntity:a': { n: 1 } })
    const entity = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) =>
          (value as { n: unknown }).n === 'x'
            ? { issues: [{ message: 'not a number' }] }
            : { value: value as { n: number } },
      },
    } as const
    const clock = new FakeClock()
    await using sync = create({ storage, clock, onWarning: () => {}, validate: { entity } })
    const patched = sync.patchEntity('a', { n: 'x' as never })
    await expect(patched).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })
    expect(await storage.keys()).toEqual(['trackedEntities:index', 'trackedEntity:a'])
    await sync.bootstrap()
    expect(sync.get('a')).toEqual({ n: 1 })
  })

  it('a page that cannot load what a write needs does not answer messages, and shows what the storage reports', async () => {
    const create = await createSyncWith(offline)
    const storage = memoryStorage({ 'trackedEntities:index': { ids: ['a'] }, 'trackedEntity:a': { n: 1 } })
    const connect = memoryMessengers()
    const sender = connect()
    await using sync = create<{ n: number }>({ storage, messenger: connect(), clock: new FakeClock() })
    await sync.bootstrap()
    await storage.set({ 'trackedEntity:a': { n: 2 } })
    const message = { action: SYNC_ACTIONS.entityDelta, delta: { a: { n: 2 } } }
    expect(await sender.send(message, new AbortController().signal)).toBeUndefined()
    await expect.poll(() => sync.get('a')).toEqual({ n: 2 })
  })
})
