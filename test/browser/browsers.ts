/** The fake browser and the real one behind one face, so that the same questions can be put to both. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/core/index.ts'
import type { ChromeApi } from '../../src/sync/index.ts'
import { type FakeContext, fakeBrowser } from '../../src/testing/index.ts'
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

const FILES = {
  'manifest.json': JSON.stringify({
    manifest_version: 3,
    name: 'bare',
    version: '1',
    permissions: ['storage'],
    background: { service_worker: 'worker.js' },
    content_scripts: [{ matches: ['http://127.0.0.1/*'], js: ['content.js'] }],
  }),
  'worker.js': '',
  'content.js': '',
  'blank.html': '<!doctype html>',
}

export async function openChromium(): Promise<Browser> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-extension-'))
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(directory, name), text)
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const extension = await loadExtension(directory)

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
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
      return face(await contentScript(page), () => page.close())
    },
    async worker() {
      const worker = await extension.worker()
      return face((text) => worker.evaluate(text), extension.killWorker)
    },
    async [Symbol.asyncDispose]() {
      await extension[Symbol.asyncDispose]()
      server.closeAllConnections()
      server.close()
      await rm(directory, { recursive: true })
    },
  }
}
