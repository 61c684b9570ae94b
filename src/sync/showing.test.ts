import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { changesOf, fakeExtension, type Item, opened } from '../../test/sync/fake-extension.ts'
import { FakeClock } from '../testing/index.ts'
import {
  createSync,
  memoryMessengers,
  memoryStorage,
  STORAGE_KEYS,
  type StorageAdapter,
  type Sync,
} from './index.ts'
import type { Items, StorageListener } from './storage.ts'

describe('bootstrap', () => {
  it('bootstrap applies changes that arrive before its end after it', async () => {
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

  it('bootstrap can be called again after a failure, which is a LeaseError', async () => {
    const storage = memoryStorage({ [STORAGE_KEYS.index]: { ids: ['a'] }, 'trackedEntity:a': { n: 1 } })
    const sync = createSync<Item>({ storage })
    vi.spyOn(storage, 'get').mockRejectedValueOnce(new Error('asleep'))
    await expect(sync.bootstrap()).rejects.toMatchObject({ code: 'store-failed', message: 'asleep' })
    await sync.bootstrap()
    expect(sync.get('a')).toEqual({ n: 1 })
  })
})

describe('a read', () => {
  it('a read does not overtake an earlier read', async () => {
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

describe('records that were carried out together', () => {
  const log = (at: number) => `trackedEntities:log:${String(at).padStart(18, '0')}.other`
  const format = 'option B, index shards 1, schema 1'

  /** A context that leaves records to others, and hears only of what `report` names. */
  async function contextOn(storage: StorageAdapter) {
    let report: StorageListener = () => {}
    const subscribe: StorageAdapter['subscribe'] = (listener) => {
      report = listener
      return () => {}
    }
    const messenger = memoryMessengers()()
    const sync = createSync<Item>({ storage: { ...storage, subscribe }, messenger, writes: 'coordinator' })
    await sync.bootstrap()
    return {
      sync,
      async report(...args: Parameters<StorageListener>) {
        report(...args)
        await new Promise(setImmediate)
      },
    }
  }

  it('records that were carried out together leave the view together, whatever the order of their events', async () => {
    const storage = memoryStorage()
    const { sync, report } = await contextOn(storage)
    const seen = changesOf(sync)
    const reset = { format, ops: [{ reset: true }] }
    const set = { format, ops: [{ delta: [['a', { n: 1 }]] }] }
    await storage.set({ [log(1)]: reset, [log(2)]: set })
    await report({ [log(1)]: { newValue: reset }, [log(2)]: { newValue: set } })
    await storage.set({ [STORAGE_KEYS.index]: { ids: ['a'] }, 'trackedEntity:a': { n: 1 } })
    await storage.remove([log(1), log(2)])
    await report({ [log(2)]: {} })
    await report({ [log(1)]: {} })
    expect(seen).toEqual([{ type: 'entity', id: 'a', entity: { n: 1 } }])
    expect(sync.get('a')).toEqual({ n: 1 })
  })

  it('records that were carried out together do not take a record with them that is still on its way to the storage', async () => {
    const storage = memoryStorage()
    const sent = Promise.withResolvers<void>()
    const slow = { ...storage, set: (items: Items) => sent.promise.then(() => storage.set(items)) }
    const { sync, report } = await contextOn(slow)
    const set = { format, ops: [{ delta: [['a', { n: 1 }]] }] }
    await storage.set({ [log(1)]: set })
    await report({ [log(1)]: { newValue: set } })
    const seen = changesOf(sync)
    const written = sync.setEntity('b', { n: 2 })
    await storage.set({ [STORAGE_KEYS.index]: { ids: ['a'] }, 'trackedEntity:a': { n: 1 } })
    await storage.remove([log(1)])
    await report({ [log(1)]: {} })
    await report(null)
    expect(seen).toEqual([{ type: 'entity', id: 'b', entity: { n: 2 } }])
    expect(sync.get('b')).toEqual({ n: 2 })
    sent.resolve()
    await written
  })
})

describe('the state', () => {
  it('the state has the entities and settings, as `settings` has', async () => {
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

  it('the state has changed before the listeners are called', async () => {
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

describe('a listener that reads the state at every change', () => {
  /** The number of lists that were built for this listener. */
  function countLists(sync: Sync<Item>) {
    const lists = new Set<unknown>()
    let changes = 0
    sync.subscribe((change) => {
      if (change.type === 'status') return
      changes++
      lists.add(sync.state.entries)
      if (change.type === 'entity') expect(sync.get(change.id)).toBe(change.entity)
    })
    return () => ({ changes, lists: lists.size })
  }
  const items = (count: number) => Array.from({ length: count }, (_, n) => [`e${n}`, { n }] as const)

  it('a listener that reads the state at every change gets one list for each batch of a bootstrap, and one for a write of many', async () => {
    const storage = memoryStorage()
    await createSync<Item>({ storage }).setEntities(items(3000))
    const sync = createSync<Item>({ storage, batch: 1000 })
    const counted = countLists(sync)
    await sync.bootstrap()
    expect(counted()).toEqual({ changes: 3000, lists: 3 })
    await sync.setEntities(items(2000).map(([id]) => [id, { n: -1 }]))
    expect(counted()).toEqual({ changes: 5000, lists: 4 })
    await sync.removeEntity(...items(2500).map(([id]) => id))
    expect(counted()).toEqual({ changes: 7500, lists: 5 })
  })

  it('a listener that reads the state at every change gets a few lists for many records of another context', async () => {
    const storage = memoryStorage()
    const clock = new FakeClock()
    const writer = createSync<Item>({ storage, clock })
    await writer.setEntities(items(1001))
    for (let n = 0; n < 300; n++) await writer.setEntity(`e${n}`, { n: -1 })
    const sync = createSync<Item>({ storage, clock })
    const counted = countLists(sync)
    await sync.bootstrap()
    expect(sync.get('e7')).toEqual({ n: -1 })
    expect(counted().lists).toBeLessThan(5)
    await clock.advance(2000)
    expect((await storage.keys()).filter((key) => key.includes('log'))).toEqual([])
    expect(counted().lists).toBeLessThan(5)
  })

  it('a listener that reads the state at every change gets the changes of one batch before those that a listener causes', async () => {
    const sync = createSync<Item>({ storage: memoryStorage() })
    await sync.bootstrap()
    const received: unknown[] = []
    sync.subscribe((change) => {
      if (change.type !== 'entity') return
      received.push([change.id, change.entity.n])
      if (change.id === 'a') void sync.setEntity('b', { n: 3 })
    })
    await sync.setEntities([
      ['a', { n: 1 }],
      ['b', { n: 2 }],
    ])
    await eventually(() => expect(received.length).toBe(3))
    expect(received).toEqual([
      ['a', 1],
      ['b', 2],
      ['b', 3],
    ])
  })
})

describe('a change', () => {
  it('a change is delivered once, with its key, to the listeners of this entity and of all entities', async () => {
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

  it('a change of a new entity comes in the order of the index', async () => {
    const storage = memoryStorage()
    const sync = createSync<Item>({ storage })
    await sync.bootstrap()
    const added: string[] = []
    sync.subscribe((change) => change.type === 'entity' && added.push(change.id))
    const index = { ids: ['c', 'a', 'b'] }
    // Chrome reports the keys of one write in the order of the alphabet.
    await storage.set({
      'trackedEntity:a': { n: 1 },
      'trackedEntity:b': { n: 2 },
      'trackedEntity:c': { n: 3 },
      [STORAGE_KEYS.index]: index,
    })
    await eventually(() => expect(added.length).toBe(3))
    expect(added).toEqual(index.ids)
  })

  it('a change keeps the same state, entries and other entities if nothing else changed', async () => {
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

  it('a change reaches all listeners in one order, also if a listener throws or causes it', async () => {
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
