import * as v from 'valibot'
import { describe, expect, expectTypeOf, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { fakeExtension, type Item, opened } from '../../test/sync/fake-extension.ts'
import { createSync, exportCollection, importCollection, memoryStorage, type SyncChange } from './index.ts'

describe('patchEntity and updateSettings', () => {
  it('remove the fields that are undefined', async () => {
    const storage = memoryStorage()
    const sync = createSync<{ n?: number; text: string }>({ storage })
    await sync.setEntity('a', { n: 1, text: 'x' })
    await sync.patchEntity('a', { n: undefined })
    expect(sync.get('a')).toEqual({ text: 'x' })
    await sync.updateSettings({ scopeMode: 'specific', scopeTargetId: 'here' })
    await sync.updateSettings({ scopeMode: 'all', scopeTargetId: undefined })
    expect(await storage.get(['trackedEntity:a', 'syncSettings'])).toEqual({
      'trackedEntity:a': { text: 'x' },
      syncSettings: { featureEnabled: true, scopeMode: 'all', themeToken: '#6441a5' },
    })
  })
})

describe('updateEntity', () => {
  it('updateEntity loses no count of two pages and a content script', async () => {
    const extension = fakeExtension()
    extension.startWorker()
    const surfaces = await opened(extension, 'Page', 'Page', 'Tab')
    const count = async (surface: (typeof surfaces)[number]) => {
      for (let n = 0; n < 20; n++)
        await surface.updateEntity('a', (item) => ({ ...item, n: (item?.n ?? 0) + 1 }))
    }
    await extension.resolved(Promise.all(surfaces.map(count)))
    expect(extension.browser.items()['trackedEntity:a']).toEqual({ n: 60 })
    for (const surface of surfaces) expect(surface.get('a')).toEqual({ n: 60 })
  })

  it('updateEntity loses no count although the worker dies again and again', async () => {
    const extension = fakeExtension({ latency: [1, 9] })
    extension.startWorker()
    const tabs = await opened(extension, 'Tab', 'Tab')
    let deaths = 0
    extension.browser.onWrite(() => {
      if (++deaths % 3 === 0) extension.browser.worker?.kill()
    })
    const count = async (tab: (typeof tabs)[number]) => {
      for (let n = 0; n < 15; )
        await tab
          .updateEntity('a', (item) => ({ n: (item?.n ?? 0) + 1 }))
          .then(() => n++)
          .catch(({ code }) => expect(code).toBe('store-unavailable'))
    }
    await extension.resolved(Promise.all(tabs.map(count)))
    expect(deaths).toBeGreaterThan(30)
    expect(extension.browser.items()['trackedEntity:a']).toEqual({ n: 30 })
  })

  it('updateEntity comes after the earlier writes of its context, and refuses what is not an entity', async () => {
    const sync = createSync<Item>({ storage: memoryStorage() })
    void sync.setEntity('a', { n: 5 })
    await sync.updateEntity('a', (item) => ({ n: (item?.n ?? 0) + 1 }))
    expect(sync.get('a')).toEqual({ n: 6 })
    for (const change of [() => undefined as never, async () => ({ n: 1 }), () => ({ n: Number.NaN })])
      await expect(sync.updateEntity('a', change as () => Item)).rejects.toMatchObject({
        code: 'invalid-argument',
      })
    expect(sync.get('a')).toEqual({ n: 6 })
  })
})

describe('the writes of one turn', () => {
  it('the writes of one turn are one write, in their order', async () => {
    const storage = memoryStorage()
    const sync = createSync<Item>({ storage })
    await sync.bootstrap()
    const set = vi.spyOn(storage, 'set')
    await Promise.all([
      ...Array.from({ length: 1200 }, (_, n) => sync.setEntity(`e${n}`, { n })),
      sync.removeEntity('e7'),
      sync.patchEntity('e8', { checked: true }),
      sync.setEntity('e7', { n: 70 }),
    ])
    // The record, the entities, and the index.
    expect(set).toHaveBeenCalledTimes(3)
    expect(sync.state.entries.at(-1)).toEqual(['e7', { n: 70 }])
    expect(sync.get('e8')).toEqual({ n: 8, checked: true })
  })
})

describe('a namespace', () => {
  it('a namespace separates collections in one storage', async () => {
    const extension = fakeExtension()
    const [plain, tasks, other] = [
      extension.openPage(),
      extension.openPage({ namespace: 'tasks' }),
      extension.openPage({ namespace: 'tasks' }),
    ]
    await extension.resolved(Promise.all([plain, tasks, other].map((surface) => surface.bootstrap())))
    await extension.resolved(Promise.all([plain.setEntity('a', { n: 1 }), tasks.setEntity('b', { n: 2 })]))
    await extension.resolved(tasks.updateSettings({ themeToken: '#123' }))
    await extension.settle()
    expect(plain.state.entries).toEqual([['a', { n: 1 }]])
    expect(other.state.entries).toEqual([['b', { n: 2 }]])
    expect([plain.settings.themeToken, other.settings.themeToken]).toEqual(['#6441a5', '#123'])
    expect(Object.keys(extension.browser.items()).toSorted()).toEqual([
      'tasks/syncSettings',
      'tasks/trackedEntities:index',
      'tasks/trackedEntities:meta',
      'tasks/trackedEntity:b',
      'trackedEntities:index',
      'trackedEntities:meta',
      'trackedEntity:a',
    ])
    await extension.resolved(plain.reset())
    await extension.settle()
    expect(other.state.entries).toEqual([['b', { n: 2 }]])
  })
})

describe('validate', () => {
  const entity = v.object({ n: v.pipe(v.number(), v.minValue(0)) })

  it('validate checks what is written and what is read, and gives entities their type', async () => {
    const storage = memoryStorage()
    const warnings: string[] = []
    const options = {
      storage,
      validate: { entity },
      onWarning: ({ message }: { message: string }) => warnings.push(message),
    }
    const sync = createSync(options)
    expectTypeOf(sync.get('a')).toEqualTypeOf<{ n: number } | undefined>()
    await sync.setEntity('a', { n: 1 })
    for (const write of [
      sync.setEntity('a', { n: -1 }),
      sync.patchEntity('a', { n: -1 }),
      sync.updateEntity('a', () => ({ n: -1 })),
    ])
      await expect(write).rejects.toMatchObject({
        code: 'invalid-argument',
        message: expect.stringMatching(/^entity a\.n: /),
      })
    expect(sync.get('a')).toEqual({ n: 1 })
    await storage.set({ 'trackedEntity:a': { n: 'one' } })
    await eventually(() => expect(sync.get('a')).toBeUndefined())
    expect(warnings).toEqual([expect.stringMatching(/^the stored entity a\.n: /)])
  })

  it('validate checks also what is written before the bootstrap', async () => {
    const storage = memoryStorage({ 'trackedEntities:index': { ids: ['a'] }, 'trackedEntity:a': { n: 1 } })
    const before = await storage.get(await storage.keys())
    const open = () =>
      createSync({
        storage,
        validate: { entity, settings: v.object({ volume: v.number() }) },
        defaults: { volume: 1 },
      })
    const [one, two, three] = [open(), open(), open()]
    await expect(one.patchEntity('a', { n: -1 })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringMatching(/^entity a\.n: /),
    })
    await expect(two.updateSettings({ volume: 'loud' as never })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringMatching(/^settings\.volume: /),
    })
    expect(one.get('a')).toEqual({ n: 1 })
    expect(await storage.get(await storage.keys())).toEqual(before)
    await three.patchEntity('a', { n: 2 })
    expect(three.get('a')).toEqual({ n: 2 })
  })

  it.each(['entity', 'settings'])(
    'validate refuses a function as the schema of %s when the sync is made',
    (name) => {
      const make = () =>
        createSync({ storage: memoryStorage(), validate: { [name]: (value: unknown) => value } })
      expect(make).toThrow(`validate.${name}: expected a Standard Schema, with \`~standard\`, got a function`)
    },
  )

  it('validate stores what the schema makes of an entity, once', async () => {
    const storage = memoryStorage()
    const trimmed = v.object({ label: v.pipe(v.string(), v.trim()), size: v.optional(v.number(), 1) })
    const options = { storage, validate: { entity: trimmed } }
    const sync = createSync(options)
    await sync.setEntity('a', { label: ' milk ', size: 2 })
    const later = createSync(options)
    await later.bootstrap()
    for (const one of [sync, later]) expect(one.get('a')).toEqual({ label: 'milk', size: 2 })
    expect(await storage.get(['trackedEntity:a'])).toEqual({ 'trackedEntity:a': { label: 'milk', size: 2 } })
  })

  it.each([
    [
      'a Date',
      v.object({
        n: v.pipe(
          v.number(),
          v.transform((n) => new Date(n)),
        ),
      }),
      'entity a.n: expected a JSON',
    ],
    [
      'a Set',
      v.object({
        n: v.pipe(
          v.number(),
          v.transform((n) => new Set([n])),
        ),
      }),
      'entity a.n: expected a JSON',
    ],
    ['a text that it refuses', v.object({ n: v.pipe(v.number(), v.transform(String)) }), 'entity a.n: '],
    [
      'another number each time',
      v.object({
        n: v.pipe(
          v.number(),
          v.transform((n) => n + 1),
        ),
      }),
      'validate: expected a schema that leaves its own result as it is',
    ],
  ])(
    'refuses an entity of which the schema makes %s, and stores nothing',
    async (_what, changing, message) => {
      const storage = memoryStorage()
      const sync = createSync({ storage, validate: { entity: changing as never } })
      for (const write of [
        sync.setEntity('a', { n: 1 } as never),
        sync.updateEntity('a', () => ({ n: 1 }) as never),
      ])
        await expect(write).rejects.toMatchObject({
          code: 'invalid-argument',
          message: expect.stringContaining(message),
        })
      expect(sync.state.entries).toEqual([])
      expect(await storage.keys()).toEqual([])
    },
  )

  it('validate refuses a schema that answers later', async () => {
    const slow = v.objectAsync({ n: v.number() })
    const sync = createSync<Item>({ storage: memoryStorage(), validate: { entity: slow } })
    await expect(sync.setEntity('a', { n: 1 })).rejects.toThrow(
      'validate: expected a schema that answers at once',
    )
  })
})

