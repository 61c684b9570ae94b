import type { BrowserContext, Frame } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { launchChromium } from './chromium.ts'
import { EditorWindow } from './editor-window.ts'
import { GRACE_MS, type PagesServer, servePages } from './pages-server.ts'
import { accessibilityProblems, keepPictures } from './screens.ts'
import { strippingProxy } from './stripping-proxy.ts'

const LUNCH = 'a good lunch is'
const LAST = 'Give the last line to a second person'

describe('two people in one window', () => {
  let browser: BrowserContext
  let server: PagesServer
  let mika: EditorWindow
  let aoi: EditorWindow
  beforeAll(async () => {
    browser = await launchChromium()
  })
  afterEach(async () => {
    await mika?.close()
    await server?.[Symbol.asyncDispose]()
  })
  afterAll(async () => {
    await browser?.close()
  })

  async function openTwo(): Promise<void> {
    server = await servePages()
    mika = await EditorWindow.open(browser, server, '', 'Mika')
    await mika.page.emulateMedia({ reducedMotion: 'reduce' })
    await mika.page.setViewportSize({ width: 1280, height: 900 })
    aoi = await mika.splitView()
    await aoi.untilBanner('Nobody is editing.')
  }
  const step = (text: string) => mika.page.getByRole('listitem').filter({ hasText: text })

  it('two people in one window see a handoff, a loss and a merge, one step after the other, and no word is lost', async () => {
    await openTwo()
    await keepPictures(mika.page, '50-two')
    await step('Put a second person').getByText('(done)').waitFor()
    await mika.edit()
    await mika.replaceText(LUNCH, 'a good lunch is soup')
    await expect.poll(() => aoi.text()).toContain('a good lunch is soup')
    await aoi.press('Ask for it')
    await mika.untilBanner('Aoi would like to edit. Hand over?')
    await keepPictures(mika.page, '51-two-asked')
    await mika.press('Hand over')
    await aoi.until('held')
    await mika.untilBanner('Aoi is editing')
    await step('ask for the document').getByText('(done)').waitFor()
    await keepPictures(mika.page, '52-two-handed-over')

    await aoi.press('Pull the plug')
    await mika.page.getByText('The side that edits is cut off.').waitFor()
    await aoi.untilBanner('Connection trouble.')
    await aoi.replaceText(LAST, 'Aoi wrote this without a connection')
    await keepPictures(mika.page, '53-two-cut-off')
    await mika.press('Take over')
    const told = server.untilTold('document.takeover-requested')
    await mika.press('Take over')
    await told
    server.pass(GRACE_MS)
    await mika.until('held')
    await mika.replaceText('a good lunch is soup', 'a good lunch is bread')
    await mika.untilStatus('saved')
    await mika.page.getByText('The other side has the document now.').waitFor()
    await aoi.press('Plug in again')
    await aoi.untilBanner('Mika is editing now')
    await aoi.body.getByText('both are merged and saved').waitFor()
    await step('Nothing was overwritten.').waitFor()
    expect(await accessibilityProblems(mika.page)).toEqual([])
    expect(await accessibilityProblems(aoi.body as Frame)).toEqual([])
    await keepPictures(mika.page, '54-two-refused')
    await mika.press('Stop editing')
    await aoi.press('Edit again')
    await aoi.until('held')
    for (const side of [mika, aoi]) {
      await expect.poll(() => side.text()).toContain('Aoi wrote this without a connection')
      expect(await side.text()).toContain('a good lunch is bread')
    }
    await step('No word is lost.').getByText('(done)').waitFor()
    await keepPictures(mika.page, '55-two-merged')
  })

  it('two people in one window are two: each has its own lock, request, title and cable', async () => {
    await openTwo()
    await aoi.edit()
    await mika.untilBanner('Aoi is editing')
    expect(await mika.banner()).not.toContain('another tab')
    const title = await mika.page.title()
    await mika.press('Ask for it')
    await aoi.untilBanner('Mika would like to edit.')
    expect(await mika.page.title()).toBe(title)
    await aoi.press('Keep editing')
    await mika.untilBanner('Aoi would like to go on editing.')
    await aoi.press('Pull the plug')
    await aoi.untilBanner('Connection trouble.')
    await mika.page.getByText('The side that edits is cut off.').waitFor()
    expect(await mika.banner()).toBe('Aoi would like to go on editing.')
  })

  it('two people in one window can edit below a path that a proxy removes', async () => {
    await openTwo()
    await using proxy = await strippingProxy('/locks', server.port)
    const page = await browser.newPage()
    const olga = mika.sibling(page)
    await page.goto(`${proxy.url}/locks/`)
    const second = await olga.splitView()
    await second.edit()
    await olga.untilBanner('Aoi is editing')
    await second.replaceText(LUNCH, 'a good lunch is below a path')
    await expect.poll(() => olga.text()).toContain('a good lunch is below a path')
    await page.close()
  })

  it('the second person leaves with the view: the text is saved, and the lock is free', async () => {
    await openTwo()
    await aoi.edit()
    await aoi.replaceText(LUNCH, 'a good lunch is left to Aoi')
    await mika.press('Show one person')
    await mika.untilBanner('Nobody is editing.')
    await expect.poll(() => mika.text()).toContain('a good lunch is left to Aoi')
  })

  it('the first person goes on typing while a second one is shown and hidden', async () => {
    await openTwo()
    await mika.press('Show one person')
    await mika.edit()
    await mika.replaceText(LUNCH, 'a good lunch is late')
    aoi = await mika.splitView()
    await aoi.untilBanner('Mika is editing')
    await expect.poll(() => aoi.text()).toContain('a good lunch is late')
    expect(await mika.isWritable()).toBe(true)
    await mika.press('Show one person')
    await mika.until('held')
    expect(await mika.text()).toContain('a good lunch is late')
  })

  it('the welcome follows the language of both sides until somebody writes, and then nobody changes it', async () => {
    await openTwo()
    const choose = (lang: string) =>
      mika.page.getByLabel('Language / 言語').selectOption(lang, { timeout: 0 })
    await choose('ja')
    await expect.poll(() => mika.text()).toContain('# ようこそ')
    await expect.poll(() => aoi.text()).toContain('# ようこそ')
    await aoi.untilBanner('いま編集している人はいません。')
    await choose('en')
    await expect.poll(() => aoi.text()).toContain('# Welcome')
    await mika.edit()
    await choose('ja')
    expect(await mika.text()).toContain('# Welcome')
    await mika.until('held')
    await mika.replaceText(LUNCH, 'おひる')
    await expect.poll(() => aoi.text()).toContain('おひる')
    expect(await aoi.text()).toContain('# Welcome')
  })

  it('the steps fold away, and stay so in this browser', async () => {
    await openTwo()
    const summary = mika.page.getByText('See it in three steps.')
    await summary.click()
    await expect.poll(() => mika.page.getByText('Put a second person').isVisible()).toBe(false)
    await mika.page.reload()
    await summary.waitFor()
    expect(await mika.page.getByText('Put a second person').isVisible()).toBe(false)
    await summary.click()
    await mika.page.reload()
    await mika.page.getByText('Put a second person').waitFor()
  })
})
