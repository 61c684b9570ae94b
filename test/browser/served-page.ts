import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { type LaunchOptions, launchChromium, type Site, serveModule } from './chromium.ts'

export interface Served {
  /** Opens a page that runs the module. */
  open(): Promise<Page>
}

/** For the tests of a file: a Chromium, and a site with one of the modules in `pages`. */
export function servePage(module: string, options?: LaunchOptions): Served {
  let browser: BrowserContext
  let site: Site
  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages', module))
    browser = await launchChromium(options)
  })
  afterAll(async () => {
    await browser?.close()
    await site?.[Symbol.asyncDispose]()
  })
  return {
    async open() {
      const page = await browser.newPage()
      await page.goto(site.url)
      return page
    },
  }
}
