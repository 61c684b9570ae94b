import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { BrowserContext, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { launchChromium } from './chromium.ts'
import { ADMIN_TOKEN, type PagesServer, servePages } from './pages-server.ts'

const MANY = 5000
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

  it('shows nothing without the token of an administrator', async () => {
    await page.getByLabel('Administrator token').fill('not it')
    await page.getByRole('button', { name: 'Enter' }).click()
    await page.getByText('The server does not know this token').waitFor()
    await page.getByLabel('Administrator token').fill(ADMIN_TOKEN)
    await page.getByRole('button', { name: 'Enter' }).click()
    await page.getByText('No lease is held now').waitFor()
  })

  it('can be read also under the pointer', async () => {
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

  it('takes the token from the address, which forgets it, and fits a phone while it is empty', async () => {
    const other = await browser.newPage()
    await other.setViewportSize({ width: 360, height: 740 })
    await other.goto(`${server.url}/dashboard#token=${ADMIN_TOKEN}`)
    await other.getByText('No lease is held now').waitFor()
    expect(other.url()).not.toContain(ADMIN_TOKEN)
    expect(await widthOf(other)).toBeLessThanOrEqual(360)
    await other.close()
  })

  it('says while it is empty what makes the first lease', async () => {
    const shown = await page.locator('.empty pre').innerText()
    const [, url = '', header = '', body = ''] = /POST (\S+) .*-H '(.+?)'.*-d '(.+?)'/s.exec(shown) ?? []
    const [name = '', value = ''] = header.split(': ')
    const answer = await fetch(url, { method: 'POST', headers: { [name]: value }, body })
    const { token } = (await answer.json()) as { token: number }
    await row('document:first').getByText('Mika').waitFor()
    await server.store.release({ resource: 'document:first', token })
    await row('document:first').waitFor({ state: 'detached' })
  })

  it('shows a lease when it is granted, its renewals if asked, and its end', async () => {
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

  it('shows an expiry when it happens', async () => {
    await take('short', SHORT_MS)
    await row('short').waitFor()
    server.pass(SHORT_MS)
    await page.locator('.events li', { hasText: 'expired' }).waitFor()
    await row('short').waitFor({ state: 'detached' })
  })

  it('shows the number of waiters, now and since it was opened', async () => {
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
    await Promise.all([page.waitForRequest('**/api/stats'), page.evaluate(turnPage, false)])
    await end('unseen')
  })

  it('says in plain words that a lease could not be ended', async () => {
    await take('unreachable')
    await page.route('**/api/leases?*', (asked) => asked.abort())
    await row('unreachable').getByRole('button').click()
    await page.getByRole('button', { name: 'End the lease' }).click()
    await page.getByRole('alert').getByText('The lease was not ended.').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.unroute('**/api/leases?*')
    await end('unreachable')
  })

  it('ends a lease by force, after asking', async () => {
    await take('stuck')
    await row('stuck').getByRole('button').click()
    await page.getByText('End the lease of stuck?').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(await server.store.read(['stuck'])).toMatchObject([{ resource: 'stuck' }])
    await row('stuck').getByRole('button').click()
    await page.getByRole('button', { name: 'End the lease' }).click()
    await row('stuck').waitFor({ state: 'detached' })
    expect(await server.store.read(['stuck'])).toEqual([null])
    await page.getByRole('button', { name: 'Audit trail' }).click()
    await page.locator('tr', { hasText: 'released by force' }).filter({ hasText: 'stuck' }).waitFor()
    await page.getByRole('button', { name: 'Plots' }).click()
    await page.getByRole('img', { name: /Grants and ends/ }).waitFor()
    await page.getByRole('img', { name: /Granted, of all that asked/ }).waitFor()
    await page.getByRole('button', { name: 'Leases' }).click()
  })

  it('stays smooth with thousands of leases that change all the time', async () => {
    for (let n = 0; n < MANY; n++) await take(`many:${String(n).padStart(5, '0')}`)
    await page.getByText(MANY.toLocaleString('en')).first().waitFor()
    expect(await page.locator('tbody .row').count()).toBeLessThan(60)
    const quiet: Frames[] = []
    const busy: Frames[] = []
    for (let round = 0; round < 4; round++) {
      quiet.push(await page.evaluate(countFrames, 500))
      const frames = page.evaluate(countFrames, 500)
      for (let beat = round * 100; beat < (round + 1) * 100; beat++) {
        const resource = `many:${String(beat * 12).padStart(5, '0')}`
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
    await page.getByLabel('Filter by name or holder').fill('many:04999')
    await row('many:04999').waitFor()
    expect(await page.locator('tbody .row').count()).toBe(1)
  })

  it('comes back after a restart of the server', async () => {
    await server.restart()
    await take('many:04999-again')
    await row('many:04999-again').waitFor()
  })

  it.each([360, 700, 841, 1024, 1200])('fits a screen of %d, with room for the names', async (width) => {
    await page.setViewportSize({ width, height: 740 })
    await expect.poll(() => widthOf(page)).toBeLessThanOrEqual(width)
    const name = row('many:04999-again').locator('td').first()
    await expect.poll(async () => (await name.boundingBox())?.width).toBeGreaterThan(100)
  })
})

describe('the pages', () => {
  it('load at most 120 kB of compressed scripts, both together', () => {
    const scripts = globSync('dist/web/assets/*.js', { cwd: root })
    const bytes = scripts.reduce((sum, file) => sum + gzipSync(readFileSync(join(root, file))).length, 0)
    console.log(`scripts: ${(bytes / 1000).toFixed(1)} kB of 120`)
    expect(scripts.length).toBeGreaterThan(1)
    expect(bytes).toBeLessThanOrEqual(120_000)
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
