import { describe, expect, it, vi } from 'vitest'
import { changesOf, fakeExtension, type Item, opened } from '../../test/sync/fake-extension.ts'
import { FakeClock, fakeBrowser } from '../testing/index.ts'
import { chromeContext, chromeMessenger, chromeStorage, createSync, STORAGE_KEYS, webLocks } from './index.ts'

describe('the area', () => {
  it.each(['local', 'session', 'sync'] as const)('%s is used, and no other', async (area) => {
    const extension = fakeExtension({ area })
    const [one, two] = await opened(extension, 'Page', 'Page')
    await extension.resolved(one.setEntity('a', { n: 1 }))
    await extension.settle()
    expect(two.state.entries).toEqual([['a', { n: 1 }]])
    const used = (['local', 'session', 'sync'] as const).filter(
      (name) => Object.keys(extension.browser.items(name)).length > 0,
    )
    expect(used).toEqual([area])
  })

  it('sync and local hold separate collections, although the writes of both wait in local', async () => {
    const extension = fakeExtension()
    const { api, locks, clock } = extension.browser.openPage()
    const open = (area: 'local' | 'sync') =>
      createSync<{ n: number }>({
        storage: chromeStorage(area, api),
        locks: webLocks({ locks, clock }),
        clock,
      })
    const [local, sync] = [open('local'), open('sync')]
    await extension.resolved(Promise.all([local.setEntity('l', { n: 1 }), sync.setEntity('s', { n: 2 })]))
    await extension.settle()
    expect(local.state.entries).toEqual([['l', { n: 1 }]])
    expect(sync.state.entries).toEqual([['s', { n: 2 }]])
    expect(extension.browser.items('local')).toMatchObject({ 'trackedEntities:index': { ids: ['l'] } })
    expect(extension.browser.items('sync')).toMatchObject({ 'trackedEntities:index': { ids: ['s'] } })
  })

  it('sync refuses an item above 8 kB before it is sent, and loses nothing', async () => {
    const extension = fakeExtension({ area: 'sync' })
    const [page] = await opened(extension, 'Page')
    await extension.resolved(page.setEntity('a', { n: 1 }))
    const large = page.setEntity('b', { n: 2, text: 'x'.repeat(8200) } as never)
    await expect(extension.resolved(large)).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('8192'),
    })
    expect(page.state.entries).toEqual([['a', { n: 1 }]])
  })

  it('sync waits for the next minute after 120 writes, and loses nothing', async () => {
    const extension = fakeExtension({ area: 'sync', latency: [0, 0] })
    const [page] = await opened(extension, 'Page')
    await extension.resolved(page.setEntity('a', { n: 0 }))
    for (let n = 1; n <= 130; n++) {
      void page.setEntity('a', { n })
      await extension.clock.advance(1)
    }
    expect(page.get('a')).toEqual({ n: 130 })
    expect(extension.browser.items('sync')['trackedEntity:a']).not.toEqual({ n: 130 })
    await extension.clock.advance(70_000)
    expect(extension.browser.items('sync')['trackedEntity:a']).toEqual({ n: 130 })
    expect(extension.browser.items('local')).toEqual({})
    const postponed = extension.warnings.filter(({ code }) => code === 'write-postponed')
    // One for each write that met the limit, and not one for each second of waiting.
    expect(postponed.length).toBeLessThan(150)
  })

  describe('sync, after the writes of a minute are used up', () => {
    const large = (n: number) => ({ n, text: 'x'.repeat(8000) }) as Item
    async function busyPage() {
      const extension = fakeExtension({ area: 'sync', latency: [0, 0] })
      const { sync } = extension.browser.openPage().api.storage
      const [page] = await opened(extension, 'Page')
      await extension.resolved(page.setEntity('a', { n: 0 }))
      for (let n = 0; n < 120; n++)
        await extension.resolved(sync?.set({ other: n }) ?? Promise.reject()).catch(() => {})
      return { extension, page }
    }

    it('sync, after the writes of a minute are used up refuses what can never fit', async () => {
      const { extension, page } = await busyPage()
      const entities = Array.from({ length: 40 }, (_, n) => [`large ${n}`, large(n)] as const)
      await expect(extension.resolved(page.setEntities(entities))).rejects.toMatchObject({
        code: 'store-failed',
        message: expect.stringMatching(/^everything would take \d+ bytes; storage.sync allows 102400$/),
      })
      expect(page.state.entries.length).toBe(1)
      expect(extension.browser.items('local')).toEqual({})
    })

    it('sync, after the writes of a minute are used up refuses the write that does not fit beside those that wait, and stores the others later', async () => {
      const { extension, page } = await busyPage()
      const waits: number[] = []
      page.subscribe((change) => change.type === 'waiting' && waits.push(change.waiting))
      const written: string[] = []
      for (let n = 0; n < 16; n++)
        await extension.resolved(page.setEntity(`large ${n}`, large(n))).then(
          () => written.push(`large ${n}`),
          ({ code }) => expect(code).toBe('store-failed'),
        )
      expect(written.length).toBe(12)
      expect(page.waiting).toBe(written.length)
      await extension.clock.advance(70_000)
      expect(page.waiting).toBe(0)
      expect(waits.at(-1)).toBe(0)
      const stored = Object.keys(extension.browser.items('sync')).filter((key) => key.includes('large'))
      expect(stored.sort()).toEqual(written.map((id) => STORAGE_KEYS.entityPrefix + id).sort())
    })

    it('sync, after the writes of a minute are used up tells a content script that its write does not fit', async () => {
      const { extension, page } = await busyPage()
      extension.startWorker()
      const [tab] = await opened(extension, 'Tab')
      const written = tab.setEntities(Array.from({ length: 40 }, (_, n) => [`large ${n}`, large(n)] as const))
      await expect(extension.resolved(written)).rejects.toMatchObject({
        code: 'store-failed',
        message: expect.stringContaining('storage.sync allows 102400'),
      })
      await extension.settle()
      expect([tab.state.entries.length, page.state.entries.length]).toEqual([1, 1])
      expect(extension.warnings.map(({ code }) => code)).toContain('write-refused')
    })
  })

  it('the area is refused if the browser does not have it', () => {
    const { api } = fakeBrowser({ clock: new FakeClock() }).openPage()
    const { session: _none, ...storage } = api.storage
    expect(() => chromeStorage('session', { ...api, storage })).toThrow('area')
    expect(() => chromeStorage()).toThrow(
      'api: expected `chrome` or `browser` of an extension, got undefined',
    )
  })

  it('the area lists its keys also in a browser without getKeys', async () => {
    const clock = new FakeClock()
    const { api } = fakeBrowser({ clock, latency: [0, 0] }).openPage()
    const { getKeys: _none, ...local } = api.storage.local
    const adapter = chromeStorage('local', { ...api, storage: { ...api.storage, local } })
    const set = adapter.set({ a: 1 })
    await clock.advance(1)
    await set
    const keys = adapter.keys()
    await clock.advance(1)
    expect(await keys).toEqual(['a'])
  })
})

