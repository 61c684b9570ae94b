import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { HANG_MS } from '../hang-limit.ts'
import { launchChromium } from './chromium.ts'
import { accessibilityProblems } from './screens.ts'

const BUILD_MS = 10 * HANG_MS
const built = join(root, 'site/dist')
/** Set it to keep a picture of every page that is visited. */
const { HOLDFAST_SHOTS: SHOTS } = process.env
/** One of each kind: the front, a path in both languages, drawings, tables, code in tabs, and the generated reference. */
const PAGES = [
  '',
  'start/workers',
  'ja/start/workers',
  'concepts',
  'troubleshooting',
  'stores/redis',
  'api/core',
]

describe('the site of the docs', () => {
  let browser: BrowserContext
  let server: Server
  let page: Page
  let url: string

  beforeAll(async () => {
    // VitePress refuses a site with a dead link.
    execFileSync(process.execPath, ['scripts/docs.ts', 'build'], { cwd: root, stdio: 'pipe' })
    server = await serveFiles(built)
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    browser = await launchChromium()
    page = await browser.newPage()
  }, BUILD_MS)
  afterAll(async () => {
    await browser?.close()
    if (server) await promisify(server.close.bind(server))()
  })

  it.each(PAGES)('the page "%s" is accessible in both themes, and fits a phone', async (path) => {
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.goto(url + path)
      await page.locator('h1').first().waitFor()
      expect((await accessibilityProblems(page)).filter(isOurs)).toEqual([])
      await keepPicture(page, `site-${path}-${theme}-1280`)
      await page.setViewportSize({ width: 360, height: 740 })
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
      await keepPicture(page, `site-${path}-${theme}-360`)
    }
  })

  it('the search of the site finds a word of the docs', async () => {
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.goto(url)
    const box = page.getByRole('searchbox')
    // The keys work as soon as the scripts of the page run.
    await expect
      .poll(async () => {
        if (!(await box.isVisible())) await page.keyboard.press('Control+k')
        return box.isVisible()
      })
      .toBe(true)
    await box.fill('fencing token')
    await page.locator('.VPLocalSearchBox .result').first().waitFor()
    expect(await page.locator('.VPLocalSearchBox .result').count()).toBeGreaterThan(2)
  })

  it('two workers of a page contend, and the late write of the one without a network is refused', async () => {
    await page.goto(`${url}concepts`)
    const [one, two] = ['Worker A', 'Worker B'].map((name) => page.getByRole('region', { name }))
    if (!one || !two) throw new Error('the page has no two workers')
    const press = (worker: typeof one, name: string) => worker.getByRole('button', { name }).click()
    // The button works as soon as the scripts of the page run.
    await expect
      .poll(async () => {
        if (await one.getByRole('button', { name: 'Acquire' }).isVisible()) await press(one, 'Acquire')
        return one.textContent()
      })
      .toContain('holds token')
    await press(two, 'Acquire')
    await one.getByRole('button', { name: 'Cut network' }).click()
    await two.getByText('holds token').waitFor()
    await one.getByText('has lost token').waitFor()
    await press(two, 'Write')
    await press(one, 'Write')
    await page.getByText('was refused: stale-token').waitFor()
  })

  it('llms.txt lists every page, and llms-full.txt has their text', async () => {
    const list = await readFile(join(built, 'llms.txt'), 'utf8')
    expect(list).toContain('concepts')
    expect(list).toContain('start/workers')
    const full = await readFile(join(built, 'llms-full.txt'), 'utf8')
    expect(full).toContain(await readFile(join(root, 'docs/troubleshooting.md'), 'utf8'))
  })
})

/** VitePress does not let us change the keys beside the name of the search. */
function isOurs(problem: string): boolean {
  return !/^label-content-name-mismatch: .*DocSearch-Button/.test(problem)
}

async function keepPicture(page: Page, name: string): Promise<void> {
  if (!SHOTS) return
  mkdirSync(SHOTS, { recursive: true })
  const path = join(SHOTS, `${name.replaceAll('/', '-')}.png`)
  await page.screenshot({ path, animations: 'disabled' })
}

/** As a host of static pages does: `/a` is `a.html`, and `/a/` is `a/index.html`. */
async function serveFiles(folder: string): Promise<Server> {
  const types: Readonly<Record<string, string>> = {
    html: 'text/html',
    js: 'text/javascript',
    css: 'text/css',
    svg: 'image/svg+xml',
    woff2: 'font/woff2',
  }
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const name = pathname.endsWith('/') ? `${pathname}index.html` : pathname
    const file = /\.\w+$/.test(name) ? name : `${name}.html`
    const body = await readFile(join(folder, file)).catch(() => null)
    const type = types[file.slice(file.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
    response.writeHead(body ? 200 : 404, { 'content-type': type }).end(body ?? 'not found')
  })
  await promisify<number, string>(server.listen.bind(server))(0, '127.0.0.1')
  return server
}
