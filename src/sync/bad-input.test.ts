import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { fakeExtension, type Item, opened } from '../../test/sync/fake-extension.ts'
import { LeaseError } from '../core/index.ts'
import { FakeClock } from '../testing/index.ts'
import {
  createCoordinator,
  createSync,
  memoryMessengers,
  memoryStorage,
  STORAGE_KEYS,
  type SyncWarning,
} from './index.ts'

function fails(): never {
  throw new Error('out of order')
}

const cyclic: { self?: unknown } = {}
cyclic.self = cyclic

describe('messages', () => {
  const foreign = [null, 7, 'hello', [], {}, { action: 'other' }, { action: 7 }]
  const malformed = [
    { action: 'entityDelta' },
    { action: 'entityDelta', delta: [] },
    { action: 'entityDelta', delta: { a: 7 } },
    { action: 'entityPatch', ops: 'remove' },
    { action: 'entityPatch', ops: [{ op: 'explode', entityId: 'a' }] },
    { action: 'entityPatch', ops: [{ op: 'remove' }] },
  ]

  it('messages that are foreign are ignored silently, malformed ones with a warning, and nothing changes', async () => {
    const extension = fakeExtension()
    extension.startWorker()
    const [page] = await opened(extension, 'Page')
    await extension.resolved(page.setEntity('a', { n: 1 }))
    await extension.settle()
    const before = extension.browser.items()
    const { api } = extension.browser.openPage()
    for (const message of foreign)
      expect(await extension.resolved(api.runtime.sendMessage(message))).toBeUndefined()
    expect(extension.warnings).toEqual([])
    for (const message of malformed)
      expect(await extension.resolved(api.runtime.sendMessage(message))).toBeUndefined()
    expect(extension.warnings.map(({ code }) => code)).toEqual(malformed.map(() => 'malformed-message'))
    await extension.settle()
    expect(extension.browser.items()).toEqual(before)
    expect(page.state.entries).toEqual([['a', { n: 1 }]])
  })

  it.each([
    ['a BigInt', { big: 1n }],
    ['a cycle', cyclic],
  ])('messages may contain %s, which a channel can carry and JSON cannot', async (_, extra) => {
    const [storage, connect] = [memoryStorage(), memoryMessengers()]
    const onWarning = vi.fn()
    createSync({ storage, messenger: connect(), onWarning })
    createCoordinator({ storage, messenger: connect(), onWarning })
    const cause = { action: 'entityDelta', ...extra }
    expect(await connect().send(cause, AbortSignal.abort())).toBeUndefined()
    expect(onWarning.mock.calls).toEqual([[expect.objectContaining({ code: 'malformed-message', cause })]])
  })
})

describe('an answer to a content script', () => {
  async function answered(answer: unknown) {
    const [storage, connect, clock] = [memoryStorage(), memoryMessengers(), new FakeClock()]
    const sync = createSync<Item>({ storage, messenger: connect(), writes: 'coordinator', clock })
    await sync.bootstrap()
    storage.subscribe((changes) => {
      for (const [key, change] of Object.entries(changes ?? {}))
        if (Object(change.newValue).ops) void storage.set({ [key]: answer })
    })
    const updated = sync.updateEntity('a', () => ({ n: 1 })).catch(({ code }: { code: string }) => code)
    await clock.advance(20_000)
    return updated
  }

  it.each([['done'], [7], [null], [{}], [{ refused: {}, gone: [] }], [{ refused: [], gone: [7] }]])(
    '%j is not taken for an answer to a content script',
    async (answer) => {
      expect(await answered(answer)).toBe('store-unavailable')
    },
  )

  it.each([{}, { code: 7, message: 7, holders: 7 }, { message: { toString: null } }, 'no'])(
    'may refuse with anything: %j',
    async (refusal) => {
      const storage = memoryStorage()
      const clock = new FakeClock()
      const sync = createSync<Item>({
        storage,
        messenger: memoryMessengers()(),
        writes: 'coordinator',
        clock,
      })
      await sync.bootstrap()
      storage.subscribe((changes) => {
        for (const [key, change] of Object.entries(changes ?? {}))
          if (Object(change.newValue).ops) void storage.set({ [key]: { refused: [refusal], gone: [] } })
      })
      await expect(sync.updateEntity('a', () => ({ n: 1 }))).rejects.toBeInstanceOf(LeaseError)
    },
  )
})

