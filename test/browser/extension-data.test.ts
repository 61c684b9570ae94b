/** Stored data of an extension that something else has changed: another format, device, version or program. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { type Site, serveModule } from './chromium.ts'
import { contentScript, type LoadedExtension, loadExtension } from './loaded-extension.ts'

describe('stored data', () => {
  let extension: LoadedExtension
  let site: Site
  let page: Page
  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages/empty.ts'))
    extension = await loadExtension(join(import.meta.dirname, 'probe'))
  })
  beforeEach(async () => {
    page = await extension.open('lab.html')
    await page.evaluate(`Object.assign(globalThis, {
      codeOf: (promise) => promise.then(() => 'resolved', ({ code }) => code),
      quiet: { onWarning() {} },
    })`)
  })
  afterEach(async () => {
    await page.evaluate(`Promise.all([chrome.storage.local.clear(), chrome.storage.sync.clear()])`)
    await page.close()
  })
  afterAll(async () => {
    await extension?.[Symbol.asyncDispose]()
    await site?.[Symbol.asyncDispose]()
  })

  it('stored data of the layout one-key is moved by a context of key-per-entity, and then closed to contexts of one-key', async () => {
    const codes = await page.evaluate(`(async () => {
      const a = createSync({ ...chromeContext(), ...quiet, layout: 'one-key' })
      await a.setEntity('x', { n: 1 })
      const b = createSync({ ...chromeContext(), ...quiet })
      await b.bootstrap()
      const late = createSync({ ...chromeContext(), ...quiet, layout: 'one-key' })
      return [
        b.get('x'),
        await codeOf(a.setEntity('y', { n: 2 })),
        await codeOf(late.setEntity('z', { n: 3 })),
        await codeOf(late.bootstrap()),
        Object.keys(await chrome.storage.local.get(null)).sort(),
      ]
    })()`)
    const kept = ['trackedEntities:index', 'trackedEntities:meta', 'trackedEntity:x']
    expect(codes).toEqual([{ n: 1 }, 'other-format', 'other-format', 'other-format', kept])
  })

  it('stored data of another schema version than the coordinator is refused to a content script', async () => {
    const tab = await extension.browser.newPage()
    await tab.goto(site.url)
    const evaluate = await contentScript(tab)
    await page.evaluate(`createSync({ ...chromeContext(), ...quiet }).setEntity('x', { n: 1 })`)
    const code = await evaluate(`createSync({
      ...chromeContext(),
      schema: { version: 2, migrations: { 2: (state) => state } },
    }).bootstrap().then(() => 'resolved', ({ code }) => code)`)
    expect(code).toBe('other-format')
    await tab.close()
  })

  it('stored data in storage.sync is kept although the index of another device does not name it', async () => {
    const shown = await page.evaluate(`(async () => {
      const context = { ...chromeContext({ area: 'sync' }), ...quiet }
      const coordinator = createCoordinator(context)
      const sync = createSync(context)
      await sync.setEntity('mine', { n: 1 })
      await chrome.storage.sync.set({ 'trackedEntity:early': { n: 2 } })
      const cleaned = [await coordinator.cleanupOrphans(), await sync.cleanupOrphans()]
      await chrome.storage.sync.set({ 'trackedEntities:index': { ids: ['theirs'] }, 'trackedEntity:theirs': { n: 3 } })
      await sync.setEntity('next', { n: 4 })
      await new Promise((resolve) => setTimeout(resolve, 300))
      const { 'trackedEntities:index': index } = await chrome.storage.sync.get(null)
      return [cleaned, sync.state.entries.map(([id]) => id).sort(), index.ids.sort()]
    })()`)
    const all = ['early', 'mine', 'next', 'theirs']
    expect(shown).toEqual([[[], []], all, all])
  })

  it('stored data without its index is not cleaned up', async () => {
    const [code, keys] = (await page.evaluate(`(async () => {
      const sync = createSync({ ...chromeContext(), ...quiet })
      await sync.setEntity('x', { n: 1 })
      await chrome.storage.local.remove('trackedEntities:index')
      const code = await codeOf(createCoordinator({ ...chromeContext(), ...quiet }).cleanupOrphans())
      return [code, Object.keys(await chrome.storage.local.get(null))]
    })()`)) as [string, string[]]
    expect(code).toBe('store-failed')
    expect(keys).toContain('trackedEntity:x')
  })

  it('stored data of more than half the quota is migrated from one-key to key-per-entity', async () => {
    const moved = await page.evaluate(`(async () => {
      const text = 'x'.repeat(60_000)
      const all = Object.fromEntries(Array.from({ length: 120 }, (_, n) => ['e' + n, { n, text }]))
      await chrome.storage.local.set({ trackedEntities: all })
      const sync = createSync({ ...chromeContext(), ...quiet })
      await sync.bootstrap()
      const items = await chrome.storage.local.get(['trackedEntities', 'trackedEntities:index', 'trackedEntity:e7'])
      return [sync.state.entries.length, 'trackedEntities' in items, items['trackedEntity:e7'].n]
    })()`)
    expect(moved).toEqual([120, false, 7])
  })

  it('stored data that fills the quota can be removed', async () => {
    const codes = await page.evaluate(`(async () => {
      const sync = createSync({ ...chromeContext(), ...quiet })
      for (const id of ['x', 'y', 'z']) await sync.setEntity(id, { n: 1 })
      await new Promise((resolve) => setTimeout(resolve, 300))
      const { local } = chrome.storage
      const left = local.QUOTA_BYTES - (await local.getBytesInUse()) - 'filler""'.length
      await local.set({ filler: 'x'.repeat(left) })
      const codes = [await codeOf(sync.setEntity('w', { n: 1 })), await codeOf(sync.removeEntity('x'))]
      return [...codes, await codeOf(sync.reset()), await chrome.storage.local.get('trackedEntities:index')]
    })()`)
    expect(codes).toEqual(['store-failed', 'resolved', 'resolved', { 'trackedEntities:index': { ids: [] } }])
  })

  it('stored data with one invalid setting lets all others be saved', async () => {
    const [code, stored] = (await page.evaluate(`(async () => {
      await chrome.storage.local.set({ syncSettings: { featureEnabled: true, scopeMode: 'all', themeToken: 'mauve' } })
      const sync = createSync({ ...chromeContext(), ...quiet })
      const code = await codeOf(sync.updateSettings({ featureEnabled: false }))
      return [code, (await chrome.storage.local.get('syncSettings')).syncSettings]
    })()`)) as [string, object]
    expect(code).toBe('resolved')
    expect(stored).toMatchObject({ featureEnabled: false, themeToken: 'mauve' })
  })

  it('stored data keeps an acknowledged write of an entity that other code removes from the index at the same moment', async () => {
    const [shown, ids] = (await page.evaluate(`(async () => {
      const sync = createSync({ ...chromeContext(), ...quiet })
      await sync.setEntity('x', { n: 1 })
      await sync.setEntity('y', { n: 1 })
      await new Promise((resolve) => setTimeout(resolve, 300))
      const removed = chrome.storage.local.set({ 'trackedEntities:index': { ids: ['y'] } })
      await Promise.all([removed, sync.setEntity('x', { n: 2 })])
      const fresh = createSync({ ...chromeContext(), ...quiet })
      await fresh.bootstrap()
      return [fresh.get('x'), (await chrome.storage.local.get('trackedEntities:index'))['trackedEntities:index'].ids]
    })()`)) as [object, string[]]
    expect(shown).toEqual({ n: 2 })
    expect(ids.toSorted()).toEqual(['x', 'y'])
  })

  it('counts to two hundred in two pages and a content script', async () => {
    const tab = await extension.browser.newPage()
    await tab.goto(site.url)
    const other = await extension.open('lab.html')
    const count = (times: number) => `(async () => {
      const sync = createSync({ ...chromeContext(), onWarning() {} })
      for (let n = 0; n < ${times}; n++) await sync.updateEntity('counter', (entity) => ({ n: (entity?.n ?? 0) + 1 }))
    })()`
    const evaluate = await contentScript(tab)
    await Promise.all([page.evaluate(count(100)), other.evaluate(count(80)), evaluate(count(20))])
    expect(await page.evaluate(`chrome.storage.local.get('trackedEntity:counter')`)).toEqual({
      'trackedEntity:counter': { n: 200 },
    })
    await Promise.all([tab.close(), other.close()])
  })
})

it('a missing permission is named', async () => {
  await using extension = await loadExtension(join(import.meta.dirname, 'no-permission'))
  const page = await extension.open('page.html')
  const message = await page.evaluate(`(() => {
    try { sync.chromeContext() } catch (error) { return error.code + ' ' + error.message }
  })()`)
  expect(message).toMatch(/^invalid-argument .*permission "storage"/)
})

it('a content script whose extension is reloaded stops, and says so once', async () => {
  await using site = await serveModule(join(import.meta.dirname, 'pages/empty.ts'))
  await using extension = await loadExtension(join(import.meta.dirname, 'probe'))
  const tab = await extension.browser.newPage()
  await tab.goto(site.url)
  const evaluate = await contentScript(tab)
  await evaluate(`Object.assign(globalThis, { warnings: [], statuses: [] }); 0`)
  await evaluate(
    `globalThis.orphan = createSync({ ...chromeContext(), onWarning: ({ code }) => warnings.push(code) }); 0`,
  )
  await evaluate(`orphan.subscribe(({ type, status }) => type === 'status' && statuses.push(status)); 0`)
  await evaluate(`orphan.bootstrap()`)
  await evaluate(
    `globalThis.counter = createSync({ ...chromeContext(), onWarning() {} }); counter.bootstrap()`,
  )
  await extension.worker.evaluate(`chrome.runtime.reload()`).catch(() => {})
  await eventually(async () =>
    expect(await evaluate(`orphan.setEntity('x', {}).then(() => 'resolved', ({ code }) => code)`)).toBe(
      'closed',
    ),
  )
  const counted = await evaluate(
    `counter.updateEntity('x', () => ({})).catch(({ code }) => [code, counter.status])`,
  )
  expect(counted).toEqual(['closed', 'invalidated'])
  // Longer than the pause between two reads.
  await new Promise((resolve) => setTimeout(resolve, 1200))
  expect(await evaluate(`[warnings, statuses, orphan.status]`)).toEqual([
    ['invalidated'],
    ['ready', 'invalidated'],
    'invalidated',
  ])
})