describe('the status', () => {
  it('the status is loading, ready and closed, and each change is reported', async () => {
    const sync = createSync<Item>({ storage: memoryStorage() })
    const seen: string[] = []
    sync.subscribe((change) => change.type === 'status' && seen.push(change.status))
    expect(sync.status).toBe('loading')
    await sync.bootstrap()
    expect(sync.status).toBe('ready')
    await sync.close()
    expect([sync.status, seen]).toEqual(['closed', ['ready', 'closed']])
  })
})

describe('a change', () => {
  it('a change carries what was shown before', async () => {
    const sync = createSync<Item>({ storage: memoryStorage() })
    await sync.bootstrap()
    const seen: SyncChange<Item>[] = []
    sync.subscribe((change) => seen.push(change))
    await sync.setEntity('a', { n: 1 })
    await sync.setEntity('a', { n: 2 })
    await sync.removeEntity('a')
    expect(seen).toEqual([
      { type: 'entity', id: 'a', entity: { n: 1 } },
      { type: 'entity', id: 'a', entity: { n: 2 }, previous: { n: 1 } },
      { type: 'removed', id: 'a', previous: { n: 2 } },
    ])
  })
})

describe('the list', () => {
  it('the list is in the order in which entities were added, also with shards', async () => {
    for (const shards of [1, 8]) {
      const storage = memoryStorage()
      const sync = createSync<Item>({ storage, shards })
      for (let n = 0; n < 20; n++) await sync.setEntity(`e${n}`, { n })
      await sync.removeEntity('e3')
      await sync.setEntity('e3', { n: 3 })
      const ids = [...Array.from({ length: 20 }, (_, n) => `e${n}`).filter((id) => id !== 'e3'), 'e3']
      const other = createSync<Item>({ storage, shards })
      await other.bootstrap()
      for (const { state } of [sync, other]) expect(state.entries.map(([id]) => id)).toEqual(ids)
    }
  })
})

