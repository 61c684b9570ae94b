import { describe, expect, it, vi } from 'vitest'
import { changesOf, fakeExtension, type Item, opened } from '../../test/sync/fake-extension.ts'
import { createLeases } from '../core/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { createSync, memoryMessengers, memoryStorage, STORAGE_KEYS } from './index.ts'
import { LOCK_NAME } from './keys.ts'

const META = { revision: 0, schemaVersion: 1, shards: 1 }

describe('a write', () => {
  it('is shown at once, and in the other contexts when it is stored', async () => {
    const extension = fakeExtension()
    extension.startWorker()
    const [one, two, tab] = await opened(extension, 'Page', 'Page', 'Tab')
    const written = one.setEntity('a', { n: 1 })
    expect(one.get('a')).toEqual({ n: 1 })
    expect(two.get('a')).toBeUndefined()
    await extension.resolved(written)
    await extension.resolved(tab.setEntity('b', { n: 2 }))
    await extension.settle()
    for (const surface of [one, two, tab])
      expect(surface.entries()).toEqual([
        ['a', { n: 1 }],
        ['b', { n: 2 }],
      ])
    expect(extension.browser.items()).toEqual({
      'trackedEntities:index': { ids: ['a', 'b'] },
      'trackedEntities:meta': { ...META, revision: 2 },
      'trackedEntity:a': { n: 1 },
      'trackedEntity:b': { n: 2 },
    })
    expect(extension.warnings).toEqual([])
  })

  it('goes to the entity first and to the index then; a removal the other way round', async () => {
    const extension = fakeExtension()
    const [page] = await opened(extension, 'Page')
    const states: string[] = []
    extension.browser.onWrite(() => {
      const items = extension.browser.items()
      const { ids } = (items[STORAGE_KEYS.index] ?? { ids: [] }) as { ids: string[] }
      states.push(`${'trackedEntity:a' in items ? 'key' : '-'} ${ids.includes('a') ? 'index' : '-'}`)
    })
    await extension.resolved(page.setEntity('a', { n: 1 }))
    await extension.resolved(page.removeEntity('a'))
    expect(states).toEqual(['key -', 'key index', 'key -', '- -'])
  })

  it('that fails is taken back and rejects; what others wrote stays', async () => {
    const extension = fakeExtension({ quotaBytes: 400 })
    const [page, other] = await opened(extension, 'Page', 'Page')
    await extension.resolved(other.setEntity('small', { n: 1 }))
    await extension.settle()
    const seen = changesOf(page)
    const failed = page.setEntities([
      ['small', { n: 2 }],
      ['x'.repeat(400), { n: 3 }],
    ])
    expect(page.get('small')).toEqual({ n: 2 })
    await expect(extension.resolved(failed)).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('quota'),
    })
    await extension.settle()
    expect(page.entries()).toEqual([['small', { n: 1 }]])
    expect(seen.map((change) => change.type)).toEqual(['entity', 'entity', 'entity', 'removed'])
    await extension.resolved(page.setEntity('small', { n: 4 }))
    expect(other.entries().length).toBe(1)
  })

  it('of one field leaves the fields that another context sets', async () => {
    const extension = fakeExtension()
    const [one, two] = await opened(extension, 'Page', 'Page')
    await extension.resolved(one.setEntity('a', { n: 1 }))
    await extension.settle()
    await extension.resolved(
      Promise.all([one.patchEntity('a', { n: 2 }), two.patchEntity('a', { checked: true })]),
    )
    await extension.settle()
    expect(one.get('a')).toEqual({ n: 2, checked: true })
    await expect(extension.resolved(one.patchEntity('none', { n: 1 }))).rejects.toMatchObject({
      code: 'not-found',
    })
    expect(one.get('none')).toBeUndefined()
  })

  it('of a known entity does not read the index', async () => {
    const storage = memoryStorage()
    const sync = createSync<Item>({ storage })
    await sync.setEntity('a', { n: 1 })
    await vi.waitFor(() => expect(sync.entries().length).toBe(1))
    await new Promise(setImmediate)
    const get = vi.spyOn(storage, 'get')
    await sync.setEntity('a', { n: 2 })
    await sync.patchEntity('a', { checked: true })
    await new Promise(setImmediate)
    expect(get.mock.calls.flat(2).filter((key) => key === STORAGE_KEYS.index)).toEqual([])
  })

  it('of an entity that was removed unheard adds it again; of a field of it, finds nothing', async () => {
    const storage = memoryStorage()
    const [deaf, deafToo] = [0, 1].map(() =>
      createSync<Item>({ storage: { ...storage, subscribe: () => () => {} } }),
    )
    const other = createSync<Item>({ storage })
    for (const id of ['a', 'b']) await other.setEntity(id, { n: 1 })
    await Promise.all([deaf?.bootstrap(), deafToo?.bootstrap()])
    await other.removeEntity('a', 'b')
    // What a writer that died has left behind.
    await storage.set({ 'trackedEntity:b': { n: 1 } })
    await expect(deaf?.patchEntity('b', { n: 2 })).rejects.toMatchObject({ code: 'not-found' })
    await deafToo?.setEntity('a', { n: 2 })
    await vi.waitFor(() => expect(other.entries()).toEqual([['a', { n: 2 }]]))
  })

  it('whose index cannot be stored leaves no key behind', async () => {
    const storage = memoryStorage()
    const sync = createSync<Item>({ storage })
    await sync.bootstrap()
    const { set } = storage
    vi.spyOn(storage, 'set').mockImplementation(async (items) => {
      if (STORAGE_KEYS.index in items) throw new Error('full')
      await set(items)
    })
    await expect(sync.setEntity('a', { n: 1 })).rejects.toThrow('full')
    expect(await storage.keys()).toEqual([])
  })

  it('of many costs as many writes as one', async () => {
    const storage = memoryStorage()
    const set = vi.spyOn(storage, 'set')
    const sync = createSync<Item>({ storage, batch: 300 })
    await sync.setEntities(Array.from({ length: 1000 }, (_, n) => [`e${n}`, { n }]))
    expect(set).toHaveBeenCalledTimes(2)
    const other = createSync<Item>({ storage, batch: 300 })
    await other.bootstrap()
    expect(other.entries().length).toBe(1000)
    expect(other.entries()[999]).toEqual(['e999', { n: 999 }])
    await sync.removeEntity(...sync.entries().map(([id]) => id))
    expect(await storage.keys()).toEqual([STORAGE_KEYS.index, STORAGE_KEYS.meta])
  })

  it('after close is refused; those before it are finished', async () => {
    const storage = memoryStorage()
    const sync = createSync<Item>({ storage })
    const written = sync.setEntity('a', { n: 1 })
    await sync.close()
    await written
    await expect(sync.setEntity('b', { n: 1 })).rejects.toMatchObject({ code: 'closed' })
    expect(await storage.keys()).toContain('trackedEntity:a')
  })
})

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
    await vi.waitFor(() => expect(seen.at(-1)).toBe(2))
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

