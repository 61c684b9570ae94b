import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchChromium, type Site, serveModule } from './chromium.ts'
import type { scenarios } from './pages/web-stores.ts'
import { runScenario } from './run-scenario.ts'

describe('the web stores in Chromium', () => {
  let browser: BrowserContext
  let site: Site
  let page: Page
  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages/web-stores.ts'))
    browser = await launchChromium()
    page = await browser.newPage()
    await page.goto(site.url)
  })
  afterAll(async () => {
    await browser?.close()
    await site?.[Symbol.asyncDispose]()
  })

  it.each(['locks', 'directory'] as const)('%s: passes the conformance suite', async (kind) => {
    const results = await runScenario<typeof scenarios, 'conformance'>(page, 'conformance', kind)
    expect(results.length).toBeGreaterThan(35)
    expect(results.filter((result) => result.error)).toEqual([])
  })

  it('does what the fakes of the unit tests do', async () => {
    for (const { title, observed, expected } of await runScenario<typeof scenarios, 'platform'>(
      page,
      'platform',
    ))
      expect({ title, observed }).toEqual({ title, observed: expected })
  })
})
