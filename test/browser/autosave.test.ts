import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { HANG_MS } from '../hang-limit.ts'
import { launchChromium, leave, type Site, serveModule } from './chromium.ts'
import { crash } from './crash.ts'
import type { scenarios } from './pages/autosave.ts'
import { runScenario } from './run-scenario.ts'

type Scenarios = typeof scenarios

describe('AutoSave in Chromium', () => {
  let browser: BrowserContext
  let site: Site
  const pages: Page[] = []

  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages/autosave.ts'))
    browser = await launchChromium({ backForwardCache: true })
  })
  afterEach(async () => {
    const cleaner = await openTab()
    await Promise.all(pages.splice(0).map((page) => page !== cleaner.page && page.close()))
    await clear(cleaner)
    await cleaner.page.close()
  })
  afterAll(async () => {
    await browser?.close()
    await site?.[Symbol.asyncDispose]()
  })

  type Tab = Awaited<ReturnType<typeof openTab>>

  async function openTab({ webLocks = true, query = '' } = {}) {
    const page = await browser.newPage()
    pages.push(page)
    if (!webLocks)
      await page.addInitScript(() =>
        Object.defineProperty(Navigator.prototype, 'locks', { get: () => undefined }),
      )
    await page.goto(site.url + query)
    await page.waitForFunction('globalThis.scenarios')
    const run = <N extends keyof Scenarios & string>(name: N, ...args: Parameters<Scenarios[N]>) =>
      runScenario<Scenarios, N>(page, name, ...args)
    return { page, run }
  }

  /** The writer of a page that was just closed may keep its file open for a moment. */
  const clear = (tab: Tab) => eventually(() => tab.run('clearFiles'))

  async function devTools(page: Page) {
    const session = await browser.newCDPSession(page)
    const origin = new URL(site.url).origin
    return {
      limitQuota: (quotaSize?: number) =>
        session.send('Storage.overrideQuotaForOrigin', { origin, ...(quotaSize && { quotaSize }) }),
      /** A visible page still answers messages when it is frozen, so its scripts are stopped as well. */
      async freeze() {
        await session.send('Page.setWebLifecycleState', { state: 'frozen' })
        await session.send('Debugger.enable')
        await session.send('Debugger.pause')
      },
      async unfreeze() {
        await session.send('Debugger.disable')
        await session.send('Page.setWebLifecycleState', { state: 'active' })
      },
      clearSite: () => session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' }),
    }
  }

  it('AutoSave in Chromium lets one of two tabs write; the other may write when that tab is closed', async () => {
    const a = await openTab()
    await a.run('open', { eager: true })
    await a.run('edit', 'by a')
    expect(await a.run('flush')).toMatchObject({ phase: 'idle', unsaved: false, backend: 'web' })
    const b = await openTab()
    expect(await b.run('open', { eager: true, wait: 200 })).toEqual({ title: 'by a', source: 'current' })
    await eventually(async () =>
      expect(await b.run('state')).toMatchObject({ phase: 'read-only', readOnly: 'held', inLine: true }),
    )
    await a.run('edit', 'by a again')
    await a.run('flush')
    await a.page.close()
    await eventually(async () =>
      expect(await b.run('state')).toMatchObject({ phase: 'idle', backend: 'web', stale: true }),
    )
    expect(await b.run('recover')).toEqual({ title: 'by a again', source: 'current' })
    await b.run('edit', 'by b')
    expect(await b.run('flush')).toMatchObject({ phase: 'idle', unsaved: false })
    expect(await b.run('history')).toBe(3)
  })

  it('AutoSave in Chromium leaves a complete save if the renderer crashes during a save', async () => {
    for (const pause of [0, 7, 23]) {
      const a = await openTab()
      await a.run('open')
      a.run('saveRepeatedly', 3_000_000).catch(() => {})
      await eventually(async () => expect(await a.run('acknowledged')).toBeGreaterThan(1))
      await new Promise((resolve) => setTimeout(resolve, pause))
      await crash(a.page)
      const b = await openTab()
      const last = await b.run('acknowledged')
      const recovered = await b.run('open')
      expect(recovered?.source).toBe('current')
      expect(Number(recovered?.title)).toBeGreaterThanOrEqual(last)
      await b.run('edit', 'after the crash')
      expect(await b.run('flush')).toMatchObject({ phase: 'idle', unsaved: false })
      await b.run('close')
      await clear(b)
    }
  })

  it('AutoSave in Chromium keeps the last edits of a page that is left right after them, and saves them at the next start', async () => {
    const a = await openTab()
    await a.run('open', { debounce: 60_000 })
    await a.run('edit', 'saved')
    await a.run('flush')
    await a.run('edit', 'typed at the last moment')
    await a.page.goto('about:blank')
    const b = await openTab()
    const recovered = await b.run('open')
    expect(recovered?.title).toBe('typed at the last moment')
    await eventually(async () =>
      expect(await b.run('state')).toMatchObject({ phase: 'idle', unsaved: false }),
    )
    expect(await b.run('journals')).toBe(0)
  })

  it('AutoSave in Chromium keeps every save if the next one cannot fit, and saves when there is space again', async () => {
    const a = await openTab()
    const tools = await devTools(a.page)
    await a.run('open')
    for (const title of ['first', 'second', 'small']) {
      await a.run('edit', title, 200_000)
      await a.run('flush')
    }
    await tools.limitQuota(3_000_000)
    await a.run('edit', 'large', 9_000_000)
    expect(await a.run('flush')).toMatchObject({ phase: 'error', code: 'quota-exceeded', unsaved: true })
    expect(await a.run('history')).toBe(3)
    const b = await openTab()
    expect(await b.run('open')).toMatchObject({ title: 'small' })
    await tools.limitQuota()
    expect(await a.run('flush')).toMatchObject({ phase: 'idle', unsaved: false })
    expect(await b.run('recover')).toMatchObject({ title: 'large' })
  })

  it('continues to save after the data of the site was cleared', async () => {
    const a = await openTab()
    const tools = await devTools(a.page)
    await a.run('open')
    await a.run('edit', 'before')
    await a.run('flush')
    await tools.clearSite()
    await a.run('edit', 'after')
    await eventually(async () =>
      expect(await a.run('flush')).toMatchObject({ phase: 'idle', unsaved: false }),
    )
    const b = await openTab()
    expect(await b.run('open')).toMatchObject({ title: 'after' })
  })

  it('continues in a page that comes back from the back/forward cache', async () => {
    const { page, run } = await openTab()
    await run('open')
    await run('edit', 'before')
    await run('flush')
    const comeBack = await leave(page, `${site.url}elsewhere`)
    await comeBack()
    expect(await run('state')).toMatchObject({ savedAt: expect.any(Number) })
    await run('edit', 'after')
    await eventually(async () => expect(await run('flush')).toMatchObject({ phase: 'idle', unsaved: false }))
    const other = await openTab()
    expect(await other.run('open')).toMatchObject({ title: 'after' })
  })

  it('AutoSave in Chromium keeps its edits if another page steals the lock, and saves them when it gets the lock again', async () => {
    const [a, thief] = [await openTab(), await openTab()]
    await a.run('open')
    await a.run('edit', 'saved')
    await a.run('flush')
    await thief.page.evaluate(
      () =>
        new Promise<void>((stolen) => {
          void navigator.locks.request('test:project:autosave', { steal: true }, () => {
            stolen()
            return new Promise(() => {})
          })
        }),
    )
    await a.run('edit', 'after the theft')
    await eventually(async () =>
      expect(await a.run('state')).toMatchObject({ phase: 'read-only', readOnly: 'held', unsaved: true }),
    )
    expect(await thief.run('open')).toMatchObject({ title: 'saved' })
    await thief.page.close()
    await eventually(async () =>
      expect(await a.run('state')).toMatchObject({ phase: 'idle', unsaved: false }),
    )
  })

  it.each([
    ['a Web Lock', true],
    ['a .lock', false],
  ])(
    'can be edited elsewhere while its page is frozen, and overwrites nothing later: %s',
    async (_, webLocks) => {
      const [a, b] = [await openTab({ webLocks }), await openTab({ webLocks })]
      // Only `flush` saves, so the page is frozen before it saves its last edit.
      await a.run('open', { debounce: HANG_MS, idle: HANG_MS })
      await a.run('edit', 'by a')
      await a.run('flush')
      await b.run('open')
      const tools = await devTools(a.page)
      await a.run('edit', 'typed before the freeze')
      await tools.freeze()
      await takeOver(b)
      expect(await b.run('flush')).toMatchObject({ phase: 'idle', unsaved: false })
      await tools.unfreeze()
      await eventually(async () => expect(await a.run('state')).toMatchObject({ phase: 'read-only' }))
      expect(await a.run('flush')).toMatchObject({ unsaved: true })
      expect(await newestSave()).toBe('by b')
    },
  )

  it('AutoSave in Chromium loses its Web Lock to a tab that waits when it is frozen, and is told when it thaws', async () => {
    const query = '?takeoverAfter=5000'
    const [a, b] = [await openTab({ query }), await openTab({ query })]
    await a.run('open', { debounce: HANG_MS, idle: HANG_MS })
    await a.run('edit', 'by a')
    await a.run('flush')
    await b.run('open')
    await a.run('edit', 'typed before the freeze')
    await b.run('edit', 'by b')
    const tools = await devTools(a.page)
    await tools.freeze()
    await eventually(async () =>
      expect(await b.run('state')).toMatchObject({ phase: 'idle', backend: 'web', unsaved: false }),
    )
    await tools.unfreeze()
    await eventually(async () => expect(await a.run('state')).toMatchObject({ phase: 'read-only' }))
    expect(await a.run('flush')).toMatchObject({ backend: null, unsaved: true })
    expect(await newestSave()).toBe('by b')
  })

  it('AutoSave in Chromium finishes the commit in which its page was frozen, and a tab that took over overwrites nothing', async () => {
    const [a, b] = [await openTab({ webLocks: false }), await openTab({ webLocks: false })]
    await a.run('open')
    await a.run('edit', 'by a')
    await a.run('flush')
    await b.run('open', { journal: false })
    await a.run('stallInCommit')
    await a.run('edit', 'typed before the freeze')
    await eventually(async () => expect(await a.run('state')).toMatchObject({ phase: 'committing' }))
    await takeOver(b)
    // The writer of the stalled page is still open.
    expect(await b.run('flush')).toMatchObject({ phase: 'backoff', unsaved: true })
    await a.run('continueCommit')
    await eventually(async () =>
      expect(await b.run('flush')).toMatchObject({ readOnly: 'conflict', unsaved: true }),
    )
    expect(await newestSave()).toBe('typed before the freeze')
  })

  async function takeOver(tab: Tab): Promise<void> {
    await tab.run('edit', 'by b')
    await eventually(async () =>
      expect(await tab.run('state')).toMatchObject({ phase: 'read-only', readOnly: 'held' }),
    )
    await tab.run('takeOver')
    await eventually(async () => expect((await tab.run('state')).backend).not.toBe(null))
  }

  async function newestSave(): Promise<string | undefined> {
    const reader = await openTab()
    return (await reader.run('open', { journal: false }))?.title
  }

  it('AutoSave in Chromium never shows an incomplete save to a reader that reads all the time', async () => {
    const a = await openTab()
    await a.run('open')
    await a.run('edit', '0', 200_000)
    await a.run('flush')
    a.run('saveRepeatedly', 200_000).catch(() => {})
    const b = await openTab()
    expect(await b.run('readWhileSaved', 2000, 6)).toEqual([])
  })
})
