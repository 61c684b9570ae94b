import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Frame, Page } from 'playwright-core'

/** Run as text, because the policy of the pages allows no scripts of others. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Set it to keep a picture of every state: both languages, both themes, 360 and 1280 px wide. */
const { HOLDFAST_SHOTS: DIRECTORY } = process.env

/** What axe finds on the page, as text. Empty: nothing. */
export async function accessibilityProblems(page: Page | Frame): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { readonly axe: typeof import('axe-core') }
    const { violations } = await axe.run()
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    )
  })
}

/** By how many pixels the page is higher than the screen: a scrollbar that comes and goes moves everything. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollHeight - innerHeight)
}

/** Keeps pictures of the page, if somebody wants to look at them. */
export async function keepPictures(page: Page, name: string): Promise<void> {
  if (!DIRECTORY) return
  mkdirSync(DIRECTORY, { recursive: true })
  await page.evaluate(hideChoices)
  // Pictures have no scroll bar, and would be cut by its width.
  await page.evaluate(() => document.documentElement.style.setProperty('scrollbar-width', 'none'))
  const before = { size: page.viewportSize(), ...(await preferences(page)) }
  const blockFont = await page.evaluateHandle(() => {
    const measured = document.adoptedStyleSheets
    // Blocks in place of letters are for measuring.
    document.adoptedStyleSheets = []
    return () => {
      document.adoptedStyleSheets = measured
    }
  })
  for (const lang of ['en', 'ja'])
    for (const theme of ['light', 'dark'])
      for (const width of [1280, 360]) {
        await choose(page, lang, theme)
        await page.setViewportSize({ width, height: width === 360 ? 740 : 800 })
        const path = join(DIRECTORY, `${name}-${lang}-${theme}-${width}.png`)
        await page.screenshot({ path, fullPage: true, animations: 'disabled' })
      }
  await blockFont.evaluate((putBack) => putBack())
  await choose(page, before.lang, before.theme)
  if (before.size) await page.setViewportSize(before.size)
}

/** A choice for a picture is no input of the person: an idle holder stays idle. The page itself hears of the change. */
function hideChoices(): void {
  const hide = (event: Event) => event.target instanceof HTMLSelectElement && event.stopPropagation()
  addEventListener('input', hide, { capture: true })
}

async function choose(page: Page, lang: string, theme: string): Promise<void> {
  await page.locator('.header select').nth(1).selectOption(lang)
  await page.locator('.header select').nth(0).selectOption(theme)
}

function preferences(page: Page): Promise<{ readonly lang: string; readonly theme: string }> {
  return page.evaluate(() => {
    const [theme, lang] = document.querySelectorAll<HTMLSelectElement>('.header select')
    return { theme: theme?.value ?? '', lang: lang?.value ?? '' }
  })
}
