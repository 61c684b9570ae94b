import type { Page } from 'playwright-core'

/** Ends the process of a page as a bug of the browser would. */
export async function crash(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const crashed = new Promise((resolve) => page.once('crash', resolve))
  session.send('Page.crash').catch(() => {})
  await crashed
}
