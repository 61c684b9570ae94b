import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { launchChromium } from './chromium.ts'
import { ADMIN_TOKEN, type PagesServer, servePages } from './pages-server.ts'
import { strippingProxy } from './stripping-proxy.ts'

const MANY = 10_000
const LONG_MS = 3_600_000
const SHORT_MS = 60_000
/** Of a sparkline, which is 96 wide and has its highest value at 2. */
const HIGHEST_AT_THE_END = /[ML]96\.0 2\.0(h0)?$/

describe('the dashboard in Chromium', () => {
  let browser: BrowserContext
  let server: PagesServer
  let page: Page
  beforeAll(async () => {
    server = await servePages()
    browser = await launchChromium()
    page = await browser.newPage()
    await page.goto(`${server.url}/dashboard`)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
  })

  const take = (resource: string, ttl = LONG_MS) =>
    server.store.acquire({ resource, id: resource, owner: 'a worker', ttl })
  const end = (resource: string) => server.store.release({ resource, id: resource })
  const row = (resource: string) => page.locator('tbody .row', { hasText: resource })
  const drawer = () => page.getByRole('complementary', { name: 'Details of the resource' })
  const names = () => page.locator('tbody .row .cell-resource bdi').allTextContents()
  async function askToEnd(resource: string): Promise<void> {
    await row(resource).click()
    await drawer().getByRole('button', { name: 'End this lease' }).click()
  }

  it('the dashboard in Chromium shows nothing without the token of an administrator', async () => {
    await page.getByLabel('Administrator token').fill('not it')
    await page.getByRole('button', { name: 'Enter' }).click()
    await page.getByText('The server does not know this token').waitFor()
    await page.getByLabel('Administrator token').fill(ADMIN_TOKEN)
    await page.getByRole('button', { name: 'Enter' }).click()
    await page.getByText('No lease is held now').waitFor()
  })

  it('the dashboard in Chromium can be read also under the pointer', async () => {
    const other = await browser.newPage()
    await other.emulateMedia({ reducedMotion: 'reduce' })
    await other.goto(`${server.url}/dashboard`)
    const enter = other.getByRole('button', { name: 'Enter' })
    const ground = () => enter.evaluate((button) => getComputedStyle(button).backgroundColor)
    const before = await ground()
    await enter.hover()
    expect(await ground()).toBe(before)
    await other.close()
  })

  it('the dashboard in Chromium takes the token from the address, which forgets it, and fits a phone while it is empty', async () => {
    const other = await browser.newPage()
    await other.setViewportSize({ width: 360, height: 740 })
    await other.goto(`${server.url}/dashboard#token=${ADMIN_TOKEN}`)
    await other.getByText('No lease is held now').waitFor()
    expect(other.url()).not.toContain(ADMIN_TOKEN)
    expect(await widthOf(other)).toBeLessThanOrEqual(360)
    await other.close()
  })

  it('the dashboard in Chromium says while it is empty what makes the first lease', async () => {
    const shown = await page.locator('.empty pre').innerText()
    const [, url = '', header = '', body = ''] = /POST (\S+) .*-H '(.+?)'.*-d '(.+?)'/s.exec(shown) ?? []
    const [name = '', value = ''] = header.split(': ')
    const answer = await fetch(url, { method: 'POST', headers: { [name]: value }, body })
    const { token } = (await answer.json()) as { token: number }
    await row('document:first').getByText('Mika').waitFor()
    await server.store.release({ resource: 'document:first', token })
    await row('document:first').waitFor({ state: 'detached' })
  })

  it('the dashboard in Chromium shows a lease when it is granted, its renewals if asked, and its end', async () => {
    await take('invoice:1')
    await row('invoice:1').waitFor()
    const events = page.locator('.events li', { hasText: 'invoice:1' })
    await events.filter({ hasText: 'granted' }).waitFor()
    await page.getByLabel('Renewals too').check()
    await server.store.renew({ resource: 'invoice:1', id: 'invoice:1', ttl: LONG_MS + 1000 })
    await events.filter({ hasText: 'renewed' }).waitFor()
    await end('invoice:1')
    await row('invoice:1').waitFor({ state: 'detached' })
    await events.filter({ hasText: 'released' }).waitFor()
  })

  it('the dashboard in Chromium shows an expiry when it happens', async () => {
    await take('short', SHORT_MS)
    await row('short').waitFor()
    server.pass(SHORT_MS)
    await page.locator('.events li', { hasText: 'expired' }).waitFor()
    await row('short').waitFor({ state: 'detached' })
  })

  it('the dashboard in Chromium shows the number of waiters, now and since it was opened', async () => {
    await take('document:busy')
    const stop = new AbortController()
    const ask = { method: 'POST', signal: stop.signal }
    const waiting = fetch(`${server.url}/api/documents/busy/lock?wait=60`, ask).catch(() => {})
    const figure = page.locator('.figure', { hasText: 'Waiting in line' })
    await figure.locator('.value', { hasText: /^1$/ }).waitFor()
    await expect.poll(() => figure.locator('.line').getAttribute('d')).toMatch(HIGHEST_AT_THE_END)
    stop.abort()
    await waiting
    // Until the server knows that nobody waits, it would grant the lease to the one that is gone.
    await figure.locator('.value', { hasText: /^0$/ }).waitFor()
    await end('document:busy')
  })

  it('the dashboard in Chromium lists the waiting callers of the store, also those of other programs', async () => {
    await take('document:queue')
    for (const owner of ['web-1', 'web-2'])
      await server.store.acquire({ resource: 'document:queue', id: owner, owner, ttl: LONG_MS, wake() {} })
    await row('document:queue').locator('.cell-waiting', { hasText: '2' }).waitFor()
    await row('document:queue').click()
    await expect.poll(() => drawer().locator('.queue li').allTextContents()).toEqual(['1web-1', '2web-2'])
    for (const id of ['web-1', 'web-2']) await server.store.release({ resource: 'document:queue', id })
    await drawer().getByText('Nobody waits for it').waitFor()
    await drawer().getByRole('button', { name: 'Close' }).click()
    await end('document:queue')
  })

  it('asks for no figures while it is hidden, and at once when it is looked at', async () => {
    const asked: string[] = []
    const onRequest = (request: Request) => asked.push(request.url())
    // It is hidden before the last answer comes of what is asked for at a time.
    const { promise: hidden, resolve } = Promise.withResolvers<void>()
    await page.route('**/api/audit', async (route) => {
      await page.evaluate(turnPage, true)
      page.on('request', onRequest)
      await route.continue()
      resolve()
    })
    await hidden
    await take('unseen')
    // By a timer of the page, so that its others have had their time as well.
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 6000)))
    page.off('request', onRequest)
    await page.unroute('**/api/audit')
    expect(asked).toEqual([])
    await Promise.all([page.waitForRequest(/api.stats/), page.evaluate(turnPage, false)])
    await end('unseen')
  })

  it('says in plain words that a lease could not be ended', async () => {
    await take('unreachable')
    await page.route('**/api/leases?*', (asked) => asked.abort())
    await askToEnd('unreachable')
    await page.getByRole('button', { name: 'End the lease' }).click()
    await page.getByRole('alert').getByText('The lease was not ended.').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.unroute('**/api/leases?*')
    await end('unreachable')
    await drawer().getByText('Nobody holds it now').waitFor()
    await drawer().getByRole('button', { name: 'Close' }).click()
  })

  it('the dashboard in Chromium ends a lease by force, after asking', async () => {
    await take('stuck')
    await askToEnd('stuck')
    await page.getByText('a worker will lose it at once').waitFor()
    // Enter on the safe choice, which has the focus.
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await server.store.read(['stuck'])).toMatchObject([[{ resource: 'stuck' }]])
    await drawer().getByRole('button', { name: 'End this lease' }).click()
    await page.getByRole('button', { name: 'End the lease' }).click()
    await row('stuck').waitFor({ state: 'detached' })
    expect(await server.store.read(['stuck'])).toEqual([[]])
    await drawer().locator('.what', { hasText: 'ended by force' }).waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.locator('.events li', { hasText: 'stuck' }).filter({ hasText: 'ended by force' }).waitFor()
    await page.getByRole('button', { name: 'Audit trail' }).click()
    await page.locator('tr', { hasText: 'ended by force' }).filter({ hasText: 'stuck' }).waitFor()
    await page.getByRole('button', { name: 'Leases' }).click()
  })

  it('plots the last minutes and the last day, with units', async () => {
    await page.getByRole('button', { name: 'Plots' }).click()
    await page.getByRole('img', { name: /Grants and ends: granted \d.* per minute/ }).waitFor()
    await page.getByRole('img', { name: /Granted, of the requests to this server: granted .*/ }).waitFor()
    const [answer] = await Promise.all([
      page.waitForResponse(/range=24h/),
      page.getByRole('button', { name: '24 hours' }).click(),
    ])
    expect(await answer.json()).toMatchObject({ bucket_ms: 300_000 })
    await page.getByRole('img', { name: /Grants and ends/ }).waitFor()
    await page.getByRole('button', { name: '15 minutes' }).click()
    await page.getByRole('button', { name: 'Leases' }).click()
  })

  it('sorts by any column, and changes the width of a column by keyboard', async () => {
    for (const [resource, ttl] of [
      ['sort:a', 30 * LONG_MS],
      ['sort:b', 20 * LONG_MS],
      ['sort:c', 25 * LONG_MS],
    ] as const)
      await take(resource, ttl)
    await page.getByLabel('Filter by name or holder').fill('sort:')
    await expect.poll(names).toEqual(['sort:a', 'sort:b', 'sort:c'])
    const left = page.getByRole('columnheader', { name: /^Left/ })
    await left.getByRole('button').click()
    await expect.poll(names).toEqual(['sort:b', 'sort:c', 'sort:a'])
    expect(await left.getAttribute('aria-sort')).toBe('ascending')
    await left.getByRole('button').click()
    await expect.poll(names).toEqual(['sort:a', 'sort:c', 'sort:b'])
    const width = async () => (await row('sort:a').locator('.cell-holder').boundingBox())?.width ?? 0
    const before = await width()
    await page.getByRole('separator', { name: 'Width of the column Holder' }).focus()
    await page.keyboard.press('ArrowRight')
    await expect.poll(width).toBe(before + 16)
    await page
      .getByRole('columnheader', { name: /^Resource/ })
      .getByRole('button')
      .click()
    for (const resource of ['sort:a', 'sort:b', 'sort:c']) await end(resource)
    await page.getByLabel('Filter by name or holder').fill('')
  })

  it('shows who holds a resource with all that the holder says, and what happened to it', async () => {
    const metadata = { name: 'Mika', host: 'build-7', job: { kind: 'nightly' } }
    const ask = { resource: 'report', id: 'report', owner: 'build-7:4711', ttl: LONG_MS, metadata }
    await server.store.acquire(ask)
    await row('report').getByText('Mika').waitFor()
    await row('report').getByText('host: build-7').waitFor()
    await page.getByRole('button', { name: 'report', exact: true }).first().press('Enter')
    for (const text of ['build-7:4711', 'build-7', '{"kind":"nightly"}'])
      await drawer().getByText(text, { exact: true }).waitFor()
    await drawer().locator('.what', { hasText: 'granted' }).waitFor()
    await end('report')
    await drawer().locator('.what', { hasText: 'released' }).waitFor()
    await page.keyboard.press('Escape')
    await drawer().waitFor({ state: 'detached' })
  })

  it('the dashboard in Chromium stays smooth with thousands of leases that change all the time', async () => {
    for (let n = 0; n < MANY; n++) await take(`many:${String(n).padStart(5, '0')}`)
    await page.getByText(MANY.toLocaleString('en')).first().waitFor()
    expect(await page.locator('tbody .row').count()).toBeLessThan(60)
    const quiet: Frames[] = []
    const busy: Frames[] = []
    for (let round = 0; round < 4; round++) {
      quiet.push(await page.evaluate(countFrames, 500))
      const frames = page.evaluate(countFrames, 500)
      for (let beat = round * 100; beat < (round + 1) * 100; beat++) {
        const resource = `many:${String(beat * 24).padStart(5, '0')}`
        await server.store.renew({ resource, id: resource, ttl: LONG_MS + 10_000 + beat })
        if (beat % 20 === 0) await page.mouse.wheel(0, 4000)
      }
      busy.push(await frames)
    }
    const longest = Math.max(...busy.map((frames) => frames.longest)).toFixed(0)
    const [rate, usual] = [rateOf(busy), rateOf(quiet)]
    console.log(
      `${MANY} leases: ${rate.toFixed(0)} frames a second, ${usual.toFixed(0)} while nothing changes, the longest ${longest} ms`,
    )
    expect(rate).toBeGreaterThan(usual / 6)
    await page.getByLabel('Filter by name or holder').fill('many:09999')
    await row('many:09999').waitFor()
    expect(await page.locator('tbody .row').count()).toBe(1)
  })

  it('the dashboard in Chromium comes back after a restart of the server', async () => {
    await server.restart()
    await take('many:09999-again')
    await row('many:09999-again').waitFor()
  })

  it.each([360, 700, 841, 1024, 1200])(
    'the dashboard in Chromium fits a screen of %d, with room for the names',
    async (width) => {
      await page.setViewportSize({ width, height: 740 })
      await expect.poll(() => widthOf(page)).toBeLessThanOrEqual(width)
      const name = row('many:09999-again').locator('td').first()
      await expect.poll(async () => (await name.boundingBox())?.width).toBeGreaterThan(100)
    },
  )
})

