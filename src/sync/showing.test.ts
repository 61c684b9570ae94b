import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { changesOf, fakeExtension, type Item, opened } from '../../test/sync/fake-extension.ts'
import { createSync, memoryStorage, STORAGE_KEYS } from './index.ts'

describe('bootstrap', () => {
  it('applies changes that arrive before its end after it', async () => {
    const extension = fakeExtension({ latency: [5, 5], messageLatency: [0, 0] })
    const [writer] = await opened(extension, 'Page')
    await extension.resolved(writer.setEntity('a', { n: 1 }))
    const late = extension.openPage()
    const seen = changesOf(late)
    const done = late.bootstrap()
    const writes = [
      writer.setEntity('a', { n: 2 }),
      writer.setEntity('b', { n: 3 }),
      writer.removeEntity('a'),
    ]
    await extension.clock.advance(5)
    expect(late.isBootstrapped).toBe(false)
    expect(seen).toEqual([])
    await extension.resolved(Promise.all([done, ...writes]))
    expect(late.isBootstrapped).toBe(true)
    await extension.settle()
    expect(late.state.entries).toEqual([['b', { n: 3 }]])
  })

  it('can be called again after a failure, which is a LeaseError', async () => {
    const storage = memoryStorage({ [STORAGE_KEYS.index]: { ids: ['a'] }, 'trackedEntity:a': { n: 1 } })
    const sync = createSync<Item>({ storage })
    vi.spyOn(storage, 'get').mockRejectedValueOnce(new Error('asleep'))
    await expect(sync.bootstrap()).rejects.toMatchObject({ code: 'store-failed', message: 'asleep' })
    await sync.bootstrap()
    expect(sync.get('a')).toEqual({ n: 1 })
  })
})

describe('a read', () => {
  it('does not overtake an earlier read', async () => {
    const storage = memoryStorage({ [STORAGE_KEYS.index]: { ids: ['a'] }, 'trackedEntity:a': { n: 0 } })
    const sync = createSync<Item>({ storage })
    await sync.bootstrap()
    const seen: unknown[] = []
    sync.subscribe((change) => change.type === 'entity' && seen.push(change.entity.n))
    const slow = Promise.withResolvers<void>()
    const { get } = storage
    vi.spyOn(storage, 'get').mockImplementationOnce(async (keys) => {
      const items = await get(keys)
      await slow.promise
      return items
    })
    await storage.set({ 'trackedEntity:a': { n: 1 } })
    await new Promise(setImmediate)
    await storage.set({ 'trackedEntity:a': { n: 2 } })
    await new Promise(setImmediate)
    slow.resolve()
    await eventually(() => expect(seen.at(-1)).toBe(2))
    expect(seen).toEqual([1, 2])
  })
})

describe('the state', () => {
  it('has the entities and settings, as `settings` has', async () => {
    const sync = createSync<Item>({ storage: memoryStorage() })
    const settings = { featureEnabled: true, scopeMode: 'all', themeToken: '#6441a5' }
    expect(sync.state).toEqual({ entries: [], settings })
    const before = sync.state
    await sync.setEntity('a', { n: 1 })
    expect(before.entries).toEqual([])
    expect(sync.state).toEqual({ entries: [['a', { n: 1 }]], settings })
    expect(sync.settings).toBe(sync.state.settings)
    expect(sync.state).toBe(sync.state)
  })

  it('has changed before the listeners are called', async () => {
    const sync = createSync<Item>({ storage: memoryStorage() })
    const seen: unknown[] = []
    await sync.bootstrap()
    sync.subscribe(() => seen.push(sync.state))
    await sync.setEntity('a', { n: 1 })
    await sync.updateSettings({ themeToken: '#fff' })
    expect(seen).toMatchObject([
      { entries: [['a', { n: 1 }]] },
      { entries: [['a', { n: 1 }]], settings: { themeToken: '#fff' } },
    ])
  })
})

describe('a change', () => {
  it('is delivered once, with its key, to the listeners of this entity and of all entities', async () => {
    const extension = fakeExtension({ flavour: 'firefox' })
    const [writer, reader] = await opened(extension, 'Page', 'Page')
    const all = changesOf(reader)
    const ofA: unknown[] = []
    reader.subscribe((change) => ofA.push(change.type), 'a')
    for (const write of [
      () => writer.setEntity('a', { n: 1 }),
      () => writer.setEntity('a', { n: 1 }),
      () => writer.setEntity('b', { n: 2 }),
      () => writer.updateSettings({ themeToken: '#fff' }),
      () => writer.removeEntity('a'),
      () => writer.reset(),
      () => writer.reset(),
    ]) {
      await extension.resolved(write())
      await extension.settle()
    }
    expect(all).toEqual([
      { type: 'entity', id: 'a', entity: { n: 1 } },
      { type: 'entity', id: 'b', entity: { n: 2 } },
      { type: 'settings', settings: { featureEnabled: true, scopeMode: 'all', themeToken: '#fff' } },
      { type: 'removed', id: 'a' },
      { type: 'cleared' },
    ])
    expect(ofA).toEqual(['entity', 'removed', 'cleared'])
  })

  it('keeps the same state, entries and other entities if nothing else changed', async () => {
    const sync = createSync<Item>({ storage: memoryStorage() })
    await sync.setEntities([
      ['a', { n: 1 }],
      ['b', { n: 2 }],
    ])
    const [before, a] = [sync.state.entries, sync.get('a')]
    await sync.setEntity('b', { n: 2 })
    expect(sync.state.entries).toBe(before)
    await sync.setEntity('b', { n: 3 })
    expect(sync.state.entries).not.toBe(before)
    expect(sync.get('a')).toBe(a)
  })

  it('reaches all listeners in one order, also if a listener throws or causes it', async () => {
    const sync = createSync<Item>({ storage: memoryStorage() })
    const received: string[] = []
    sync.subscribe((change) => {
      if (change.type === 'entity' && change.id === 'a') void sync.setEntity('b', { n: 1 })
      throw new Error('a bad listener')
    })
    sync.subscribe((change) => received.push('id' in change ? change.id : change.type))
    await sync.setEntity('a', { n: 1 })
    expect(received).toEqual(['a', 'b', 'status'])
  })
})
