import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchChromium } from './chromium.ts'
import { EditorWindow } from './editor-window.ts'
import { type PagesServer, servePages, TTL_MS } from './pages-server.ts'
import { accessibilityProblems, keepPictures } from './screens.ts'

describe('the start page', () => {
  let browser: BrowserContext
  let server: PagesServer
  let one: EditorWindow
  let two: EditorWindow
  beforeAll(async () => {
    server = await servePages()
    browser = await launchChromium()
    one = await EditorWindow.open(browser, server, '', 'Mika')
    await one.page.emulateMedia({ reducedMotion: 'reduce' })
  })
  afterAll(async () => {
    await two?.page.close()
    await one?.close()
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
  })
  const step = (page: Page, title: string) => page.getByRole('listitem').filter({ hasText: title })
  const isDone = (window: EditorWindow, text: string) => step(window.page, text).getByText('(done)').waitFor()

  it('the start page opens a second window', async () => {
    await one.page.getByText('See it in three steps.').waitFor()
    expect(await accessibilityProblems(one.page)).toEqual([])
    await keepPictures(one.page, '30-start')
    const [opened] = await Promise.all([
      browser.waitForEvent('page'),
      one.page.getByRole('link', { name: 'Open a second window' }).click(),
    ])
    two = one.sibling(opened)
    await opened.emulateMedia({ reducedMotion: 'reduce' })
    await opened.setViewportSize({ width: 1280, height: 800 })
    await isDone(one, 'Put a second person beside you')
    await isDone(two, 'Put a second person beside you')
  })

  it('the start page shows how the document changes hands', async () => {
    await one.edit()
    await one.write('one wrote this')
    await two.untilText('one wrote this')
    expect(await two.page.getByRole('button', { name: 'Pull the plug' }).isDisabled()).toBe(true)
    expect(await two.banner()).toBe('You are editing this in another tab.')
    await two.press('Edit here')
    await two.until('held')
    await one.untilBanner('You are editing this in another tab.')
    await isDone(one, 'There, press Edit here.')
    await isDone(two, 'There, press Edit here.')
    await keepPictures(two.page, '31-handed-over')
  })

  it('the start page cuts a window off, which shows trouble at once, and loses the document in time', async () => {
    await two.press('Pull the plug')
    await two.untilBanner('Connection trouble.')
    await two.page.getByText('The side that edits is cut off.').waitFor()
    await two.write('two wrote this too late')
    await keepPictures(two.page, '32-plug-pulled')
    await two.passTime(TTL_MS)
    server.pass(TTL_MS)
    await two.until('lost')
    expect(await accessibilityProblems(two.page)).toEqual([])
    await keepPictures(two.page, '33-plug-lost')
  })

  it('the start page refuses the late save, and keeps both texts', async () => {
    await one.edit()
    await one.write('one wrote this in time')
    await one.untilStatus('saved')
    for (const window of [one, two])
      await window.page.getByText('The other side has the document now.').waitFor()
    await two.press('Plug in again')
    await two.untilStatus('conflict')
    for (const window of [one, two]) await window.page.getByText('Nothing was overwritten.').waitFor()
    expect(await one.text()).toBe('one wrote this in time')
    expect(await two.text()).toBe('two wrote this too late')
    expect(await accessibilityProblems(two.page)).toEqual([])
    await keepPictures(two.page, '34-plugged-in')
  })

  it('the start page lists the documents of this browser, with who edits them, and opens new ones', async () => {
    const name = two.page.getByRole('textbox', { name: 'Name of a document' })
    await name.fill('  会議 / 42  ')
    await name.press('Enter')
    await two.page.getByRole('heading', { name: '会議 / 42' }).waitFor()
    const link = (room: string) => two.page.getByRole('link', { name: room })
    await expect.poll(() => link('welcome').textContent()).toContain('You are editing in another tab')
    await one.press('Stop editing')
    await expect.poll(() => link('welcome').textContent()).toBe('welcome')
    await two.edit()
    await expect.poll(() => link('会議 / 42').textContent()).toContain('You are editing')
    await two.page.reload()
    await two.page.getByRole('heading', { name: '会議 / 42' }).waitFor()
    await name.fill('あ'.repeat(100))
    await name.press('Enter')
    await two.page.getByRole('alert').getByText('up to 200 bytes').waitFor()
    expect(await accessibilityProblems(two.page)).toEqual([])
    await keepPictures(two.page, '35-documents')
    await two.page.getByRole('button', { name: 'Remove welcome from this list' }).click()
    await expect.poll(() => link('welcome').count()).toBe(0)
  })

  it('the start page shows the text that was kept when one comes back to its document', async () => {
    await two.page.goto(one.page.url().replace(/#.*/, '#welcome'))
    await two.untilStatus('conflict')
    await two.untilText('two wrote this too late')
  })
})