describe('reset and clean-up', () => {
  it('empty the index and leave settings and the keys of others alone', async () => {
    const extension = fakeExtension()
    const [page, other] = await opened(extension, 'Page', 'Page')
    const foreign = { token: 'secret', trackedEntitiesX: 1, 'my:trackedEntity:a': 2 }
    await extension.resolved(page.context.api.storage.local.set(foreign))
    await extension.resolved(page.updateSettings({ scopeMode: 'specific', scopeTargetId: 'example.com' }))
    await extension.resolved(page.setEntity('a', { n: 1 }))
    await extension.resolved(page.context.api.storage.local.set({ 'trackedEntity:orphan': { n: 9 } }))
    await extension.settle()
    const reset = page.reset()
    expect(page.entries()).toEqual([])
    await extension.resolved(reset)
    await extension.settle()
    expect(other.entries()).toEqual([])
    expect(await extension.resolved(other.cleanupOrphans())).toEqual(['orphan'])
    expect(extension.browser.items()).toEqual({
      ...foreign,
      [STORAGE_KEYS.index]: { ids: [] },
      [STORAGE_KEYS.meta]: { ...META, revision: 2 },
      [STORAGE_KEYS.settings]: {
        featureEnabled: true,
        scopeMode: 'specific',
        scopeTargetId: 'example.com',
        themeToken: '#6441a5',
      },
    })
  })

  it('by the coordinator: at the start, and when ids leave the index', async () => {
    const extension = fakeExtension()
    const { api } = extension.browser.openPage()
    await extension.resolved(api.storage.local.set({ 'trackedEntity:old': { n: 1 } }))
    const worker = extension.startWorker()
    expect(await extension.resolved(worker.current().cleanupOrphans())).toEqual(['old'])
    const [page] = await opened(extension, 'Page')
    await extension.resolved(page.setEntity('a', { n: 1 }))
    extension.browser.worker?.kill()
    // A writer that knows nothing of keys takes the id out, and leaves the key behind.
    await extension.resolved(api.storage.local.set({ [STORAGE_KEYS.index]: { ids: [] } }))
    await extension.settle()
    expect(Object.keys(extension.browser.items())).not.toContain('trackedEntity:a')
    await extension.resolved(worker.current().close())
  })
})