describe('the pages', () => {
  it.each([
    ['dashboard.html', 110],
    ['index.html', 110],
  ])('%s loads at most %d kB of compressed scripts', (name, limit) => {
    const html = readFileSync(join(root, 'dist/web', name), 'utf8')
    const scripts = [...html.matchAll(/"\.\/(assets\/[^"]+\.js)"/g)].map(([, file]) => file ?? '')
    expect(scripts.length).toBeGreaterThan(1)
    const kB =
      scripts.reduce((sum, file) => sum + statSync(join(root, 'dist/web', `${file}.br`)).size, 0) / 1000
    console.log(`${name}: ${kB.toFixed(1)} kB of ${limit}`)
    expect(kB).toBeLessThanOrEqual(limit)
  })
})

function widthOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth)
}

function turnPage(hidden: boolean): void {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden })
  document.dispatchEvent(new Event('visibilitychange'))
}

interface Frames {
  readonly count: number
  readonly longest: number
  readonly ms: number
}

function rateOf(counted: readonly Frames[]): number {
  const sum = (field: 'count' | 'ms') => counted.reduce((total, frames) => total + frames[field], 0)
  return (1000 * sum('count')) / sum('ms')
}

function countFrames(ms: number): Promise<Frames> {
  return new Promise((resolve) => {
    const started = performance.now()
    let [count, longest, before] = [0, 0, started]
    const onFrame = (at: number) => {
      count++
      longest = Math.max(longest, at - before)
      before = at
      if (at - started < ms) requestAnimationFrame(onFrame)
      else resolve({ count, longest, ms: at - started })
    }
    requestAnimationFrame(onFrame)
  })
}

