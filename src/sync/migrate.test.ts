import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { fakeExtension, type Item } from '../../test/sync/fake-extension.ts'
import { LeaseError } from '../core/index.ts'
import { createSync, type Migrations, memoryStorage, STORAGE_KEYS, type SyncWarning } from './index.ts'

const optionA = { trackedEntities: { a: { n: 1 }, b: { n: 2 } }, foreign: 7 }

describe('entities of the layout one-key', () => {
  it('move to key-per-entity once, also if many contexts start at the same time', async () => {
    const extension = fakeExtension({ latency: [0, 20] })
    const { api } = extension.browser.openPage()
    await extension.resolved(api.storage.local.set(optionA))
    extension.startWorker()
    const surfaces = [extension.openPage(), extension.openTab(), extension.openPage(), extension.openTab()]
    await extension.resolved(Promise.all(surfaces.map((surface) => surface.bootstrap())))
    for (const surface of surfaces)
      expect(Object.fromEntries(surface.state.entries)).toEqual(optionA.trackedEntities)
    await extension.settle()
    expect(extension.browser.items()).toEqual({
      foreign: 7,
      [STORAGE_KEYS.index]: { ids: ['a', 'b'] },
      [STORAGE_KEYS.meta]: { option: 'B', revision: 1, schemaVersion: 1, shards: 1 },
      'trackedEntity:a': { n: 1 },
      'trackedEntity:b': { n: 2 },
    })
  })

  it('entities of the layout one-key that moved are closed to contexts of one-key, which get other-format', async () => {
    const storage = memoryStorage(optionA)
    const old = createSync<Item>({ storage, layout: 'one-key' })
    await old.bootstrap()
    const sync = createSync<Item>({ storage })
    await sync.setEntity('a', { n: 9 })
    for (const write of [
      old.setEntity('a', { n: 5 }),
      createSync({ storage, layout: 'one-key' }).bootstrap(),
    ])
      await expect(write).rejects.toMatchObject({ code: 'other-format' })
    expect((await storage.keys()).toSorted()).toEqual([
      'foreign',
      STORAGE_KEYS.index,
      STORAGE_KEYS.meta,
      'trackedEntity:a',
      'trackedEntity:b',
    ])
  })

  it('entities of the layout one-key that other code still writes move at the next start, and do not replace newer ones of key-per-entity', async () => {
    const storage = memoryStorage(optionA)
    await createSync<Item>({ storage }).setEntity('a', { n: 9 })
    await storage.set({ trackedEntities: { a: { n: 5 }, c: { n: 3 } } })
    const next = createSync<Item>({ storage })
    await next.bootstrap()
    expect(Object.fromEntries(next.state.entries)).toEqual({ a: { n: 9 }, b: { n: 2 }, c: { n: 3 } })
  })

  it('stay where they are if they cannot be read', async () => {
    const storage = memoryStorage({ trackedEntities: 'garbage' })
    const sync = createSync<Item>({ storage })
    await sync.setEntity('a', { n: 1 })
    await createSync({ storage, schema: { version: 2, migrations: { 2: (state) => state } } }).bootstrap()
    expect(await storage.get(['trackedEntities'])).toEqual({ trackedEntities: 'garbage' })
  })
})

