/**
 * Runs a block in Chromium: a page on `http://localhost:5173`, beside a Holdfast server on `http://localhost:4321`. A
 * block that uses `chrome` runs in an extension.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BrowserContext } from 'playwright-core'
import type * as node from '../../src/server/node/index.ts'
import type * as memory from '../../src/stores/memory.ts'
import { launchChromium } from '../browser/chromium.ts'
import { programOf } from './blocks.ts'
import { bundlePage } from './bundle-page.ts'
import { PageSite } from './page-site.ts'
import { runInExtension, usesExtension } from './run-extension.ts'
import type { PlacedBlock } from './sandbox.ts'
import { answerPickers, visitPage } from './visit-page.ts'

const PAGE = 'http://localhost:5173'
const SETTINGS = {
  origins: [PAGE],
  rate: 0,
  logLevel: 'silent',
  leaseTokens: ['the-token-of-your-program'],
  openLeases: true,
  acceptTelemetry: true,
} as const

export class PageRunner implements AsyncDisposable {
  readonly #browser: BrowserContext
  readonly #site: PageSite
  readonly #startServer: (port: number) => Promise<node.HoldfastServer>
  #server: node.HoldfastServer
  readonly #stack: AsyncDisposableStack

  private constructor(parts: {
    readonly browser: BrowserContext
    readonly site: PageSite
    readonly startServer: (port: number) => Promise<node.HoldfastServer>
    readonly server: node.HoldfastServer
    readonly stack: AsyncDisposableStack
  }) {
    this.#browser = parts.browser
    this.#site = parts.site
    this.#startServer = parts.startServer
    this.#server = parts.server
    this.#stack = parts.stack
  }

  /** @param project Has the packed package in its `node_modules`. */
  static async launch(project: string): Promise<PageRunner> {
    await using stack = new AsyncDisposableStack()
    const startServer = await serverOf(project)
    const server = await startServer(0)
    const site = stack.use(await PageSite.open())
    const browser = await launchChromium({
      addresses: {
        'localhost:4321': `127.0.0.1:${server.port}`,
        'localhost:5173': `127.0.0.1:${site.port}`,
      },
    })
    stack.defer(() => browser.close())
    await answerPickers(browser)
    return new PageRunner({ browser, site, startServer, server, stack: stack.move() })
  }

  /** Rejects with what a reader would see in the developer tools. */
  async run(placed: PlacedBlock): Promise<void> {
    const problems = usesExtension(programOf(placed.block))
      ? await runInExtension(placed)
      : await this.#runInPage(placed)
    if (problems.length > 0) throw new Error(problems.join('\n'))
  }

  async #runInPage({ directory, file }: PlacedBlock): Promise<readonly string[]> {
    this.#site.files = await bundlePage(directory, file)
    const problems = await visitPage(this.#browser, PAGE)
    await this.#forget()
    return problems
  }

  /** The next block finds no data in the browser, and a server that has just been started. */
  async #forget(): Promise<void> {
    await this.#browser.clearCookies()
    const [blank] = this.#browser.pages()
    if (blank) {
      const session = await this.#browser.newCDPSession(blank)
      await session.send('Storage.clearDataForOrigin', { origin: PAGE, storageTypes: 'all' })
      await session.detach()
    }
    const { port } = this.#server
    await this.#server.close()
    this.#server = await this.#startServer(port)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
    await this.#server.close()
  }
}

/** The server of the package that the project has installed. */
async function serverOf(project: string): Promise<(port: number) => Promise<node.HoldfastServer>> {
  const load = (path: string) => import(pathToFileURL(join(project, 'node_modules/holdfast/dist', path)).href)
  const { createServer }: typeof node = await load('server/node/index.js')
  const { memoryStore }: typeof memory = await load('stores/memory.js')
  return (port) =>
    createServer({ store: memoryStore(), settings: { ...SETTINGS, port }, onTelemetry: () => {} })
}
