import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import type { PreviewServer } from 'vite'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { type RunningServer, runServer } from '../package/pasted.ts'
import { launchChromium } from './chromium.ts'
import { buildPastedPage, servePastedPage } from './pasted-page.ts'

describe('the page for documents, pasted', () => {
  let project: string
  let server: RunningServer
  let pages: PreviewServer
  let browser: BrowserContext
  /** A private window: another session, so another person. */
  let other: BrowserContext
  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'holdfast-pasted-'))
    const served = await servePastedPage(await buildPastedPage(project))
    server = await runServer(project)
    pages = served.pages
    const addresses = {
      'localhost:4321': `127.0.0.1:${server.port}`,
      'localhost:5173': `127.0.0.1:${served.port}`,
    }
    browser = await launchChromium({ addresses })
    other = await launchChromium({ addresses })
  })
  afterAll(async () => {
    await browser?.close()
    await other?.close()
    await pages?.close()
    await server?.[Symbol.asyncDispose]()
    await rm(project, { recursive: true })
  })

  const opened: Page[] = []
  async function windows(): Promise<[one: Page, two: Page]> {
    const pages: [Page, Page] = [await browser.newPage(), await other.newPage()]
    opened.push(...pages)
    await pages[0].goto('http://localhost:5173/')
    await pages[1].goto('http://localhost:5173/?name=Ken')
    return pages
  }
  afterEach(async () => {
    for (const page of opened.splice(0)) await page.close()
  })

  it('the page for documents, pasted lets one window edit and save, and shows it to the other', async () => {
    const [one, two] = await windows()
    await one.getByRole('button', { name: 'Edit', exact: true }).click()
    await one.locator('textarea:not([readonly])').fill('Minutes of the meeting')
    await eventually(async () => expect(await two.locator('.hf-banner').textContent()).toContain('Mika'))
    await eventually(async () =>
      expect(await two.locator('textarea').inputValue()).toBe('Minutes of the meeting'),
    )
    expect(await two.locator('textarea').getAttribute('readonly')).not.toBeNull()
  })

  it.each(['Stop editing', 'Hand over'])(
    'the page for documents, pasted saves what was typed before "%s"',
    async (button) => {
      const [one, two] = await windows()
      await one.getByRole('button', { name: 'Edit', exact: true }).click()
      await one.locator('textarea:not([readonly])').waitFor()
      if (button === 'Hand over') await two.getByRole('button', { name: 'Ask for it' }).click()
      const press = one.getByRole('button', { name: button })
      await press.waitFor()
      if (button === 'Hand over') expect(await one.locator('.hf-banner').textContent()).toContain('Ken')
      await one.locator('textarea').fill(`typed before ${button}`)
      await press.click()
      await eventually(async () =>
        expect(await two.locator('textarea').inputValue()).toBe(`typed before ${button}`),
      )
    },
  )

  it('the page for documents, pasted keeps what was typed in a turn that another window took, and asks where both changed the same words', async () => {
    const [one, two] = await windows()
    await one.getByRole('button', { name: 'Edit', exact: true }).click()
    await one.locator('textarea:not([readonly])').fill('the words of both')
    await one.locator('[data-status="saved"][data-empty="false"]').waitFor()
    await one
      .context()
      .route('**/api/documents/**', (route, request) =>
        request.method() === 'PUT' && request.frame().page() === one ? route.abort() : route.continue(),
      )
    await one.locator('textarea').fill('the words of one')
    await two.getByRole('button', { name: 'Take over' }).click()
    await two.getByRole('button', { name: 'Take over' }).click()
    await two.locator('textarea:not([readonly])').fill('the words of two')
    await two.locator('[data-status="saved"][data-empty="false"]').waitFor()
    await one.context().unrouteAll()
    await one.getByRole('button', { name: 'Compare' }).click()
    const side = (name: string) => one.getByRole('figure', { name }).locator('.hf-changed').textContent()
    expect([await side('Stored'), await side('Mine, not saved')]).toEqual([
      'the words of two\n',
      'the words of one\n',
    ])
    await one.reload()
    await one.getByRole('button', { name: 'Compare' }).waitFor()
    await two.getByRole('button', { name: 'Stop editing' }).click()
    await one.getByRole('button', { name: 'Edit', exact: true }).click()
    await one.getByRole('button', { name: 'Save mine' }).click()
    await eventually(async () => expect(await two.locator('textarea').inputValue()).toBe('the words of one'))
  })
})
