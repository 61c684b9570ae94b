/**
 * Runs a block in Chromium: a page on `http://localhost:5173`, beside a Holdfast server on `http://localhost:4321`. A
 * block that uses `chrome` runs in an extension.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext } from 'playwright-core'
import { launchChromium } from '../browser/chromium.ts'
import { programOf } from './blocks.ts'
import { bundlePage } from './bundle-page.ts'
import { ForwardedPort } from './forwarded-port.ts'
import { PageSite } from './page-site.ts'
import { runInExtension, usesExtension } from './run-extension.ts'
import { besideItsServer } from './run-node.ts'
import type { PlacedBlock, Sandbox } from './sandbox.ts'
import { HOLDFAST_PORT } from './servers.ts'
import { answerPickers, type Look, visitPage } from './visit-page.ts'

const PAGE = 'http://localhost:5173'

export class PageRunner implements AsyncDisposable {
  readonly #sandbox: Sandbox
  readonly #stack = new AsyncDisposableStack()
  readonly #site: PageSite
  /** Where pages find their server. */
  readonly #server: ForwardedPort
  #browser: BrowserContext | undefined

  private constructor(sandbox: Sandbox, site: PageSite, server: ForwardedPort) {
    this.#sandbox = sandbox
    this.#site = this.#stack.use(site)
    this.#server = this.#stack.use(server)
  }

  static async create(sandbox: Sandbox): Promise<PageRunner> {
    return new PageRunner(sandbox, await PageSite.open(), await ForwardedPort.open())
  }

  /** Rejects with what a reader would see in the developer tools. */
  async run(placed: PlacedBlock, look?: Look): Promise<void> {
    const problems = usesExtension(programOf(placed.block))
      ? await runInExtension(placed, look)
      : await this.#runInPage(placed, look)
    if (problems.length > 0) throw new Error(problems.join('\n'))
  }

  async #runInPage(placed: PlacedBlock, look?: Look): Promise<readonly string[]> {
    this.#site.files = await bundlePage(placed.directory, placed.file)
    const browser = await this.#launch()
    return besideItsServer(placed, this.#sandbox, async ({ HOLDFAST_DOCS_PORTS: ports = '' }) => {
      const port = join(ports, String(HOLDFAST_PORT))
      this.#server.forward(existsSync(port) ? Number(readFileSync(port, 'utf8')) : undefined)
      const problems = await visitPage(browser, PAGE, look)
      await forget(browser)
      return problems
    })
  }

  async #launch(): Promise<BrowserContext> {
    if (this.#browser) return this.#browser
    const browser = await launchChromium({
      addresses: {
        [`localhost:${HOLDFAST_PORT}`]: `127.0.0.1:${this.#server.port}`,
        'localhost:5173': `127.0.0.1:${this.#site.port}`,
      },
    })
    this.#stack.defer(() => browser.close())
    await answerPickers(browser)
    this.#browser = browser
    return browser
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync()
  }
}

/** The next block finds no data of this one. */
async function forget(browser: BrowserContext): Promise<void> {
  await browser.clearCookies()
  const session = await browser.newCDPSession(browser.pages()[0] ?? (await browser.newPage()))
  await session.send('Storage.clearDataForOrigin', { origin: PAGE, storageTypes: 'all' })
  await session.detach()
}