describe('the pages below a path, behind a proxy that removes it', () => {
  it('load their files, lock a document and show the leases', async () => {
    await using server = await servePages()
    await using proxy = await strippingProxy('/locks', server.port)
    const browser = await launchChromium()
    try {
      const page = await browser.newPage()
      const outside: string[] = []
      page.on('request', (request) => {
        const { protocol, pathname } = new URL(request.url())
        if (protocol === 'http:' && !pathname.startsWith('/locks/')) outside.push(pathname)
      })
      const missing: string[] = []
      page.on('response', (response) => response.status() === 404 && missing.push(response.url()))
      const sockets: string[] = []
      page.on('websocket', (socket) => sockets.push(socket.url()))
      await page.goto(`${proxy.url}/locks/#minutes`)
      await page.getByRole('button', { name: 'Edit', exact: true }).click()
      await page.waitForSelector('.hf-banner[data-phase="held"]', { state: 'attached' })
      await expect.poll(() => server.store.read(['document:minutes'])).toMatchObject([[{ state: 'held' }]])
      await page.getByRole('link', { name: 'Dashboard' }).click()
      await page.waitForURL(`${proxy.url}/locks/dashboard`)
      await page.getByLabel('Administrator token').fill(ADMIN_TOKEN)
      await page.getByRole('button', { name: 'Enter' }).click()
      await server.store.acquire({ resource: 'below', id: 'a', owner: 'a worker', ttl: LONG_MS })
      await page.locator('tbody .row', { hasText: 'below' }).waitFor()
      expect([outside, missing]).toEqual([[], []])
      expect(sockets).not.toEqual([])
      for (const url of sockets) expect(url).toContain('/locks/app/')
      expect(await browser.cookies()).toMatchObject([{ path: '/locks' }])
    } finally {
      await browser.close()
    }
  })
})
