import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchChromium } from './chromium.ts'
import { ADMIN_TOKEN, type PagesServer, servePages } from './pages-server.ts'
import { accessibilityProblems, keepPictures, overflow } from './screens.ts'

const LONG_NAME = `export:${'a-long-part/'.repeat(15)}end`
const TTL_MS = 3_600_000

describe('every state of the dashboard', () => {
  let browser: BrowserContext
  let server: PagesServer
  let page: Page
  beforeAll(async () => {
    server = await servePages()
    browser = await launchChromium()
    page = await browser.newPage()
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.emulateMedia({ reducedMotion: 'reduce' })
    await page.goto(`${server.url}/dashboard`)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
  })

  const drawer = () => page.getByRole('complementary', { name: 'Details of the resource' })
  async function isAccessible(name: string): Promise<void> {
    for (const theme of ['light', 'dark']) {
      await page.getByLabel('Theme').selectOption(theme)
      expect(await accessibilityProblems(page)).toEqual([])
    }
    await keepPictures(page, `dashboard-${name}`)
  }

  it('signed out', async () => {
    await page.getByLabel('Administrator token').fill('not it')
    await page.getByRole('button', { name: 'Enter' }).click()
    await page.getByText('The server does not know this token').waitFor()
    await isAccessible('signed-out')
  })

  it('empty', async () => {
    await page.getByLabel('Administrator token').fill(ADMIN_TOKEN)
    await page.getByRole('button', { name: 'Enter' }).click()
    await page.getByText('No lease is held now').waitFor()
    await isAccessible('empty')
  })

  it('leases, some with a queue, and one with a long name', async () => {
    for (const [n, resource] of ['invoice:4711', 'document:minutes', 'job:nightly', LONG_NAME].entries())
      await server.store.acquire({
        resource,
        id: resource,
        owner: `build-${n}:${4242 + n}`,
        ttl: TTL_MS * (n + 1),
        metadata: { name: ['Mika', 'Jonas', 'Aiko', 'Olga'][n] ?? '', host: `build-${n}` },
      })
    for (const owner of ['web-1:77', 'web-2:78'])
      await server.store.acquire({ resource: 'document:minutes', id: owner, owner, ttl: TTL_MS, wake() {} })
    await page.locator('.cell-waiting', { hasText: '2' }).waitFor()
    await isAccessible('leases')
    await page.setViewportSize({ width: 390, height: 844 })
    for (const [name, title] of Object.entries({
      waiting: 'Waiting',
      token: 'Token',
      age: 'Age',
      left: 'Left',
    }))
      await expect
        .poll(() =>
          page
            .locator(`.cell-${name}`)
            .first()
            .evaluate((cell) => getComputedStyle(cell, '::before').content),
        )
        .toContain(title)
    await page.setViewportSize({ width: 1280, height: 800 })
    const top = async (n: number) => (await page.locator('tbody .row').nth(n).boundingBox())?.y ?? 0
    await expect.poll(async () => (await top(1)) - (await top(0))).toBeLessThan(60)
  })

  it('the details of one, from the keyboard, which goes back to where it was', async () => {
    const name = page.getByRole('button', { name: 'document:minutes' }).first()
    await name.press('Enter')
    await drawer().getByText('web-2:78').waitFor()
    await isAccessible('details')
    await page.getByRole('heading', { name: 'document:minutes' }).press('Escape')
    await drawer().waitFor({ state: 'detached' })
    await expect.poll(() => name.evaluate((button) => button === document.activeElement)).toBe(true)
  })

  it('a resource that only its last lease keeps, with its last owner and its waiters', async () => {
    const [resource, id] = ['report:kept', 'report']
    const ask = { resource, id, owner: 'cron-1:11', ttl: TTL_MS, atLeast: TTL_MS, metadata: { name: 'Rin' } }
    await server.store.acquire(ask)
    await server.store.release({ resource, id })
    await server.store.acquire({ resource, id: 'next', owner: 'cron-2:12', ttl: TTL_MS, wake() {} })
    const kept = page.locator('.row', { has: page.locator('.kept') })
    await kept.locator('.cell-waiting', { hasText: '1' }).waitFor()
    await page.getByRole('button', { name: resource }).first().press('Enter')
    await drawer().getByText('Its last lease keeps it taken').waitFor()
    await drawer().getByText('cron-2:12').waitFor()
    await isAccessible('kept')
    await drawer().getByRole('button', { name: 'Free it…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Free it', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.locator('.row .kept').waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: resource }).press('Escape')
  })

  it('several holders of one resource, their share and their waiters', async () => {
    for (const [n, name] of ['Mika', 'Ken', 'Zoe'].entries())
      await server.store.acquire({
        resource: 'encoder',
        id: name,
        owner: `worker-${n}:90`,
        ttl: TTL_MS,
        share: 5,
        metadata: { name },
      })
    await server.store.acquire({
      resource: 'catalogue',
      id: 'reader',
      owner: 'web-4:1',
      ttl: TTL_MS,
      share: Infinity,
    })
    for (const [owner, share] of [['deploy:1'], ['web-9:3', Infinity], ['worker-7:90', 5]] as const)
      await server.store.acquire({ resource: 'encoder', id: owner, owner, ttl: TTL_MS, share, wake() {} })
    await page.locator('.cell-resource', { hasText: 'catalogue reader' }).waitFor()
    await page.locator('.row[data-kind="group"]', { hasText: 'encoder 3 of 5 · 3 waiting' }).waitFor()
    expect(await page.locator('.row', { hasText: 'encoder' }).count()).toBe(1)
    await isAccessible('folded')
    await page.getByRole('button', { name: 'The leases of encoder' }).press('Enter')
    const parts = page.locator('.row[data-kind="part"]')
    await expect
      .poll(() => parts.locator('.holder-text bdi').allTextContents())
      .toEqual(['Mika', 'Ken', 'Zoe'])
    await parts.nth(2).getByRole('button', { name: 'encoder' }).press('Enter')
    const waiters = drawer().locator('.queue li')
    await expect
      .poll(() => waiters.allTextContents())
      .toEqual(['1deploy:1 exclusive', '2web-9:3 reader', '3worker-7:90 up to 5'])
    expect(await drawer().locator('.holder-name bdi').allTextContents()).toEqual(['Mika', 'Ken', 'Zoe'])
    expect(await overflow(page)).toBe(0)
    await isAccessible('holders')
    await drawer().getByRole('button', { name: 'End this lease' }).nth(1).click()
    await page.getByRole('dialog').getByText('Ken will lose it at once').waitFor()
    await page.getByRole('dialog').getByText('The other holders keep theirs').waitFor()
    await page.getByRole('button', { name: 'End the lease' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect
      .poll(() => drawer().locator('.holder-name').allTextContents())
      .toEqual(['MMika 2 of 5', 'ZZoe 2 of 5'])
    await page.getByRole('heading', { name: 'encoder' }).press('Escape')
    const focused = () => page.evaluate(() => document.activeElement?.closest('tr')?.textContent)
    await expect.poll(focused).toContain('Zoe')
  })

  it('the question before a forced end', async () => {
    await page.getByRole('button', { name: 'invoice:4711' }).first().click()
    await drawer().getByRole('button', { name: 'End this lease' }).click()
    await page.getByRole('dialog').waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await page.getByRole('button', { name: 'End the lease' }).click()
    await drawer().locator('.what', { hasText: 'ended by force' }).waitFor()
    await isAccessible('forced')
    await drawer().getByRole('button', { name: 'Close' }).click()
  })

  it('plots', async () => {
    await page.getByRole('button', { name: 'Plots' }).click()
    await page.getByRole('img', { name: /Grants and ends/ }).waitFor()
    await isAccessible('plots')
    await page.setViewportSize({ width: 360, height: 740 })
    const tooWide = () =>
      page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    await expect.poll(tooWide).toBe(0)
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  it('the audit trail', async () => {
    await page.getByRole('button', { name: 'Audit trail' }).click()
    await page.locator('tr', { hasText: 'ended by force' }).filter({ hasText: 'Mika' }).waitFor()
    await isAccessible('audit')
    await page.getByRole('button', { name: 'Leases' }).click()
  })

  it('a server that stands still: within five seconds the page says so, and its times stand still', async () => {
    await page.getByText(/^Live$/).waitFor()
    await page.route('**/api/**', () => {})
    await page.evaluate((passed) => {
      const usual = Date.now.bind(Date)
      Date.now = () => usual() + passed
    }, 5000)
    await page.getByText('The server does not answer').waitFor()
    const times = () => page.locator('.cell-age').allTextContents()
    const before = await times()
    await isAccessible('silent')
    expect(await times()).toEqual(before)
    await page.unroute('**/api/**')
    await page.getByText(/^Live$/).waitFor()
  })

  it('no connection, and no server that can answer', async () => {
    await page.getByText(/^Live$/).waitFor()
    await server.restart(async () => {
      await page.getByText('No connection. Trying again.').waitFor()
      await isAccessible('offline')
    })
    const other = await browser.newPage()
    await other.route('**/api/**', (asked) => asked.fulfill({ status: 200, body: '<html>portal</html>' }))
    await other.goto(`${server.url}/dashboard#token=${ADMIN_TOKEN}`)
    // A proxy's page is no reason to ask for the token again.
    await other.getByText('No connection. Trying again.').waitFor()
    await other.close()
  })
})
