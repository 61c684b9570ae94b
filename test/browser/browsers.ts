/** One interface to the fake browser and to Chromium, so that the same tests run on both. */
import { join } from 'node:path'
import { systemClock } from '../../src/core/index.ts'
import type { ChromeApi } from '../../src/sync/index.ts'
import { type FakeContext, fakeBrowser } from '../../src/testing/index.ts'
import { serveModule } from './chromium.ts'
import { contentScript, loadExtension } from './loaded-extension.ts'

/** The argument of code that runs in a context. The code can use nothing else, because it is sent as text. */
export interface Scope {
  readonly chrome: ChromeApi
  readonly locks: LockManager
  /** Belongs to the context, and stays between calls. */
  readonly log: unknown[]
}

export interface Context {
  run<T>(code: (scope: Scope) => T | Promise<T>): Promise<T>
  /** Ends the context at once, also during an operation. */
  close(): Promise<void>
}

export interface Browser extends AsyncDisposable {
  openPage(): Promise<Context>
  openTab(): Promise<Context>
  worker(): Promise<Context>
}

export async function openFake(): Promise<Browser> {
  const browser = fakeBrowser({ clock: systemClock, latency: [0, 3] })
  browser.registerWorker(() => {})
  const toContext = (context: FakeContext): Context => {
    const scope = { chrome: context.api, locks: context.locks as LockManager, log: [] }
    return { run: async (code) => code(scope), close: async () => context.kill() }
  }
  return {
    openPage: async () => toContext(browser.openPage()),
    openTab: async () => toContext(browser.openTab()),
    async worker() {
      if (!browser.worker) throw new Error('the worker is dead')
      return toContext(browser.worker)
    },
    async [Symbol.asyncDispose]() {},
  }
}

export async function openChromium(): Promise<Browser> {
  const extension = await loadExtension(join(import.meta.dirname, 'bare'))
  const site = await serveModule(join(import.meta.dirname, 'pages/empty.ts'))

  const inScope = (code: unknown) =>
    `(${code})({ chrome, locks: navigator.locks, log: (globalThis.log ??= []) })`
  const toContext = (evaluate: (text: string) => Promise<unknown>, close: () => Promise<void>): Context => ({
    run: (code) => evaluate(inScope(code)) as Promise<never>,
    close,
  })
  return {
    async openPage() {
      const page = await extension.open('blank.html')
      return toContext(
        (text) => page.evaluate(text),
        () => page.close(),
      )
    },
    async openTab() {
      const page = await extension.browser.newPage()
      await page.goto(site.url)
      return toContext(await contentScript(page), () => page.close())
    },
    worker: async () => toContext((text) => extension.worker.evaluate(text), extension.killWorker),
    async [Symbol.asyncDispose]() {
      await extension[Symbol.asyncDispose]()
      await site[Symbol.asyncDispose]()
    },
  }
}