describe('a schema', () => {
  const migrations: Migrations = {
    2: ({ settings, entities }) => ({
      settings,
      entities: Object.fromEntries(
        Object.entries(entities).map(([id, entity]) => [id, { n: (entity as Item).n * 10 }]),
      ),
    }),
    3: ({ entities: { b: _dropped, ...entities } }) => ({ settings: { themeToken: '#333333' }, entities }),
  }
  const schema = { version: 3, migrations }
  const versionOne = {
    [STORAGE_KEYS.index]: { ids: ['a', 'b'] },
    'trackedEntity:a': { n: 1 },
    'trackedEntity:b': { n: 2 },
  }
  const versionThree = {
    [STORAGE_KEYS.index]: { ids: ['a'] },
    [STORAGE_KEYS.meta]: { option: 'B', revision: 1, schemaVersion: 3, shards: 1 },
    [STORAGE_KEYS.settings]: { themeToken: '#333333' },
    'trackedEntity:a': { n: 10 },
  }

  it('a schema migrates once, version by version, also if many contexts start at the same time', async () => {
    const extension = fakeExtension({ latency: [0, 20], sync: { schema } })
    await extension.resolved(extension.browser.openPage().api.storage.local.set(versionOne))
    extension.startWorker()
    const surfaces = [extension.openPage(), extension.openPage(), extension.openTab()]
    await extension.resolved(Promise.all(surfaces.map((surface) => surface.bootstrap())))
    for (const surface of surfaces) {
      expect(surface.state.entries).toEqual([['a', { n: 10 }]])
      expect(surface.settings.themeToken).toBe('#333333')
    }
    expect(extension.browser.items()).toEqual(versionThree)
  })

  it('a schema is migrated completely or not at all, whenever the context dies', async () => {
    for (let deathAt = 0; deathAt < 40; deathAt += 2) {
      const extension = fakeExtension({ latency: [3, 3], sync: { schema } })
      await extension.resolved(extension.browser.openPage().api.storage.local.set(versionOne))
      const dying = extension.openPage()
      void dying.bootstrap()
      await extension.clock.advance(deathAt)
      dying.context.kill()
      const next = extension.openPage()
      await extension.resolved(next.bootstrap())
      expect(next.state.entries).toEqual([['a', { n: 10 }]])
    }
  })

  it('a schema is recorded in an empty storage without a migration', async () => {
    const storage = memoryStorage()
    const migrate = vi.fn((state) => state)
    await createSync({ storage, schema: { version: 2, migrations: { 2: migrate } } }).bootstrap()
    expect(migrate).not.toHaveBeenCalled()
    expect(await storage.get([STORAGE_KEYS.meta])).toMatchObject({
      [STORAGE_KEYS.meta]: { schemaVersion: 2 },
    })
  })

  const throws = () => {
    throw new Error('no way')
  }
  it.each([
    ['throws', throws, 'no way'],
    ['returns nothing', () => undefined as never, 'schema.migrations[2]'],
  ])(
    'a schema whose migration %s changes nothing, and the bootstrap rejects with a LeaseError',
    async (_what, migration, message) => {
      const storage = memoryStorage(versionOne)
      const broken = { version: 2, migrations: { 2: migration } }
      const failure = await createSync({ storage, schema: broken })
        .bootstrap()
        .catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(LeaseError)
      expect(failure).toHaveProperty('message', expect.stringContaining(message))
      expect(await storage.get(await storage.keys())).toEqual(versionOne)
    },
  )

  it('a schema is not migrated from an index that is missing; reset() starts anew', async () => {
    const { [STORAGE_KEYS.index]: _missing, ...rest } = versionOne
    for (const [shards, index] of [
      [1, {}],
      [2, { 'trackedEntities:index:1': { ids: ['b'], order: [2] } }],
    ] as const) {
      const meta = { option: 'B', revision: 4, schemaVersion: 1, shards }
      const items = { ...rest, ...index, [STORAGE_KEYS.meta]: meta }
      const storage = memoryStorage(items)
      const sync = createSync<Item>({ storage, schema, onWarning: () => {} })
      for (const call of [sync.bootstrap(), sync.setEntity('c', { n: 1 })])
        await expect(call).rejects.toMatchObject({
          code: 'store-failed',
          message: expect.stringContaining('damaged'),
        })
      expect(await storage.get(await storage.keys())).toEqual(items)
      await sync.reset()
      await sync.setEntity('c', { n: 1 })
      expect(sync.state.entries).toEqual([['c', { n: 1 }]])
    }
  })

  it('a schema is refused by a storage that does not keep it', async () => {
    const storage = memoryStorage(versionOne)
    vi.spyOn(storage, 'set').mockResolvedValue()
    vi.spyOn(storage, 'remove').mockResolvedValue()
    const sync = createSync<Item>({ storage, schema })
    await expect(sync.bootstrap()).rejects.toMatchObject({ code: 'other-format' })
  })

  it('a schema keeps the order of the entities, also of numbers as ids', async () => {
    const ids = ['20', 'x', '3']
    const storage = memoryStorage({
      [STORAGE_KEYS.index]: { ids },
      ...Object.fromEntries(ids.map((id) => [`trackedEntity:${id}`, { n: 1 }])),
    })
    const sync = createSync<Item>({
      storage,
      schema: {
        version: 2,
        migrations: { 2: ({ entities }) => ({ settings: {}, entities: { ...entities, '1': { n: 2 } } }) },
      },
    })
    await sync.bootstrap()
    expect(sync.state.entries.map(([id]) => id)).toEqual([...ids, '1'])
  })

  it('a schema that is newer than this context rejects its bootstrap and its writes', async () => {
    const storage = memoryStorage(versionThree)
    const old = createSync<Item>({ storage })
    await expect(old.bootstrap()).rejects.toMatchObject({
      code: 'other-format',
      message: expect.stringContaining('schema 3'),
    })
    await expect(old.setEntity('a', { n: 0 })).rejects.toMatchObject({ code: 'other-format' })
    expect(await storage.get(await storage.keys())).toEqual(versionThree)
  })

  it('a schema that a newer context introduces makes the writes of a running older context fail', async () => {
    const storage = memoryStorage(versionOne)
    const warnings: SyncWarning[] = []
    const old = createSync<Item>({ storage, onWarning: (warning) => warnings.push(warning) })
    await old.bootstrap()
    await createSync<Item>({ storage, schema }).bootstrap()
    await eventually(() => expect(warnings.map(({ code }) => code)).toContain('other-format'))
    for (const write of [
      old.setEntity('a', { n: 0 }),
      old.updateSettings({}),
      old.reset(),
      old.cleanupOrphans(),
    ])
      await expect(write).rejects.toMatchObject({ code: 'other-format' })
    expect(await storage.get(Object.keys(versionThree))).toEqual(versionThree)
  })
})

describe('an index in shards', () => {
  const entries = Array.from({ length: 50 }, (_, n) => [`e${n}`, { n }] as const)

  it('an index in shards is split and joined when a context with another number of shards starts', async () => {
    const storage = memoryStorage()
    for (const shards of [1, 8, 3, 1]) {
      const sync = createSync<Item>({ storage, shards })
      await sync.setEntities(entries)
      await sync.removeEntity('e7')
      await sync.setEntity('e7', { n: 7 })
      const indexKeys = (await storage.keys()).filter((key) => key.startsWith(STORAGE_KEYS.index))
      expect(indexKeys.length).toBe(shards)
      expect(new Map(sync.state.entries)).toEqual(new Map(entries))
      await sync.close()
    }
  })

  it('changes in one shard when one entity is added', async () => {
    const storage = memoryStorage()
    const sync = createSync<Item>({ storage, shards: 8 })
    await sync.setEntities(entries)
    const set = vi.spyOn(storage, 'set')
    await sync.setEntity('new', { n: 1 })
    const keys = set.mock.calls.flatMap(([items]) => Object.keys(items))
    expect(keys.filter((key) => key.startsWith(STORAGE_KEYS.index)).length).toBe(1)
    const other = createSync<Item>({ storage, shards: 8 })
    await other.bootstrap()
    expect(other.state.entries.length).toBe(51)
    await other.reset()
    await eventually(() => expect(sync.state.entries).toEqual([]))
  })
})
