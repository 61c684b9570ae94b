import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { launchChromium, type Site, serveModule } from './chromium.ts'
import type { scenarios } from './pages/document-states.tsx'
import { runScenario } from './run-scenario.ts'
import { accessibilityProblems } from './screens.ts'

const { HOLDFAST_SHOTS: DIRECTORY } = process.env
const LOOKS = (['en', 'ja'] as const).flatMap((lang) =>
  (['light', 'dark'] as const).flatMap((theme) => [360, 1280].map((width) => ({ lang, theme, width }))),
)

describe('a document', () => {
  let site: Site
  let browser: BrowserContext
  let page: Page
  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages/document-states.tsx'))
    browser = await launchChromium()
    page = await browser.newPage()
    await page.goto(site.url)
    await page.addStyleTag({ path: join(root, 'src/react/styles.css') })
    // Pictures have no scroll bar, and would be cut by its width.
    await page.addStyleTag({ content: 'html { scrollbar-width: none }' })
  })
  afterAll(async () => {
    await browser?.close()
    await site?.[Symbol.asyncDispose]()
  })

  it.each(LOOKS)(
    'a document is readable in every state, in $lang, $theme and $width px wide',
    async (look) => {
      await page.setViewportSize({ width: look.width, height: 800 })
      await runScenario<typeof scenarios, 'show'>(page, 'show', look)
      const compare = page.getByRole('button', {
        name: look.lang === 'en' ? 'Compare' : '見比べる',
        exact: true,
      })
      await compare.first().waitFor()
      while ((await compare.count()) > 0) await compare.first().click()
      expect(await accessibilityProblems(page)).toEqual([])
      const isTooWide = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement
        return scrollWidth > clientWidth
      })
      expect(isTooWide).toBe(false)
      if (!DIRECTORY) return
      mkdirSync(DIRECTORY, { recursive: true })
      const path = join(DIRECTORY, `document-${look.lang}-${look.theme}-${look.width}.png`)
      await page.screenshot({ path, fullPage: true, animations: 'disabled' })
    },
  )

  it('a document in conflict shows each part in which the texts differ', async () => {
    await runScenario<typeof scenarios, 'showConflict'>(page, 'showConflict')
    await page.getByRole('button', { name: 'Compare', exact: true }).click()
    expect(await page.locator('.hf-changed').allTextContents()).toEqual([
      '- Budget of this year\n',
      '- Budget of next year\n',
      'End at 16:30\n',
      'End at 17:00\n',
    ])
  })

  it('a document in conflict lets the user take parts of theirs and bring mine back, and none is left when nothing differs', async () => {
    const content = page.locator('#content')
    const mine = await content.textContent()
    const take = page.getByRole('button', { name: 'Take this part of theirs' })
    await take.first().click()
    await expect.poll(() => take.count()).toBe(1)
    expect(await content.textContent()).toBe(mine?.replace('next year', 'this year'))
    await page.getByRole('button', { name: 'Bring mine back' }).click()
    await expect.poll(() => content.textContent()).toBe(mine)
    await take.first().click()
    await expect.poll(() => take.count()).toBe(1)
    await take.first().click()
    await expect.poll(() => page.locator('.hf-notice').count()).toBe(0)
    expect(await content.textContent()).toBe(
      mine?.replace('next year', 'this year').replace('17:00', '16:30'),
    )
  })
})