describe('stored data', () => {
  const valid = {
    [STORAGE_KEYS.index]: { ids: ['a'] },
    [STORAGE_KEYS.settings]: {
      featureEnabled: false,
      scopeMode: 'all',
      themeToken: '#123456',
      fromTomorrow: [1],
    },
    'trackedEntity:a': { n: 1 },
  }

  async function read(items: Record<string, unknown>) {
    const warnings: SyncWarning[] = []
    const storage = memoryStorage({ ...valid, ...items })
    const sync = createSync<Item>({ storage, onWarning: (warning) => warnings.push(warning) })
    await sync.bootstrap()
    return { sync, storage, codes: () => warnings.map(({ code }) => code) }
  }

  it.each([
    ['a text', 'dark'],
    ['an array', [1]],
    ['settings of another version', { featureEnabled: true, scopeMode: 'galaxy' }],
    ['settings without the target', { scopeMode: 'specific' }],
    ['settings with an invalid colour', { themeToken: 'url(javascript:alert(1))' }],
  ])(
    'stored data with %s in place of valid settings causes a warning and is not overwritten',
    async (_what, settings) => {
      const { sync, storage, codes } = await read({ [STORAGE_KEYS.settings]: settings })
      expect(codes()).toEqual(['malformed-settings'])
      expect(sync.settings).toEqual({ featureEnabled: true, scopeMode: 'all', themeToken: '#6441a5' })
      expect(await storage.get([STORAGE_KEYS.settings])).toEqual({ [STORAGE_KEYS.settings]: settings })
      await sync.updateSettings({ featureEnabled: false })
      expect(sync.settings).toMatchObject({ featureEnabled: false, scopeMode: 'all', themeToken: '#6441a5' })
    },
  )

  it('stored data with one invalid setting shows the default in its place, and other settings can be saved', async () => {
    const settings = { featureEnabled: true, scopeMode: 'all', themeToken: 'mauve', own: 1 }
    const { sync, storage } = await read({ [STORAGE_KEYS.settings]: settings })
    expect(sync.settings).toMatchObject({ themeToken: '#6441a5', own: 1 })
    await sync.updateSettings({ featureEnabled: false })
    expect(await storage.get([STORAGE_KEYS.settings])).toEqual({
      [STORAGE_KEYS.settings]: { ...settings, featureEnabled: false },
    })
    await expect(sync.updateSettings({ themeToken: 'pink' })).rejects.toMatchObject({
      code: 'invalid-argument',
    })
    await sync.updateSettings({ themeToken: '#000' })
    expect(sync.settings.themeToken).toBe('#000')
  })

  it('stored data keeps unknown fields of the settings', async () => {
    const { sync, storage } = await read({})
    expect(sync.settings).toMatchObject({ fromTomorrow: [1], featureEnabled: false })
    await sync.updateSettings({ featureEnabled: true })
    expect(await storage.get([STORAGE_KEYS.settings])).toEqual({
      [STORAGE_KEYS.settings]: { ...valid[STORAGE_KEYS.settings], featureEnabled: true },
    })
  })

  it.each([['text'], [7], [[]], [{}], [{ ids: 'a' }], [null], [{ ids: ['a', null, 7] }], [{ ids: [1, 2] }]])(
    'stored data with %j as the index causes a warning; nothing is overwritten or cleaned up, and reset repairs it',
    async (index) => {
      const { sync, storage, codes } = await read({ [STORAGE_KEYS.index]: index })
      expect(codes()).toEqual(['malformed-index'])
      for (const write of [sync.setEntity('b', { n: 2 }), sync.removeEntity('a'), sync.cleanupOrphans()])
        await expect(write).rejects.toMatchObject({
          code: 'store-failed',
          message: expect.stringContaining('damaged'),
        })
      expect(await storage.get([STORAGE_KEYS.index, 'trackedEntity:a', 'trackedEntity:b'])).toEqual({
        [STORAGE_KEYS.index]: index,
        'trackedEntity:a': { n: 1 },
      })
      await sync.reset()
      await sync.setEntity('b', { n: 2 })
      expect(sync.state.entries).toEqual([['b', { n: 2 }]])
    },
  )

  it.each([1, 3])(
    'stored data with a damaged index is shown again after rebuildIndex, with %i shards',
    async (shards) => {
      const storage = memoryStorage()
      const sync = createSync<Item>({ storage, shards, onWarning: () => {} })
      for (const n of [1, 2, 3]) await sync.setEntity(`e${n}`, { n })
      await storage.set({ [STORAGE_KEYS.index]: { ids: ['e1', null] } })
      await sync.rebuildIndex()
      await sync.setEntity('e4', { n: 4 })
      const later = createSync<Item>({ storage, shards })
      await later.bootstrap()
      for (const one of [sync, later])
        expect(Object.fromEntries(one.state.entries)).toEqual({
          e1: { n: 1 },
          e2: { n: 2 },
          e3: { n: 3 },
          e4: { n: 4 },
        })
    },
  )

  it('stored data of the layout one-key has an index that cannot be rebuilt', async () => {
    const sync = createSync<Item>({ storage: memoryStorage(), layout: 'one-key' })
    await expect(sync.rebuildIndex()).rejects.toMatchObject({ code: 'store-failed' })
  })

  it.each([
    [{ shards: 1e9 }],
    [{ option: 'C' }],
    [{ option: 7 }],
    [{ option: { toString: null } }],
    [{ schemaVersion: 7, shards: -1 }],
    [{ option: 'A', shards: 1e9 }],
  ])('stored data with %j as its format is refused, and stays as it is', async (format) => {
    const items = { ...valid, [STORAGE_KEYS.meta]: { revision: 1, ...format } }
    const storage = memoryStorage(items)
    const sync = createSync<Item>({ storage, onWarning: () => {} })
    for (const call of [sync.bootstrap(), sync.setEntity('b', { n: 1 })])
      await expect(call).rejects.toMatchObject({ code: 'other-format' })
    expect(await storage.get(await storage.keys())).toEqual(items)
  })

  it.each([[{ toString: null }], ['5'], [null]])(
    'stored data with a record whose removal was seen at %j causes a warning, and later writes are carried out',
    async (seenAt) => {
      const key = `${STORAGE_KEYS.logPrefix}001893499200000000.other`
      const format = 'option B, index shards 1, schema 1'
      const { sync, codes } = await read({ [key]: { format, ops: [{ delta: [['a', null]], seenAt }] } })
      await sync.setEntity('b', { n: 2 })
      expect(codes()).toEqual(['malformed-record'])
      expect(sync.state.entries.map(([id]) => id)).toEqual(['a', 'b'])
    },
  )

  it.each([['text'], [7], [[1]], [null]])(
    'stored data with %j as an entity causes a warning, and the entity is not shown',
    async (entity) => {
      const { sync, storage, codes } = await read({ 'trackedEntity:a': entity })
      expect(codes()).toEqual(['malformed-entity'])
      expect(sync.state.entries).toEqual([])
      await sync.setEntity('b', { n: 2 })
      expect(await storage.get(['trackedEntity:a'])).toEqual({ 'trackedEntity:a': entity })
    },
  )

  it('stored data with a cyclic entity, which a storage may clone, is shown together with the other entities', async () => {
    const storage = memoryStorage({ [STORAGE_KEYS.index]: { ids: ['a', 'b'] }, 'trackedEntity:a': cyclic })
    const onWarning = vi.fn()
    const sync = createSync<object>({ storage, onWarning })
    await sync.bootstrap()
    vi.spyOn(storage, 'get').mockResolvedValue({ 'trackedEntity:a': { self: cyclic }, 'trackedEntity:b': {} })
    await storage.set({ 'trackedEntity:b': { n: 1 }, 'trackedEntity:a': { n: 1 } })
    await eventually(() => expect(sync.get('b')).toEqual({}))
    expect(sync.get('a')).toEqual({ self: cyclic })
    expect(onWarning).not.toHaveBeenCalled()
  })

  it('stored data is read again after failed reads, with one warning', async () => {
    const { sync, storage, codes } = await read({})
    vi.useFakeTimers()
    const get = vi.spyOn(storage, 'get').mockRejectedValue(new Error('busy'))
    await storage.set({ 'trackedEntity:a': { n: 2 } })
    await vi.advanceTimersByTimeAsync(10_000)
    expect(get.mock.calls.length).toBeGreaterThan(5)
    get.mockRestore()
    await vi.advanceTimersByTimeAsync(3000)
    vi.useRealTimers()
    expect(codes()).toEqual(['read-failed'])
    expect(sync.get('a')).toEqual({ n: 2 })
  })
})

