/** Pages that write and close in the same turn: whatever a bare `chrome.storage.local.set` keeps is kept. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { type Site, serveModule } from './chromium.ts'
import { contentScript, type LoadedExtension, loadExtension } from './loaded-extension.ts'
import type { Probe } from './probe/probe.ts'
import { runProbe } from './run-probe.ts'

const ROUNDS = 5

describe('a write survives', () => {
  let extension: LoadedExtension
  let site: Site
  let observer: Page
  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages/empty.ts'))
    extension = await loadExtension(join(import.meta.dirname, 'probe'))
    observer = await extension.open('page.html')
    await runProbe(observer, 'bootstrap')
  })
  afterEach(async () => {
    await runProbe(observer, 'reset')
  })
  afterAll(async () => {
    await extension?.[Symbol.asyncDispose]()
    await site?.[Symbol.asyncDispose]()
  })

  const shown = async () => (await runProbe(observer, 'look')).ids.toSorted()
  const ids = (...names: string[]) =>
    names.flatMap((name) => Array.from({ length: ROUNDS }, (_, n) => `${name}${n}`)).toSorted()

  it('the end of its page in the same turn, before and after the bootstrap', async () => {
    for (let n = 0; n < ROUNDS; n++) {
      const [fresh, ready] = [await extension.open('blank.html'), await extension.open('page.html')]
      await runProbe(ready, 'bootstrap')
      const closed = [fresh, ready].map((page) => page.waitForEvent('close'))
      // The script of the page creates its sync, writes and closes in one turn.
      await fresh.goto(`${new URL('page.html', fresh.url())}#fresh${n}`).catch(() => {})
      await ready.evaluate(`probe.writeAndClose('ready${n}')`).catch(() => {})
      await Promise.all(closed)
    }
    await eventually(async () => expect(await shown()).toEqual(ids('fresh', 'ready')))
  })

  it.each([
    ['popup', 'POPUP'],
    ['side panel', 'SIDE_PANEL'],
  ] as const)('the end of a real %s in the same turn', async (_, type) => {
    await observer.bringToFront()
    const isOpen = async () => (await contextsOf(observer, type)) === 1
    for (let n = 0; n < ROUNDS; n++) {
      // The script of the page creates its sync, writes and closes in one turn.
      await openSurface[type](observer, `page.html#fresh${n}`)
      await eventually(async () => expect(await shown()).toContain(`fresh${n}`))
      await eventually(async () => expect(await isOpen()).toBe(false))

      await openSurface[type](observer, 'page.html')
      await eventually(async () => expect(await isOpen()).toBe(true))
      await observer.evaluate(bootstrapSurface)
      await observer.evaluate(writeAndCloseSurface, `ready${n}`)
      await eventually(async () => expect(await isOpen()).toBe(false))
    }
    await eventually(async () => expect(await shown()).toEqual(ids('fresh', 'ready')))
  })

  it('the navigation of a content script in the same turn, also the second of two writes', async () => {
    for (let n = 0; n < ROUNDS; n++) {
      const page = await extension.browser.newPage()
      await page.goto(site.url)
      const evaluate = await contentScript(page)
      await runProbe({ evaluate }, 'bootstrap')
      const left = page.waitForURL('about:blank')
      await evaluate(`probe.writeAndLeave(['first${n}', 'second${n}'])`).catch(() => {})
      await left
      await page.close()
    }
    await eventually(async () => expect(await shown()).toEqual(ids('first', 'second')))
  })

  it('the end of its page while the worker is dead', async () => {
    await extension.killWorker()
    const page = await extension.open('page.html')
    await runProbe(page, 'bootstrap')
    const closed = page.waitForEvent('close')
    await page.evaluate(`probe.writeAndClose('asleep')`).catch(() => {})
    await closed
    await eventually(async () => expect(await shown()).toEqual(['asleep']))
  })
})

/** Playwright has no access to these pages. Another page of the extension opens them and reaches their windows. */
const openSurface = {
  POPUP: (page: Page, path: string) =>
    page.evaluate(async (popup) => {
      await chrome.action.setPopup({ popup })
      // It rejects if the page has closed itself before it was shown.
      await chrome.action.openPopup().catch(() => {})
    }, path),
  SIDE_PANEL: (page: Page, path: string) =>
    page.evaluate(async (path) => {
      await chrome.sidePanel.setOptions({ path, enabled: true })
      const { id = 0 } = await chrome.windows.getCurrent()
      await chrome.sidePanel.open({ windowId: id })
    }, path),
}

function contextsOf(page: Page, type: 'POPUP' | 'SIDE_PANEL'): Promise<number> {
  return page.evaluate(
    async (type) => (await chrome.runtime.getContexts({ contextTypes: [type] })).length,
    type as chrome.runtime.ContextType,
  )
}

type ProbedWindow = Window & { readonly probe: Probe }

async function bootstrapSurface(): Promise<void> {
  const surface = chrome.extension.getViews().find((view) => view !== window)
  await (surface as ProbedWindow).probe.bootstrap()
}

function writeAndCloseSurface(id: string): void {
  const surface = chrome.extension.getViews().find((view) => view !== window)
  ;(surface as ProbedWindow).probe.writeAndClose(id)
}
