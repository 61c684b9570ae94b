/** Pages that write and close in the same turn: whatever a bare `chrome.storage.local.set` keeps is kept. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { type Site, serveModule } from './chromium.ts'
import { contentScript, type LoadedExtension, loadExtension } from './loaded-extension.ts'
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