describe('an extension that was unloaded', () => {
  it('an extension that was unloaded rejects writes with an error', async () => {
    const { api } = fakeBrowser({ clock: new FakeClock() }).openTab()
    const unloaded = () => {
      throw new Error('Extension context invalidated.')
    }
    const local = { ...api.storage.local, get: unloaded }
    const runtime = { ...api.runtime, sendMessage: unloaded }
    const dead = { ...api, runtime, storage: { ...api.storage, local } }
    const sync = createSync({
      storage: chromeStorage('local', dead),
      messenger: chromeMessenger({ api: dead }),
      onWarning: () => {},
    })
    await expect(sync.setEntity('a', {})).rejects.toMatchObject({
      code: 'closed',
      message: expect.stringContaining('reload'),
    })
    expect(sync.status).toBe('invalidated')
    await expect(sync.updateEntity('a', (entity) => ({ ...entity }))).rejects.toMatchObject({
      code: 'closed',
      message: 'this sync is invalidated',
    })
    await sync.close()
  })
})

describe('a page that returns from the back/forward cache', () => {
  it('a page that returns from the back/forward cache reads everything again', async () => {
    const clock = new FakeClock()
    const browser = fakeBrowser({ clock })
    const returns: ((event: { persisted: boolean }) => void)[] = []
    vi.stubGlobal('addEventListener', (_type: string, listener: () => void) => returns.push(listener))
    const [frozen, awake] = [browser.openPage().api, browser.openPage().api]
    const onChanged = { addListener() {}, removeListener() {} }
    const sync = createSync({
      storage: chromeStorage('local', { ...frozen, storage: { ...frozen.storage, onChanged } }),
    })
    const other = createSync({ storage: chromeStorage('local', awake) })
    vi.unstubAllGlobals()
    void other.setEntities([
      ['a', { n: 1 }],
      ['b', { n: 1 }],
    ])
    await clock.advance(1000)
    void sync.bootstrap()
    await clock.advance(1000)
    void other.setEntity('a', { n: 2 })
    void other.removeEntity('b')
    void other.updateSettings({ themeToken: '#000' })
    await clock.advance(1000)
    expect(sync.get('a')).toEqual({ n: 1 })
    for (const returned of returns) returned({ persisted: true })
    await clock.advance(1000)
    expect(sync.state.entries).toEqual([['a', { n: 2 }]])
    expect(sync.settings.themeToken).toBe('#000')
  })

  it('shows and carries out a write of a page that was closed meanwhile', async () => {
    const extension = fakeExtension()
    const { api, clock } = extension.browser.openPage()
    const returns: ((event: { persisted: boolean }) => void)[] = []
    vi.stubGlobal('addEventListener', (_type: string, listener: () => void) => returns.push(listener))
    const onChanged = { addListener() {}, removeListener() {} }
    const storage = chromeStorage('local', { ...api, storage: { ...api.storage, onChanged } })
    const page = createSync<Item>({ storage, clock })
    vi.unstubAllGlobals()
    const [closed] = await opened(extension, 'Tab')
    await extension.resolved(page.bootstrap())
    void closed.setEntity('a', { n: 1 })
    await extension.settle()
    closed.context.kill()
    for (const returned of returns) returned({ persisted: true })
    await extension.settle()
    expect(page.get('a')).toEqual({ n: 1 })
    expect(extension.browser.items()).toMatchObject({ [STORAGE_KEYS.index]: { ids: ['a'] } })
  })
})

