import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { launchChromium, type Site, serveModule } from './chromium.ts'
import { runProbe } from './run-probe.ts'

describe('the sync in tabs, on IndexedDB', () => {
  let browser: BrowserContext
  let site: Site
  let one: Page
  let two: Page
  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages/synced-tab.ts'))
    browser = await launchChromium()
    one = await openTab()
    two = await openTab()
  })
  afterAll(async () => {
    await browser?.close()
    await site?.[Symbol.asyncDispose]()
  })

  async function openTab(): Promise<Page> {
    const tab = await browser.newPage()
    await tab.goto(site.url)
    await runProbe(tab, 'bootstrap')
    return tab
  }
  const shows = (tab: Page, count: number) =>
    vi.waitFor(async () => expect((await runProbe(tab, 'look')).ids.length).toBe(count), 10_000)

  it('loses none of 200 writes of two tabs at once', async () => {
    await Promise.all([runProbe(one, 'add', 'one', 100), runProbe(two, 'add', 'two', 100)])
    for (const tab of [one, two]) await shows(tab, 200)
  })

  it('acknowledges messages, and tells of settings and removals', async () => {
    await runProbe(two, 'paint', '#112233')
    await runProbe(two, 'remove', 'one0')
    await shows(one, 199)
    await vi.waitFor(async () => expect((await runProbe(one, 'look')).theme).toBe('#112233'), 5000)
    expect((await runProbe(two, 'look')).codes).toEqual([])
  })

  it('keeps everything when the tabs are gone, and cleans up what is left behind', async () => {
    await Promise.all([one.close(), two.close()])
    const next = await openTab()
    await shows(next, 199)
    expect(await runProbe(next, 'cleanupOrphans')).toEqual([])
    await runProbe(next, 'reset')
    await shows(next, 0)
  })

  it('lets the database be deleted, and goes on with a new one', async () => {
    const tab = await openTab()
    await tab.evaluate(
      () =>
        new Promise((resolve) => {
          indexedDB.deleteDatabase('holdfast-sync').onsuccess = resolve
        }),
    )
    await runProbe(tab, 'add', 'new', 1)
    await shows(tab, 1)
  })
})
