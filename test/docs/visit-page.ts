import type { BrowserContext, Page } from 'playwright-core'
import { ENDED } from './bundle-page.ts'

/** Looks at a page whose block has run. `printed`: what it has printed so far. */
export type Look = (page: Page, printed: readonly string[]) => Promise<void>

/**
 * Opens the page, waits until its block has run, presses each button once, and looks. Resolves with what a reader would see in
 * the developer tools: errors, warnings, failed loads, and alerts.
 */
export async function visitPage(
  browser: BrowserContext,
  url: string,
  look?: Look,
): Promise<readonly string[]> {
  const page = await browser.newPage()
  const problems = problemsOf(page)
  const printed: string[] = []
  page.on('console', (message) => printed.push(message.text()))
  const failed = page.waitForEvent('pageerror')
  await page.goto(url)
  await Promise.race([page.waitForFunction((ended) => ended in globalThis, ENDED), failed])
  await page.waitForLoadState('networkidle')
  await pressButtons(page)
  await look?.(page, printed)
  const found = [...problems]
  await page.close()
  await failed.catch(() => {})
  return found
}

/**
 * A dialog of the system cannot be answered here. The picker stays the browser's own, which refuses a call without a
 * click; after a click the user "picks" the private directory.
 */
export async function answerPickers(browser: BrowserContext): Promise<void> {
  await browser.addInitScript(() => {
    const page = window as unknown as { showDirectoryPicker?: (options: unknown) => Promise<unknown> }
    const picker = page.showDirectoryPicker?.bind(window)
    page.showDirectoryPicker = (options) =>
      navigator.userActivation.isActive || !picker ? navigator.storage.getDirectory() : picker(options)
  })
}

function problemsOf(page: Page): readonly string[] {
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(`uncaught: ${error.stack ?? error}`))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(`console: ${message.text()}`)
  })
  page.on('requestfailed', (request) => {
    const { errorText } = request.failure() ?? {}
    // A page that ends cancels what it waits for.
    if (errorText !== 'net::ERR_ABORTED') problems.push(`${request.url()}: ${errorText}`)
  })
  page.on('dialog', async (dialog) => {
    problems.push(`dialog: ${dialog.message()}`)
    await dialog.dismiss()
  })
  return problems
}

async function pressButtons(page: Page): Promise<void> {
  for (const button of await page.locator('button:enabled:visible').all()) {
    if (await button.isEnabled()) await button.click()
    await page.waitForLoadState('networkidle')
  }
}