describe('settings of your own', () => {
  interface Look {
    readonly themeToken: string
    readonly scopeMode?: string
  }

  it('settings of your own have no rules of the built-in settings, neither when written nor when read', async () => {
    const storage = memoryStorage()
    const sync = createSync<Item, Look>({ storage, defaults: { themeToken: 'dark' } })
    await sync.bootstrap()
    expect(sync.state.settings).toEqual({ themeToken: 'dark' })
    await sync.updateSettings({ themeToken: 'light', scopeMode: 'elsewhere' })
    const other = createSync<Item, Look>({ storage, defaults: { themeToken: 'dark' } })
    await other.bootstrap()
    expect(other.state.settings).toEqual({ themeToken: 'light', scopeMode: 'elsewhere' })
  })

  it('settings of your own are checked by their schema alone, and need defaults of their type', async () => {
    const settings = v.object({ themeToken: v.picklist(['dark', 'light']) })
    // @ts-expect-error Nothing says what the settings are while nothing is stored.
    const sync = createSync({ storage: memoryStorage(), validate: { settings } })
    await sync.updateSettings({ themeToken: 'dark' })
    expect(sync.state.settings).toEqual({ themeToken: 'dark' })
    await expect(sync.updateSettings({ themeToken: '#fff' } as never)).rejects.toThrow(
      'settings.themeToken: ',
    )
    // @ts-expect-error The same without a schema.
    createSync<Item, { theme: string }>({ storage: memoryStorage() })
    createSync<Item>({ storage: memoryStorage() })
  })
})

