import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext, CDPSession, Page, Worker } from 'playwright-core'
import { buildExtension } from '../../examples/extension/build.ts'
import { launchChromium } from './chromium.ts'

/** A Chromium that has loaded an extension. */
export interface LoadedExtension extends AsyncDisposable {
  readonly browser: BrowserContext
  /** Opens a page of the extension. */
  open(path: string): Promise<Page>
  /** The service worker. Playwright keeps the object when the worker stops; it can be used while the worker runs. */
  readonly worker: Worker
  killWorker(): Promise<void>
}

/** Builds the extension from its source and loads it. */
export async function loadExtension(source: string): Promise<LoadedExtension> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-extension-'))
  await buildExtension(source, directory)
  const loaded = await loadUnpacked(directory)
  return {
    ...loaded,
    async [Symbol.asyncDispose]() {
      await loaded[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}

export async function loadUnpacked(directory: string): Promise<LoadedExtension> {
  const browser = await launchChromium({ extensions: [directory] })
  const worker = browser.serviceWorkers()[0] ?? (await browser.waitForEvent('serviceworker'))
  const origin = `chrome-extension://${new URL(worker.url()).host}`
  return {
    browser,
    async open(path) {
      const page = await browser.newPage()
      await page.goto(`${origin}/${path}`)
      return page
    },
    worker,
    async killWorker() {
      const session = await browser.newCDPSession(browser.pages()[0] ?? (await browser.newPage()))
      const { targetInfos } = await session.send('Target.getTargets')
      for (const { type, url, targetId } of targetInfos)
        if (type === 'service_worker' && url.startsWith(origin))
          await session.send('Target.closeTarget', { targetId })
      await session.detach()
    },
    [Symbol.asyncDispose]: () => browser.close(),
  }
}

/** Evaluates in the content script of the page. Playwright has no access to its isolated world. */
export async function contentScript(page: Page): Promise<(expression: string) => Promise<unknown>> {
  const session = await page.context().newCDPSession(page)
  const contextId = await isolatedWorld(session)
  return async (expression) => {
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      expression,
      contextId,
      awaitPromise: true,
      returnByValue: true,
    })
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value
  }
}

async function isolatedWorld(session: CDPSession): Promise<number> {
  const found = new Promise<number>((resolve) => {
    session.on('Runtime.executionContextCreated', ({ context: { id, origin } }) => {
      if (origin.startsWith('chrome-extension://')) resolve(id)
    })
  })
  await session.send('Runtime.enable')
  return found
}
