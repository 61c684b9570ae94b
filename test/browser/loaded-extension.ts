import type { BrowserContext, CDPSession, Page, Worker } from 'playwright-core'
import { launchChromium } from './chromium.ts'

/** A Chromium that has loaded an extension. */
export interface LoadedExtension extends AsyncDisposable {
  readonly browser: BrowserContext
  /** Opens a page of the extension. */
  open(path: string): Promise<Page>
  /** The service worker. Playwright keeps it through its deaths; it can be asked while it lives. */
  worker(): Promise<Worker>
  killWorker(): Promise<void>
}

export async function loadExtension(directory: string): Promise<LoadedExtension> {
  const browser = await launchChromium({ extensions: [directory] })
  const first = browser.serviceWorkers()[0] ?? (await browser.waitForEvent('serviceworker'))
  const origin = `chrome-extension://${new URL(first.url()).host}`
  const isOwn = (worker: Worker) => worker.url().startsWith(origin)
  return {
    browser,
    async open(path) {
      const page = await browser.newPage()
      await page.goto(`${origin}/${path}`)
      return page
    },
    worker: async () => browser.serviceWorkers().find(isOwn) ?? browser.waitForEvent('serviceworker', isOwn),
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

/** Evaluates in the content script of the page, whose world playwright does not see. */
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
