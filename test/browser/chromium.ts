import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { chromiumPath } from '../../scripts/services/index.ts'
import { HANG_MS } from '../hang-limit.ts'

/** Playwright's own headless mode has no extensions; the browser's new one is the browser itself. */
const FLAGS = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
/** A host whose pages are not secure, unlike those of localhost. */
const PLAIN_HOST = 'MAP plain.test 127.0.0.1'

export interface LaunchOptions {
  /** Directories of unpacked extensions. */
  readonly extensions?: readonly string[]
  /** Playwright turns it off unless told otherwise. */
  readonly backForwardCache?: boolean
  /** Other addresses for those that a page names, such as `localhost:4321` for a server on any port. */
  readonly addresses?: Readonly<Record<string, string>>
}

/** A real Chromium with a fresh profile, which goes when it is closed. */
export async function launchChromium(options: LaunchOptions = {}): Promise<BrowserContext> {
  const { extensions = [], backForwardCache = false, addresses = {} } = options
  const rules = [PLAIN_HOST, ...Object.entries(addresses).map(([from, to]) => `MAP ${from} ${to}`)]
  const flags = [...FLAGS, `--host-resolver-rules=${rules}`]
  const directories = extensions.join(',')
  const loading = [`--disable-extensions-except=${directories}`, `--load-extension=${directories}`]
  const browser = await chromium.launchPersistentContext('', {
    executablePath: await chromiumPath(),
    headless: false,
    args: directories ? [...flags, ...loading] : flags,
    ignoreDefaultArgs: [
      ...(directories ? ['--disable-extensions'] : []),
      ...(backForwardCache ? ['--disable-back-forward-cache'] : []),
    ],
  })
  browser.setDefaultTimeout(HANG_MS)
  return browser
}

/**
 * Goes to another page. The result goes back, and waits until the first page has returned from the back/forward cache;
 * it fails if that page was loaded again.
 */
export async function leave(page: Page, url: string): Promise<() => Promise<void>> {
  await page.evaluate(() =>
    addEventListener('pageshow', ({ persisted }) => Object.assign(globalThis, { persisted })),
  )
  await page.goto(url)
  return async () => {
    await page.goBack({ waitUntil: 'commit' })
    await page.waitForFunction('globalThis.persisted === true')
  }
}

export interface Site extends AsyncDisposable {
  readonly url: string
}

/** Serves one page that runs the module, from an origin of its own on this machine. */
export async function serveModule(entry: string): Promise<Site> {
  const script = await bundle(entry)
  const server = createServer((request, response) => {
    const isScript = request.url === '/page.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? script : '<!doctype html><script type="module" src="/page.js"></script>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function bundle(entry: string): Promise<string> {
  await using build = await rolldown({ input: entry, platform: 'browser' })
  const { output } = await build.generate({ format: 'esm', codeSplitting: false })
  return output[0].code
}
