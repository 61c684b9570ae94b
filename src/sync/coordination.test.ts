import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { fakeExtension, type Item, opened } from '../../test/sync/fake-extension.ts'
import { createSync, memoryMessengers, memoryStorage, STORAGE_KEYS } from './index.ts'

const META = { option: 'B', revision: 0, schemaVersion: 1, shards: 1 }

describe('reset and clean-up', () => {
  it('empty the index and keep settings and foreign keys', async () => {
    const extension = fakeExtension()
    const [page, other] = await opened(extension, 'Page', 'Page')
    const foreign = { token: 'secret', trackedEntitiesX: 1, 'my:trackedEntity:a': 2 }
    await extension.resolved(page.context.api.storage.local.set(foreign))
    await extension.resolved(page.updateSettings({ scopeMode: 'specific', scopeTargetId: 'example.com' }))
    await extension.resolved(page.setEntity('a', { n: 1 }))
    await extension.resolved(page.context.api.storage.local.set({ 'trackedEntity:orphan': { n: 9 } }))
    await extension.settle()
    const reset = page.reset()
    expect(page.state.entries).toEqual([])
    await extension.resolved(reset)
    await extension.settle()
    expect(other.state.entries).toEqual([])
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

  it('reset and clean-up are done by the coordinator at the start, and when ids leave the index', async () => {
    const extension = fakeExtension()
    const { api } = extension.browser.openPage()
    await extension.resolved(
      api.storage.local.set({ 'trackedEntity:old': { n: 1 }, [STORAGE_KEYS.index]: { ids: [] } }),
    )
    const worker = extension.startWorker()
    expect(await extension.resolved(worker.current().cleanupOrphans())).toEqual(['old'])
    const [page] = await opened(extension, 'Page')
    await extension.resolved(page.setEntity('a', { n: 1 }))
    extension.browser.worker?.kill()
    // A foreign writer removes the id from the index, and does not remove the key.
    await extension.resolved(api.storage.local.set({ [STORAGE_KEYS.index]: { ids: [] } }))
    await extension.settle()
    expect(Object.keys(extension.browser.items())).not.toContain('trackedEntity:a')
    await extension.resolved(worker.current().close())
  })
})

describe('messages', () => {
  it('messages without a receiver cause a warning, and the write succeeds', async () => {
    const extension = fakeExtension()
    const [page] = await opened(extension, 'Page')
    await extension.resolved(page.setEntity('a', { n: 1 }))
    await extension.settle()
    expect(extension.warnings.map(({ code }) => code)).toEqual(['no-receiver'])
  })

  it('messages without an answer are sent again as often as `resend` says', async () => {
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

  it('messages are sent after the write is stored', async () => {
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

  it('messages of memoryMessengers connect contexts of one process', async () => {
    const [storage, connect] = [memoryStorage(), memoryMessengers()]
    const [one, two] = [0, 1].map(() => createSync<Item>({ storage, messenger: connect() }))
    await two?.bootstrap()
    await one?.setEntity('a', { n: 1 })
    await eventually(() => expect(two?.get('a')).toEqual({ n: 1 }))
  })
})

describe('a content script', () => {
  it('a content script works on a page without https, where there is no crypto.randomUUID', async () => {
    const { getRandomValues } = crypto
    vi.stubGlobal('crypto', { getRandomValues: getRandomValues.bind(crypto) })
    const extension = fakeExtension()
    extension.startWorker()
    const [tab] = await opened(extension, 'Tab')
    await extension.resolved(tab.setEntity('a', { n: 1 }))
    vi.unstubAllGlobals()
    expect(extension.browser.items()[STORAGE_KEYS.index]).toEqual({ ids: ['a'] })
  })

  it('a content script completes its write although the worker dies during the operation', async () => {
    const extension = fakeExtension()
    extension.startWorker()
    const [tab] = await opened(extension, 'Tab')
    const firstWorker = extension.browser.worker
    // The worker dies when the entity is stored and the index is not.
    extension.browser.onWrite(() => firstWorker?.kill())
    await extension.resolved(tab.setEntity('a', { n: 1 }))
    expect(extension.browser.worker).not.toBe(firstWorker)
    await extension.settle()
    expect(tab.state.entries).toEqual([['a', { n: 1 }]])
    expect(extension.browser.items()[STORAGE_KEYS.index]).toEqual({ ids: ['a'] })
  })

  it('a content script counts once although the worker dies after the update is stored, before anybody hears of it', async () => {
    const extension = fakeExtension()
    extension.startWorker()
    const [tab] = await opened(extension, 'Tab')
    await extension.resolved(tab.setEntity('a', { n: 1 }))
    await extension.settle()
    const firstWorker = extension.browser.worker
    extension.browser.onWrite(() => {
      const { n } = extension.browser.items()['trackedEntity:a'] as Item
      if (n === 2) firstWorker?.kill()
    })
    await extension.resolved(tab.updateEntity('a', (item) => ({ n: (item?.n ?? 0) + 1 })))
    await extension.settle()
    expect(tab.get('a')).toEqual({ n: 2 })
    expect(extension.browser.items()['trackedEntity:a']).toEqual({ n: 2 })
  })

  it('a content script removes orphans through the worker, and gets their ids', async () => {
    const extension = fakeExtension()
    extension.startWorker()
    const [tab] = await opened(extension, 'Tab')
    await extension.resolved(tab.setEntity('a', { n: 1 }))
    const { local } = extension.browser.openPage().api.storage
    await extension.resolved(local.set({ 'trackedEntity:orphan': { n: 9 } }))
    const cleaned = tab.cleanupOrphans().then((ids) => [ids, Object.keys(extension.browser.items())])
    expect(await extension.resolved(cleaned)).toEqual([
      ['orphan'],
      expect.not.arrayContaining(['trackedEntity:orphan']),
    ])
    await extension.settle()
    expect(Object.keys(extension.browser.items()).toSorted()).toEqual([
      STORAGE_KEYS.index,
      STORAGE_KEYS.meta,
      'trackedEntity:a',
    ])
  })

  it('a content script keeps its writes in the log while there is no coordinator, and every context shows them', async () => {
    const extension = fakeExtension()
    const [tab, other] = await opened(extension, 'Tab', 'Tab')
    await extension.resolved(tab.setEntity('a', { n: 1 }))
    expect(other.get('a')).toEqual({ n: 1 })
    expect(extension.browser.items()).not.toHaveProperty(STORAGE_KEYS.index)
    extension.startWorker()
    await extension.settle()
    expect(extension.browser.items()).toMatchObject({
      [STORAGE_KEYS.index]: { ids: ['a'] },
      'trackedEntity:a': { n: 1 },
    })
    expect(Object.keys(extension.browser.items()).length).toBe(3)
  })

  it('a content script rejects an update that nobody carries out', async () => {
    const extension = fakeExtension()
    const [tab] = await opened(extension, 'Tab')
    await expect(extension.resolved(tab.updateEntity('a', () => ({ n: 1 })))).rejects.toMatchObject({
      code: 'store-unavailable',
      retryable: true,
    })
    // It is not carried out later, either.
    expect(extension.browser.items()).toEqual({})
  })

  it('a content script gets the code of an error at the coordinator', async () => {
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
