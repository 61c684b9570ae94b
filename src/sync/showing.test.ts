import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { changesOf, fakeExtension, type Item, opened } from '../../test/sync/fake-extension.ts'
import { createSync, memoryStorage, STORAGE_KEYS } from './index.ts'

describe('bootstrap', () => {
  it('keeps what comes before its end, and takes it then', async () => {
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
    expect(late.entries()).toEqual([['b', { n: 3 }]])
  })

  it('that fails can be called again', async () => {
    const storage = memoryStorage({ [STORAGE_KEYS.index]: { ids: ['a'] }, 'trackedEntity:a': { n: 1 } })
    const sync = createSync<Item>({ storage })
    vi.spyOn(storage, 'get').mockRejectedValueOnce(new Error('asleep'))
    await expect(sync.bootstrap()).rejects.toThrow('asleep')
    await sync.bootstrap()
    expect(sync.get('a')).toEqual({ n: 1 })
  })
})

describe('a read', () => {
  it('does not overtake one that was asked for before it', async () => {
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

describe('a change', () => {
  it('is told by its key, once, to those who want it', async () => {
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

  it('leaves the array of entries and the other entities the same objects', async () => {
    const sync = createSync<Item>({ storage: memoryStorage() })
    await sync.setEntities([
      ['a', { n: 1 }],
      ['b', { n: 2 }],
    ])
    const [before, a] = [sync.entries(), sync.get('a')]
    await sync.setEntity('b', { n: 2 })
    expect(sync.entries()).toBe(before)
    await sync.setEntity('b', { n: 3 })
    expect(sync.entries()).not.toBe(before)
    expect(sync.get('a')).toBe(a)
  })

  it('that a listener throws at, or makes itself, reaches all in one order', async () => {
    const sync = createSync<Item>({ storage: memoryStorage() })
    const heard: string[] = []
    sync.subscribe((change) => {
      if (change.type === 'entity' && change.id === 'a') void sync.setEntity('b', { n: 1 })
      throw new Error('a bad listener')
    })
    sync.subscribe((change) => heard.push('id' in change ? change.id : change.type))
    await sync.setEntity('a', { n: 1 })
    expect(heard).toEqual(['a', 'b'])
  })
})
