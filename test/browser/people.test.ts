import type { BrowserContext } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { launchChromium } from './chromium.ts'
import { EditorWindow } from './editor-window.ts'
import { GRACE_MS, type PagesServer, servePages } from './pages-server.ts'
import { accessibilityProblems, keepPictures } from './screens.ts'

describe('three people and a document', () => {
  let browser: BrowserContext
  let server: PagesServer
  const windows: EditorWindow[] = []
  beforeAll(async () => {
    server = await servePages()
    browser = await launchChromium()
  })
  afterEach(async () => {
    await Promise.all(windows.splice(0).map((window) => window.close()))
  })
  afterAll(async () => {
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
  })

  let rooms = 0
  async function open(): Promise<[EditorWindow, EditorWindow, EditorWindow]> {
    const room = `people-${++rooms}`
    const [mika, jonas, aoi] = await Promise.all(
      ['Mika', 'Jonas', 'Aoi'].map((name) => EditorWindow.open(browser, server, room, name)),
    )
    if (!mika || !jonas || !aoi) throw new Error('no windows')
    windows.push(mika, jonas, aoi)
    return [mika, jonas, aoi]
  }
  async function waitInLine(window: EditorWindow): Promise<void> {
    await window.until('read-only')
    await window.press('Wait in line')
    await window.until('waiting')
  }
  const titleOf = (window: EditorWindow) => window.page.title()
  const iconOf = (window: EditorWindow) =>
    window.page.evaluate(() => document.querySelector('link[rel~="icon"]')?.getAttribute('href'))

  it('see each other: the holder, the waiters with their places, and the readers', async () => {
    const [mika, jonas, aoi] = await open()
    const seen = (window: EditorWindow) =>
      window.page.locator('.hf-banner .hf-people .hf-hidden').allTextContents()
    await expect
      .poll(async () => (await seen(mika)).sort())
      .toEqual(['Aoi is reading', 'Jonas is reading', 'You are reading'])
    await mika.edit()
    await waitInLine(jonas)
    await expect
      .poll(() => seen(aoi))
      .toEqual(['Mika is editing', 'Jonas is number 1 in line', 'You are reading'])
    await expect
      .poll(() => seen(mika))
      .toEqual(['You are editing', 'Jonas is number 1 in line', 'Aoi is reading'])
    await waitInLine(aoi)
    await expect
      .poll(() => seen(jonas))
      .toEqual(['Mika is editing', 'You are number 1 in line', 'Aoi is number 2 in line'])
    expect(await jonas.page.locator('.documents .hf-avatar').allTextContents()).toEqual(['M', 'J1', 'A2'])
    expect(await accessibilityProblems(jonas.page)).toEqual([])
    await keepPictures(jonas.page, '40-people')
    await mika.page.close()
    await jonas.until('held')
    await expect.poll(() => seen(jonas)).toEqual(['You are editing', 'Aoi is number 1 in line'])
  })

  it('three people and a document are in the lists of other documents: who edits, and how many wait', async () => {
    const [mika, jonas, aoi] = await open()
    const room = decodeURIComponent(new URL(mika.page.url()).hash.slice(1))
    await mika.edit()
    await waitInLine(jonas)
    const lobby = `people-${++rooms}`
    await aoi.page.evaluate((hash) => Object.assign(location, { hash }), lobby)
    const shown = aoi.page.locator('.documents li', { hasText: room })
    const words = () => shown.locator('.words').innerText()
    await expect.poll(words).toMatch(/Mika.? is editing · 1 waiting$/)
    const faces = () => shown.locator('.hf-avatar').allTextContents()
    await expect.poll(faces).toEqual(['M', 'J1'])
    // What comes now is pushed.
    await aoi.page.route('**/api/documents/locks', (asked) => asked.abort())
    await jonas.press('Leave the line')
    await expect.poll(words).toMatch(/Mika.? is editing$/)
    expect(await faces()).toEqual(['M'])
    await waitInLine(jonas)
    await expect.poll(words).toMatch(/ · 1 waiting$/)
    expect(await faces()).toEqual(['M', 'J1'])
    await mika.press('Stop editing')
    await expect.poll(words).toMatch(/Jonas.? is editing$/)
  })

  it('three people and a document are told when somebody asks from further back: the holder by name, and the one who is passed', async () => {
    const [mika, jonas, aoi] = await open()
    await mika.edit()
    await waitInLine(aoi)
    await aoi.untilBanner('You are next.')
    await waitInLine(jonas)
    await jonas.untilBanner('1 before you.')
    await jonas.press('Ask for it')
    await mika.untilBanner('Jonas would like to edit. In line before them: Aoi. Hand over?')
    expect(await accessibilityProblems(mika.page)).toEqual([])
    await keepPictures(mika.page, '41-asked')
    await aoi.untilBanner('Jonas has asked to edit before you. You are next.')
    await jonas.untilBanner('You have asked Mika to hand over. 1 before you.')
    await mika.press('Keep editing')
    await jonas.untilBanner('Mika would like to go on editing. 1 before you.')
    await aoi.untilBanner('You are next.')
    expect(await aoi.banner()).not.toContain('Jonas')
    await mika.press('Stop editing')
    await aoi.until('held')
    await jonas.untilBanner('Aoi is editing')
    await jonas.untilBanner('You are next.')
  })

  it('see a request in the title and the icon of the page, until it is answered', async () => {
    const [mika, jonas] = await open()
    await mika.edit()
    const [title, icon] = [await titleOf(mika), await iconOf(mika)]
    await jonas.until('read-only')
    await jonas.press('Ask for it')
    await expect.poll(() => titleOf(mika)).toBe('● Jonas asks for this document')
    expect(await iconOf(mika)).toBe('./icon-asking.svg')
    expect(await titleOf(jonas)).toBe(title)
    await mika.press('Keep editing')
    await expect.poll(() => titleOf(mika)).toBe(title)
    expect(await iconOf(mika)).toBe(icon)
  })

  it('people are notified of a request without a sound if they want to be, and only while they look at another page', async () => {
    const [mika, jonas] = await open()
    const { page } = mika
    await browser.grantPermissions(['notifications'], { origin: new URL(page.url()).origin })
    await page.evaluate(() => {
      const shown: [string, boolean | undefined][] = []
      const closed: string[] = []
      Object.assign(globalThis, { notified: { shown, closed } })
      globalThis.Notification = class extends Notification {
        constructor(title: string, options?: NotificationOptions) {
          super(title, options)
          shown.push([title, options?.silent ?? undefined])
        }
        override close() {
          closed.push(this.title)
          super.close()
        }
      }
    })
    const told = (list: 'shown' | 'closed') =>
      page.evaluate((name) => Reflect.get(globalThis, 'notified')[name], list)
    const hide = (isHidden: boolean) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden })
      }, isHidden)
    await mika.edit()
    await jonas.until('read-only')
    const askedAndKept = async () => {
      await jonas.press('Ask for it')
      await mika.untilBanner('Jonas would like to edit.')
      await mika.press('Keep editing')
      await jonas.untilBanner('Mika would like to go on editing.')
    }
    await hide(true)
    await askedAndKept()
    expect(await told('shown')).toEqual([])
    const wish = page.getByRole('button', { name: 'Notify me when somebody asks for my document' })
    await wish.click()
    await expect.poll(() => wish.getAttribute('aria-pressed')).toBe('true')
    expect(await accessibilityProblems(page)).toEqual([])
    await askedAndKept()
    expect(await told('shown')).toEqual([['● Jonas asks for this document', true]])
    await expect.poll(() => told('closed')).toEqual(['● Jonas asks for this document'])
    await hide(false)
    await askedAndKept()
    expect(await told('shown')).toHaveLength(1)
  })

  it('wait when the holder asks for two minutes, and both see how long', async () => {
    const [mika, jonas, aoi] = await open()
    await mika.edit()
    await waitInLine(aoi)
    await jonas.until('read-only')
    await jonas.press('Ask for it')
    await mika.press('Give me 2 minutes')
    await mika.untilBanner('You are editing. Jonas waits for you to hand over.')
    await jonas.untilBanner('Mika has asked you for a little more time.')
    await aoi.untilBanner('Jonas has asked to edit before you.')
    for (const window of [mika, jonas])
      await expect
        .poll(() => window.page.locator('.hf-count').textContent())
        .toMatch(/^(1?\d\d s|2 min) left$/)
    await expect.poll(() => titleOf(mika)).not.toContain('Jonas')
    await mika.passTime(120_000)
    await mika.untilBanner('Jonas would like to edit.')
    await expect.poll(() => titleOf(mika)).toContain('Jonas asks')
    await mika.press('Hand over')
    await jonas.until('held')
    await aoi.untilBanner('Jonas is editing')
  })

  it('three people and a document are asked when they went away with the page open, keep the lock by any input, and else hand over', async () => {
    const [mika, jonas] = await open()
    await mika.edit()
    await mika.write('before lunch')
    await mika.passTime(600_000 / 2)
    await mika.until('held')
    expect(await mika.banner()).toBe('You are editing. Others can read.')
    await waitInLine(jonas)
    await mika.untilBanner('Still editing? Jonas would like to.')
    expect(await accessibilityProblems(mika.page)).toEqual([])
    await expect.poll(() => titleOf(mika)).toBe('● Still editing?')
    await mika.page.mouse.move(5, 5)
    await mika.page.mouse.move(15, 15)
    await mika.untilBanner('You are editing. In line: Jonas.')
    await mika.passTime(300_000)
    await mika.untilBanner('Still editing?')
    await mika.passTime(30_000)
    await jonas.until('held')
    await jonas.untilText('before lunch')
    await mika.untilBanner('You were away, so you have handed over. Jonas is editing')
    await expect.poll(() => titleOf(mika)).not.toContain('Still')
  })

  it('continue in their own other tab in one click, with every word', async () => {
    const [mika, jonas] = await open()
    await mika.edit()
    await mika.write('from the first tab')
    const second = await mika.openAgain()
    await second.untilBanner('You are editing this in another tab.')
    expect(await second.banner()).not.toContain('Mika')
    await jonas.untilBanner('Mika is editing')
    await second.press('Edit here')
    await second.until('held')
    await second.untilText('from the first tab')
    await mika.untilBanner('You are editing this in another tab.')
    expect(await mika.isWritable()).toBe(false)
    await mika.press('Edit here')
    await mika.until('held')
    await second.until('read-only')
    await second.page.close()
  })

  it('three people and a document get their own lock back when the tab that has it has crashed', async () => {
    const [mika] = await open()
    await mika.edit()
    await mika.write('before the crash')
    await mika.untilStatus('saved')
    await mika.page.goto('chrome://crash').catch(() => {})
    const again = await mika.openAgain()
    await again.untilBanner('You are editing this in another tab.')
    const asked = server.untilTold('document.takeover-requested')
    await again.press('Edit here')
    await asked
    await again.untilBanner('Your other tab has a moment to save.')
    server.pass(GRACE_MS)
    await again.until('held')
    await again.untilText('before the crash')
    await again.page.close()
  })
})
