/** The fake browser and the real one behind one face, so that the same questions can be put to both. */
import { join } from 'node:path'
import { systemClock } from '../../src/core/index.ts'
import type { ChromeApi } from '../../src/sync/index.ts'
import { type FakeContext, fakeBrowser } from '../../src/testing/index.ts'
import { serveModule } from './chromium.ts'
import { contentScript, loadExtension } from './loaded-extension.ts'

/** What code in a context is given. It may use nothing else, since it is sent to the context as text. */
export interface Scope {
  readonly chrome: ChromeApi
  readonly locks: LockManager
  /** Stays with the context. */
  readonly log: unknown[]
}

export interface Context {
  run<T>(code: (scope: Scope) => T | Promise<T>): Promise<T>
  /** Ends it in the midst of what it does. */
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
  const face = (context: FakeContext): Context => {
    const scope = { chrome: context.api, locks: context.locks as LockManager, log: [] }
    return { run: async (code) => code(scope), close: async () => context.kill() }
  }
  return {
    openPage: async () => face(browser.openPage()),
    openTab: async () => face(browser.openTab()),
    async worker() {
      if (!browser.worker) throw new Error('the worker is dead')
      return face(browser.worker)
    },
    async [Symbol.asyncDispose]() {},
  }
}

export async function openChromium(): Promise<Browser> {
  const extension = await loadExtension(join(import.meta.dirname, 'bare'))
  const site = await serveModule(join(import.meta.dirname, 'pages/empty.ts'))

  const inScope = (code: unknown) =>
    `(${code})({ chrome, locks: navigator.locks, log: (globalThis.log ??= []) })`
  const face = (evaluate: (text: string) => Promise<unknown>, close: () => Promise<void>): Context => ({
    run: (code) => evaluate(inScope(code)) as Promise<never>,
    close,
  })
  return {
    async openPage() {
      const page = await extension.open('blank.html')
      return face(
        (text) => page.evaluate(text),
        () => page.close(),
      )
    },
    async openTab() {
      const page = await extension.browser.newPage()
      await page.goto(site.url)
      return face(await contentScript(page), () => page.close())
    },
    worker: async () => face((text) => extension.worker.evaluate(text), extension.killWorker),
    async [Symbol.asyncDispose]() {
      await extension[Symbol.asyncDispose]()
      await site[Symbol.asyncDispose]()
    },
  }
}