describe('an entity', () => {
  it.each([
    'a:b',
    'trackedEntity:a',
    'trackedEntities:index',
    '日本語 🗼',
    '__proto__',
    'constructor',
    ' ',
    '.',
  ])('an entity may have the id %j, in both layouts', async (id) => {
    for (const layout of ['one-key', 'key-per-entity'] as const) {
      const storage = memoryStorage()
      const [one, two] = [createSync<Item>({ storage, layout }), createSync<Item>({ storage, layout })]
      await two.bootstrap()
      await one.setEntity(id, { n: 1 })
      await one.patchEntity(id, { n: 2 })
      await eventually(() => expect(two.state.entries).toEqual([[id, { n: 2 }]]))
      await two.removeEntity(id)
      await eventually(() => expect(one.state.entries).toEqual([]))
    }
  })

  it('an entity with the field __proto__ does not change any prototype', async () => {
    const sync = createSync<object>({ storage: memoryStorage() })
    const hostile = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')
    await sync.setEntity('a', hostile)
    await sync.patchEntity('a', hostile)
    await sync.updateSettings(hostile)
    expect({}).not.toHaveProperty('polluted')
    expect(sync.get('a')).not.toHaveProperty('polluted')
  })

  it('an entity with an object that cannot be read, or with too many levels, is refused with the reason', async () => {
    const sync = createSync<object>({ storage: memoryStorage() })
    const nested = (levels: number): object => (levels === 0 ? {} : { v: nested(levels - 1) })
    await expect(
      sync.setEntity('a', Object.defineProperty({}, 'x', { enumerable: true, get: fails })),
    ).rejects.toThrow(/^entity a cannot be read: /)
    await expect(sync.setEntity('a', nested(5000))).rejects.toThrow(/^entity a\.v.* has more than 64 levels$/)
    await sync.setEntity('a', nested(63))
  })

  it('an entity is copied, so that later changes of the object have no effect', async () => {
    const sync = createSync<{ list: number[] }>({ storage: memoryStorage() })
    const entity = { list: [1] }
    const written = sync.setEntity('a', entity)
    entity.list.push(2)
    await written
    expect(sync.get('a')).toEqual({ list: [1] })
  })

  it.each([
    ['an empty id', '', {}],
    ['an id of invalid Unicode', '\ud800', {}],
    ['an id with U+0000', 'a\0b', {}],
    ['a text of invalid Unicode', 'a', { text: '\ud800' }],
    ['a hole in an array', 'a', { list: new Array(1) }],
    ['a number as id', 7, {}],
    ['a symbol as id', Symbol('a'), {}],
    ['a BigInt as id', 10n, {}],
    ['an array', 'a', [1]],
    ['nothing', 'a', undefined],
    ['null', 'a', null],
    ['a cycle', 'a', cyclic],
    ['a BigInt', 'a', { big: 1n }],
    ['a getter that throws', 'a', Object.defineProperty({}, 'x', { enumerable: true, get: () => fails() })],
  ])('an entity with %s is refused at once, and nothing is shown', async (_what, id, entity) => {
    const sync = createSync<object>({ storage: memoryStorage() })
    await expect(sync.setEntity(id as string, entity as object)).rejects.toMatchObject({
      code: 'invalid-argument',
    })
    expect(sync.state.entries).toEqual([])
  })

  it.each([
    [{ tags: new Map() }, 'entity a.tags: expected a JSON value, got a Map'],
    [{ list: [1, Number.NaN] }, 'entity a.list[1]: expected a JSON value, got NaN'],
    [{ at: new Date(0) }, 'entity a.at: expected a JSON value, got a Date'],
    [{ run: () => {} }, 'entity a.run: expected a JSON value, got a function'],
    [{ own: cyclic }, 'entity a.own.self: expected a JSON value without a cycle, got an object'],
  ])('an entity that JSON cannot carry is refused by name: %o', async (entity, message) => {
    const sync = createSync<object>({ storage: memoryStorage() })
    await expect(sync.setEntity('a', entity)).rejects.toMatchObject({ code: 'invalid-argument', message })
  })
})
