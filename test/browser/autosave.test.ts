import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { launchChromium, type Site, serveModule } from './chromium.ts'
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
    browser = await launchChromium()
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

  async function openTab() {
    const page = await browser.newPage()
    pages.push(page)
    await page.goto(site.url)
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
      clearSite: () => session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' }),
    }
  }

  it('lets one of two tabs write; the other may write when that tab is closed', async () => {
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

  it('leaves a complete save if the renderer crashes during a save', async () => {
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

  it('keeps the last edits of a page that is left right after them, and saves them at the next start', async () => {
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

  it('keeps every save if the next one cannot fit, and saves when there is space again', async () => {
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

  it('never shows an incomplete save to a reader that reads all the time', async () => {
    const a = await openTab()
    await a.run('open')
    await a.run('edit', '0', 200_000)
    await a.run('flush')
    a.run('saveRepeatedly', 200_000).catch(() => {})
    const b = await openTab()
    expect(await b.run('readWhileSaved', 2000, 6)).toEqual([])
  })
})