describe('Firefox', () => {
  it('Firefox reports keys that did not change, but the sync emits no change for them', async () => {
    const extension = fakeExtension({ flavour: 'firefox' })
    const [one, two] = await opened(extension, 'Page', 'Page')
    const events = vi.fn()
    two.context.api.storage.onChanged.addListener(events)
    const seen = changesOf(two)
    for (let time = 0; time < 3; time++) await extension.resolved(one.setEntity('a', { n: 1 }))
    await extension.settle()
    expect(events.mock.calls.length).toBeGreaterThan(3)
    expect(seen).toEqual([{ type: 'entity', id: 'a', entity: { n: 1 } }])
  })
})

describe('a context', () => {
  const browser = fakeBrowser({ clock: new FakeClock() })

  it('a context of the extension writes under a Web Lock, a content script through the worker', () => {
    const [page, tab] = [browser.openPage(), browser.openTab()]
    vi.stubGlobal('navigator', { locks: page.locks })
    expect(chromeContext({ api: page.api, href: page.href })).toHaveProperty('locks')
    expect(chromeContext({ api: tab.api, href: tab.href })).toMatchObject({ writes: 'coordinator' })
    vi.unstubAllGlobals()
  })

  it('a context without Web Locks is refused by webLocks', () => {
    vi.stubGlobal('navigator', {})
    expect(() => webLocks()).toThrow('Web Locks')
    vi.unstubAllGlobals()
  })

  it('a context passes on why the browser refused a Web Lock', async () => {
    const cause = new DOMException('not for this document', 'SecurityError')
    const locks = webLocks({ locks: { request: () => Promise.reject(cause) } })
    await expect(locks.withLease('r', async () => {})).rejects.toMatchObject({
      code: 'store-failed',
      message: 'not for this document',
      resource: 'r',
      cause,
    })
  })

  it('a context uses browser.* if both browser.* and chrome.* exist', () => {
    vi.stubGlobal('chrome', browser.openPage().api)
    expect(() => chromeStorage('local')).not.toThrow()
    vi.stubGlobal('browser', { runtime: {}, storage: {} })
    expect(() => chromeStorage('local')).toThrow('area')
    vi.unstubAllGlobals()
  })
})
