import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { changesOf, fakeExtension, type Item, opened, type Surface } from '../../test/sync/fake-extension.ts'
import { createLeases } from '../core/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { FakeClock } from '../testing/index.ts'
import { createCoordinator, createSync, memoryMessengers, memoryStorage, STORAGE_KEYS } from './index.ts'

const META = { option: 'B', revision: 0, schemaVersion: 1, shards: 1 }

describe('a write', () => {
  it('a write is shown in its own context at once, and in the other contexts when it is stored', async () => {
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
      expect(surface.state.entries).toEqual([
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

  it('a write stores the entity before the index; a removal changes the index first', async () => {
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
    // First the record of each write. In the end it is removed, together with the key of a removed entity.
    expect(states).toEqual(['- -', 'key -', 'key index', 'key index', 'key index', 'key -', '- -'])
  })

  it('a write that fails rejects and shows the old state again; the writes of others stay', async () => {
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
    expect(page.state.entries).toEqual([['small', { n: 1 }]])
    expect(seen.map((change) => change.type)).toEqual(['entity', 'entity', 'entity', 'removed'])
    await extension.resolved(page.setEntity('small', { n: 4 }))
    expect(other.state.entries.length).toBe(1)
  })

  it.each([
    ['removal', (page: Surface) => page.removeEntity('a', 'c')],
    ['reset', (page: Surface) => page.reset()],
  ])('a write that is a %s is carried out although the storage is full', async (_what, write) => {
    const quotaBytes = 400
    const extension = fakeExtension({ quotaBytes })
    const [page, other] = await opened(extension, 'Page', 'Page')
    for (const id of ['a', 'b', 'c']) await extension.resolved(page.setEntity(id, { n: 1 }))
    await extension.settle()
    const used = Object.entries(extension.browser.items())
      .flat()
      .map((part) => JSON.stringify(part))
      .join('').length
    const { local } = extension.browser.openPage().api.storage
    for (let left = quotaBytes - used; left > 0; left--)
      await extension.resolved(local.set({ filler: 'x'.repeat(left) })).then(
        () => (left = 0),
        () => {},
      )
    await expect(extension.resolved(page.setEntity('d', { n: 1 }))).rejects.toMatchObject({
      code: 'store-failed',
    })
    await extension.resolved(write(page))
    await extension.settle()
    for (const surface of [page, other]) expect(surface.get('a')).toBeUndefined()
    const stored = Object.keys(extension.browser.items())
    expect(stored).not.toContain('trackedEntity:a')
    expect(stored.filter((key) => key.includes('log'))).toEqual([])
  })

  it('a write that only removes ends although the bootstrap fails', async () => {
    const storage = memoryStorage({ [STORAGE_KEYS.index]: { ids: ['a'] }, 'trackedEntity:a': { n: 1 } })
    const sync = createSync<Item>({ storage, onWarning: () => {} })
    vi.spyOn(storage, 'get').mockRejectedValueOnce(new Error('asleep'))
    await sync.removeEntity('a')
    expect(await storage.get([STORAGE_KEYS.index])).toEqual({ [STORAGE_KEYS.index]: { ids: [] } })
    await sync.bootstrap()
    expect(sync.state.entries).toEqual([])
  })

  it('a write comes after every record that is shown, although the clock was set back', async () => {
    const extension = fakeExtension()
    const [tab] = await opened(extension, 'Tab')
    await extension.resolved(tab.setEntity('a', { n: 1 }))
    extension.clock.jump(-3_600_000)
    const later = extension.openTab()
    await extension.resolved(later.bootstrap())
    await extension.resolved(later.setEntity('a', { n: 2 }))
    await extension.settle()
    for (const surface of [tab, later]) expect(surface.get('a')).toEqual({ n: 2 })
  })

  it('a write has a key of its own, however far in the future the records are that it comes after', async () => {
    const clock = new FakeClock()
    const tomorrow = String((clock.now() + 86_400_000) * 1000).padStart(18, '0')
    for (const stamp of [tomorrow, '9'.repeat(18), '9'.repeat(30)]) {
      const storage = memoryStorage()
      const ports = { storage, clock, messenger: memoryMessengers()(), writes: 'coordinator' } as const
      const sync = createSync<Item>({ ...ports, onWarning: () => {} })
      await sync.bootstrap()
      const format = 'option B, index shards 1, schema 1'
      const key = `${STORAGE_KEYS.logPrefix}${stamp}.x`
      await storage.set({ [key]: { format, ops: [{ delta: [['a', { n: 0 }]] }] } })
      await new Promise(setImmediate)
      const writes = [1, 2, 3].map(async (n) => {
        for (let turn = 0; turn < n; turn++) await undefined
        await sync.setEntity('a', { n })
      })
      await clock.advance(5000)
      await Promise.all(writes)
      expect((await storage.keys()).length).toBe(4)
      if (stamp === tomorrow) expect(sync.get('a')).toEqual({ n: 3 })
    }
  })

  it('a write of one field keeps the fields that another context sets', async () => {
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

  it('neither reads nor writes a large index; it is changed when no more writes come', async () => {
    const [storage, clock] = [memoryStorage(), new FakeClock()]
    const sync = createSync<Item>({ storage, clock })
    await sync.setEntities(Array.from({ length: 1001 }, (_, n) => [`e${n}`, { n }]))
    await new Promise(setImmediate)
    const [get, set] = [vi.spyOn(storage, 'get'), vi.spyOn(storage, 'set')]
    await sync.setEntity('e7', { n: 0 })
    await sync.setEntity('new', { n: 1 })
    await sync.removeEntity('e8')
    await sync.patchEntity('e9', { checked: true })
    const keys = [...get.mock.calls.flat(2), ...set.mock.calls.flatMap(([items]) => Object.keys(items))]
    expect(keys.filter((key) => key === STORAGE_KEYS.index)).toEqual([])
    expect(set).toHaveBeenCalledTimes(4)
    const other = createSync<Item>({ storage, clock })
    await other.bootstrap()
    expect(other.state.entries).toEqual(sync.state.entries)
    await clock.advance(2000)
    const { [STORAGE_KEYS.index]: index } = await storage.get([STORAGE_KEYS.index])
    expect((index as { ids: string[] }).ids).toEqual(sync.state.entries.map(([id]) => id))
    expect(await storage.get(['trackedEntity:e7', 'trackedEntity:e8', 'trackedEntity:e9'])).toEqual({
      'trackedEntity:e7': { n: 0 },
      'trackedEntity:e9': { n: 9, checked: true },
    })
    expect((await storage.keys()).length).toBe(1001 + 2)
    expect(other.state.entries).toEqual(sync.state.entries)
  })

  it('a write of an entity whose removal was not noticed adds it again; a patch of it rejects with not-found', async () => {
    const storage = memoryStorage()
    const [deaf, deafToo] = [0, 1].map(() =>
      createSync<Item>({ storage: { ...storage, subscribe: () => () => {} } }),
    )
    const other = createSync<Item>({ storage })
    for (const id of ['a', 'b']) await other.setEntity(id, { n: 1 })
    await Promise.all([deaf?.bootstrap(), deafToo?.bootstrap()])
    await other.removeEntity('a', 'b')
    // A writer that died left this key behind.
    await storage.set({ 'trackedEntity:b': { n: 1 } })
    await expect(deaf?.patchEntity('b', { n: 2 })).rejects.toMatchObject({ code: 'not-found' })
    await deafToo?.setEntity('a', { n: 2 })
    await eventually(() => expect(other.state.entries).toEqual([['a', { n: 2 }]]))
  })

  it('a write whose index cannot be stored removes the key again, and rejects with a LeaseError', async () => {
    const storage = memoryStorage()
    const sync = createSync<Item>({ storage })
    await sync.bootstrap()
    const { set } = storage
    vi.spyOn(storage, 'set').mockImplementation(async (items) => {
      if (STORAGE_KEYS.index in items) throw new Error('full')
      await set(items)
    })
    await expect(sync.setEntity('a', { n: 1 })).rejects.toMatchObject({
      code: 'store-failed',
      message: 'full',
    })
    expect(await storage.keys()).toEqual([])
  })

  it('a write that does not fit stays in the log if its page is gone, and stops no other write', async () => {
    const extension = fakeExtension({ area: 'sync', latency: [1, 1] })
    const [dying, page] = await opened(extension, 'Page', 'Page')
    void dying.setEntity('large', { n: 1, text: 'x'.repeat(9000) } as never)
    await extension.clock.advance(2)
    dying.context.kill()
    await extension.resolved(page.setEntity('a', { n: 2 }))
    await expect(
      extension.resolved(page.setEntity('b', { n: 1, text: 'x'.repeat(9000) } as never)),
    ).rejects.toMatchObject({ code: 'store-failed', message: expect.stringContaining('8192') })
    expect(extension.browser.items('sync')).toMatchObject({
      [STORAGE_KEYS.index]: { ids: ['a'] },
      'trackedEntity:a': { n: 2 },
    })
    expect(Object.keys(extension.browser.items('local')).length).toBe(1)
  })

  it('a write of many entities takes as many storage calls as a write of one', async () => {
    const storage = memoryStorage()
    const set = vi.spyOn(storage, 'set')
    const sync = createSync<Item>({ storage, batch: 300 })
    await sync.setEntities(Array.from({ length: 1000 }, (_, n) => [`e${n}`, { n }]))
    expect(set).toHaveBeenCalledTimes(3)
    const other = createSync<Item>({ storage, batch: 300 })
    await other.bootstrap()
    expect(other.state.entries.length).toBe(1000)
    expect(other.state.entries[999]).toEqual(['e999', { n: 999 }])
    await sync.removeEntity(...sync.state.entries.map(([id]) => id))
    expect(await storage.keys()).toEqual([STORAGE_KEYS.index, STORAGE_KEYS.meta])
  })

  it('a write after close is refused; earlier writes are finished', async () => {
    const storage = memoryStorage()
    const sync = createSync<Item>({ storage })
    const written = sync.setEntity('a', { n: 1 })
    await sync.close()
    await written
    await expect(sync.setEntity('b', { n: 1 })).rejects.toMatchObject({ code: 'closed' })
    await expect(sync.bootstrap()).rejects.toMatchObject({ code: 'closed' })
    expect(await storage.keys()).toContain('trackedEntity:a')
  })

  it('a write is finished when a second close resolves, too', async () => {
    const storage = memoryStorage()
    const sync = createSync<Item>({ storage })
    void sync.setEntity('a', { n: 1 })
    void sync.close()
    await sync.close()
    expect(sync.status).toBe('closed')
    expect(await storage.keys()).toContain('trackedEntity:a')
  })
})

describe('locks', () => {
  it.each([0, 1, 2, 3, 4, 5])('locks that are lost after write %i change nothing more', async (last) => {
    const storage = memoryStorage()
    const log: string[] = []
    let lease = { held: false }
    let done = 0
    for (const method of ['set', 'remove'] as const) {
      const write: (what: never) => Promise<void> = storage[method]
      vi.spyOn(storage, method).mockImplementation(async (what: object) => {
        const keys = Array.isArray(what) ? what : Object.keys(what)
        const isRecord = method === 'set' && keys.every((key) => key.startsWith(STORAGE_KEYS.logPrefix))
        if (!lease.held && !isRecord) log.push(`${method} ${keys} after the loss`)
        await write(what as never)
        if (++done === last) lease.held = false
      })
    }
    const locks = {
      withLease<T>(_name: string, work: (lease: { readonly held: boolean }) => Promise<T>) {
        lease = { held: last > 0 || done > 1 }
        return work(lease)
      },
    }
    const sync = createSync<Item>({ storage, locks, onWarning: () => {} })
    await sync.setEntity('a', { n: 1 })
    await sync.setEntity('b', { n: 1 })
    await sync.removeEntity('a')
    await sync.close()
    await createCoordinator({ storage, locks, onWarning: () => {} }).close()
    expect(log).toEqual([])
    expect(await storage.get([STORAGE_KEYS.index, 'trackedEntity:b'])).toEqual({
      [STORAGE_KEYS.index]: { ids: ['b'] },
      'trackedEntity:b': { n: 1 },
    })
  })

  it('locks may be leases', async () => {
    // The clock stands still, so that no wait for the lock ends.
    const clock = new FakeClock()
    const [storage, leases] = [memoryStorage(), createLeases(memoryStore({ clock }), { clock })]
    const contexts = Array.from({ length: 3 }, () => createSync<Item>({ storage, locks: leases, clock }))
    await Promise.all(
      contexts.flatMap((sync, at) =>
        Array.from({ length: 20 }, (_, n) => sync.setEntity(`${at}-${n}`, { n })),
      ),
    )
    const [index] = Object.values(await storage.get([STORAGE_KEYS.index])) as { ids: string[] }[]
    expect(index?.ids.length).toBe(60)
    await leases.close()
  })

  it('locks may be leases that are lost: the write is carried out under the next one', async () => {
    const clock = new FakeClock()
    const leases = createLeases(memoryStore({ clock }), { clock, ttl: 1000, heartbeat: false })
    const storage = memoryStorage()
    const { set } = storage
    const stuck = Promise.withResolvers<void>()
    const onWarning = vi.fn()
    const sync = createSync<Item>({ storage, locks: leases, clock, onWarning })
    await sync.bootstrap()
    vi.spyOn(storage, 'set').mockImplementation(async (items) => {
      if ('trackedEntity:a' in items && !(STORAGE_KEYS.index in items)) await stuck.promise
      await set(items)
    })
    const written = sync.setEntity('a', { n: 1 })
    await clock.advance(2000)
    stuck.resolve()
    await clock.advance(0)
    await written
    // The lost lease writes nothing more.
    const message = expect.stringContaining('was lost')
    expect(onWarning).toHaveBeenCalledWith(expect.objectContaining({ code: 'write-postponed', message }))
    await clock.advance(2000)
    expect(await storage.get([STORAGE_KEYS.index])).toEqual({ [STORAGE_KEYS.index]: { ids: ['a'] } })
    await leases.close()
  })

  it('locks may call the work at once', async () => {
    const storage = memoryStorage()
    const locks = { withLease: <T>(_name: string, work: () => Promise<T>) => work() }
    const sync = createSync<Item>({ storage, locks })
    for (const id of ['a', 'b']) await sync.setEntity(id, { n: 1 })
    expect(await storage.get([STORAGE_KEYS.index])).toEqual({ [STORAGE_KEYS.index]: { ids: ['a', 'b'] } })
  })

  it('locks that are not free in time postpone the change of the index; the write is in the log', async () => {
    const extension = fakeExtension()
    const [page] = await opened(extension, 'Page')
    const { locks } = extension.browser.openPage()
    void locks.request('holdfast:trackedEntities', () => new Promise(() => {}))
    await extension.settle()
    await extension.resolved(page.setEntity('a', { n: 1 }))
    expect(extension.warnings.map(({ code }) => code)).toContain('write-postponed')
    const [other] = await opened(extension, 'Page')
    expect(other.state.entries).toEqual([['a', { n: 1 }]])
  })
})
