import { join } from 'node:path'
import type { BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchChromium, type Site, serveModule } from './chromium.ts'
import type { scenarios } from './pages/worker-clock.ts'
import { runScenario } from './run-scenario.ts'

describe('the worker clock in Chromium', () => {
  let browser: BrowserContext
  let site: Site
  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages/worker-clock.ts'))
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await site?.[Symbol.asyncDispose]()
  })

  async function timeOfTimer(stopOwn: boolean, policy?: string): Promise<number> {
    const page = await browser.newPage()
    if (policy)
      await page.route(site.url, async (route) => {
        const response = await route.fetch()
        const headers = { ...response.headers(), 'content-security-policy': policy }
        await route.fulfill({ response, headers })
      })
    await page.goto(site.url)
    await page.waitForFunction('globalThis.scenarios')
    return runScenario<typeof scenarios, 'timerOfHiddenPage'>(page, 'timerOfHiddenPage', 200, stopOwn)
  }

  it('the worker clock in Chromium is woken by its worker if the timers of a hidden page do not run', async () => {
    expect(await timeOfTimer(true)).toBeGreaterThanOrEqual(199)
  })

  it('the worker clock in Chromium keeps the timers of the page if the policy refuses workers', async () => {
    expect(await timeOfTimer(false, "worker-src 'none'")).toBeGreaterThanOrEqual(199)
  })
})