describe('messages', () => {
  it('that nobody hears are a warning, and the write is a success', async () => {
    const extension = fakeExtension()
    const [page] = await opened(extension, 'Page')
    await extension.resolved(page.setEntity('a', { n: 1 }))
    await extension.settle()
    expect(extension.warnings.map(({ code }) => code)).toEqual(['no-receiver'])
  })

  it('that nobody answers are sent again, as often as wanted', async () => {
    const extension = fakeExtension({ sync: { ackTimeout: 150, resend: 2 } })
    const mute = extension.browser.openPage()
    const received: unknown[] = []
    mute.api.runtime.onMessage.addListener((message) => {
      received.push(message)
      return true
    })
    const [page] = await opened(extension, 'Page')
    await extension.resolved(page.setEntity('a', { n: 1 }))
    await extension.clock.advance(2000)
    expect(received).toEqual(Array(3).fill({ action: 'entityDelta', revision: 1, delta: { a: { n: 1 } } }))
    expect(extension.warnings.map(({ code }) => code)).toEqual(['no-ack'])
    await extension.resolved(page.close())
  })

  it('come after the write has finished', async () => {
    const extension = fakeExtension()
    const stored: unknown[] = []
    extension.browser.openPage().api.runtime.onMessage.addListener(() => {
      stored.push(extension.browser.items()['trackedEntities:index'])
      return undefined
    })
    const [page] = await opened(extension, 'Page')
    await extension.resolved(page.setEntity('a', { n: 1 }))
    await extension.settle()
    expect(stored).toEqual([{ ids: ['a'] }])
  })

  it('in memory connect contexts of one process', async () => {
    const [storage, connect] = [memoryStorage(), memoryMessengers()]
    const [one, two] = [0, 1].map(() => createSync<Item>({ storage, messenger: connect() }))
    await two?.bootstrap()
    await one?.setEntity('a', { n: 1 })
    await vi.waitFor(() => expect(two?.get('a')).toEqual({ n: 1 }))
  })
})

describe('locks', () => {
  it('may be leases', async () => {
    const [storage, leases] = [memoryStorage(), createLeases(memoryStore())]
    const contexts = Array.from({ length: 3 }, () => createSync<Item>({ storage, locks: leases }))
    await Promise.all(
      contexts.flatMap((sync, at) =>
        Array.from({ length: 20 }, (_, n) => sync.setEntity(`${at}-${n}`, { n })),
      ),
    )
    const [index] = Object.values(await storage.get([STORAGE_KEYS.index])) as { ids: string[] }[]
    expect(index?.ids.length).toBe(60)
    await leases.close()
  })

  it('that are not free in time reject the write, which is taken back', async () => {
    const extension = fakeExtension()
    const [page] = await opened(extension, 'Page')
    const { locks } = extension.browser.openPage()
    void locks.request(LOCK_NAME, () => new Promise(() => {}))
    await extension.settle()
    const write = page.setEntity('a', { n: 1 })
    await expect(extension.resolved(write)).rejects.toMatchObject({ code: 'lease-held', retryable: true })
    expect(page.entries()).toEqual([])
  })
})

describe('a content script', () => {
  it('gets through although the worker dies in mid-operation', async () => {
    const extension = fakeExtension()
    extension.startWorker()
    const [tab] = await opened(extension, 'Tab')
    const firstWorker = extension.browser.worker
    // The entity is stored, and the index is not.
    extension.browser.onWrite(() => firstWorker?.kill())
    await extension.resolved(tab.setEntity('a', { n: 1 }))
    expect(extension.browser.worker).not.toBe(firstWorker)
    await extension.settle()
    expect(tab.entries()).toEqual([['a', { n: 1 }]])
    expect(extension.browser.items()[STORAGE_KEYS.index]).toEqual({ ids: ['a'] })
  })

  it('has a request that comes twice carried out once', async () => {
    const extension = fakeExtension()
    extension.startWorker()
    const [page] = await opened(extension, 'Page')
    const { runtime } = extension.browser.openTab().api
    const request = { action: 'entityWrite', requestId: '1', operation: 'set', args: [[['a', { n: 1 }]]] }
    await extension.resolved(runtime.sendMessage(request))
    await extension.resolved(page.removeEntity('a'))
    expect(await extension.resolved(runtime.sendMessage(request))).toEqual({ result: { indexChanged: true } })
    expect(extension.browser.items()[STORAGE_KEYS.index]).toEqual({ ids: [] })
  })

  it('is told when nobody carries out its write, and takes it back', async () => {
    const extension = fakeExtension()
    const [tab] = await opened(extension, 'Tab')
    await expect(extension.resolved(tab.setEntity('a', { n: 1 }))).rejects.toMatchObject({
      code: 'store-unavailable',
      retryable: true,
    })
    expect(tab.entries()).toEqual([])
  })

  it('is told of errors by their code', async () => {
    const extension = fakeExtension()
    extension.startWorker()
    const [tab] = await opened(extension, 'Tab')
    await expect(extension.resolved(tab.patchEntity('none', { n: 1 }))).rejects.toMatchObject({
      code: 'not-found',
    })
    await expect(extension.resolved(tab.updateSettings({ themeToken: 'mauve' }))).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringContaining('themeToken'),
    })
    expect(tab.settings.themeToken).toBe('#6441a5')
  })
})