describe('a collection', () => {
  it('a collection with an entity or a setting that a schema refuses is not imported at all', async () => {
    const sync = createSync({
      storage: memoryStorage(),
      validate: {
        entity: v.object({ n: v.number() }),
        settings: v.object({ themeToken: v.string(), volume: v.number() }),
      },
      defaults: { themeToken: '#fff', volume: 1 },
    })
    await sync.setEntity('old', { n: 0 })
    const before = sync.state
    const settings = { ...before.settings, themeToken: '#000' }
    for (const bad of [
      { settings, entities: [['a', { n: 1 }] as const, ['b', { n: 'two' }] as const] },
      { settings: { ...settings, volume: 'loud' }, entities: [['a', { n: 1 }] as const] },
    ])
      await expect(importCollection(sync, bad as never, { replace: true })).rejects.toMatchObject({
        code: 'invalid-argument',
      })
    await sync.removeEntity('none')
    expect(sync.state).toBe(before)
  })

  it('a collection is exported and imported as a whole, in one write', async () => {
    const [from, to] = [0, 1].map(() => createSync<Item>({ storage: memoryStorage() })) as [
      ReturnType<typeof createSync<Item>>,
      ReturnType<typeof createSync<Item>>,
    ]
    await from.setEntities([
      ['b', { n: 2 }],
      ['a', { n: 1 }],
    ])
    await from.updateSettings({ themeToken: '#123' })
    const exported = JSON.parse(JSON.stringify(await exportCollection(from)))
    await to.setEntity('old', { n: 0 })
    await importCollection(to, exported)
    expect(to.state.entries.map(([id]) => id)).toEqual(['old', 'b', 'a'])
    await importCollection(to, exported, { replace: true })
    expect(to.state).toEqual(from.state)
    const broken = { ...exported, settings: { themeToken: 'mauve' } }
    for (const bad of [broken, null, {}, { settings: {}, entities: [['a']] }])
      await expect(importCollection(to, bad, { replace: true })).rejects.toMatchObject({
        code: 'invalid-argument',
      })
    expect(to.state).toEqual(from.state)
  })
})
