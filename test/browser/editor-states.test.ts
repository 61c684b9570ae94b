import type { BrowserContext } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type BlockFontOptions, setBlockFont } from './block-font.ts'
import { launchChromium } from './chromium.ts'
import { EditorWindow } from './editor-window.ts'
import { GRACE_MS, type PagesServer, servePages, TTL_MS } from './pages-server.ts'
import { accessibilityProblems, keepPictures, overflow } from './screens.ts'

const ROOM = 'minutes'
/** Fonts of users differ in the width of letters, and in how far they reach above and below the line. */
const NARROW: BlockFontOptions = { latinWidth: 420 }
const WIDE: BlockFontOptions = { latinWidth: 680, ascent: 1400, descent: 500 }
const PHONE = { width: 360, height: 740 }
const TABLET = { width: 768, height: 1024 }
const DESKTOP = { width: 1280, height: 800 }
const MINUTES = '# Minutes\n\n- **Mika** opens\n- Ken writes'

/** Two people go through every state. Mika reads English on a wide, light screen, Ken Japanese on a dark phone. */
describe('every state of the editor, as two people see it', () => {
  let browser: BrowserContext
  let server: PagesServer
  let mika: EditorWindow
  let ken: EditorWindow
  beforeAll(async () => {
    server = await servePages()
    browser = await launchChromium()
    mika = await EditorWindow.open(browser, server, ROOM, 'Mika')
    ken = await EditorWindow.open(browser, server, ROOM, 'Ken', { lang: 'ja', theme: 'dark' })
    // A colour in the middle of its change has no contrast to judge.
    for (const { page } of [mika, ken]) await page.emulateMedia({ reducedMotion: 'reduce' })
    await mika.page.setViewportSize(DESKTOP)
    await ken.page.setViewportSize(PHONE)
    top = { mika: await topOf(mika), ken: await topOf(ken) }
  })
  afterAll(async () => {
    await Promise.all([mika?.close(), ken?.close()])
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
  })
  /** Where the text begins. It moves in no state of the lock. */
  let top: { readonly mika: number; readonly ken: number }
  let shown = ''
  let isMoved = false
  const topOf = async ({ page }: EditorWindow) => {
    await setBlockFont(page, NARROW)
    return page.locator('.paper').evaluate((paper) => Math.round(paper.getBoundingClientRect().top + scrollY))
  }

  /** Of the banner, by the width of the screen. It is the same in every state, language and font. */
  const heights = new Map<number, number>()
  async function expectSameHeights({ page }: EditorWindow, who: string) {
    const before = page.viewportSize() ?? DESKTOP
    const measured = []
    for (const size of [PHONE, TABLET, DESKTOP])
      for (const font of [WIDE, NARROW]) {
        await page.setViewportSize(size)
        await setBlockFont(page, font)
        const { height } = (await page.locator('.hf-banner').boundingBox()) ?? {}
        measured.push({ width: size.width, height: height ?? 0, font })
      }
    await page.setViewportSize(before)
    for (const { width, height, font } of measured) {
      if (!heights.has(width)) heights.set(width, height)
      const what = `${shown}: ${who}, a screen of ${width} px, letters of ${font.latinWidth}`
      expect(height, what).toBe(heights.get(width))
    }
  }

  afterEach(async () => {
    for (const [name, window] of Object.entries({ mika, ken })) {
      expect(await accessibilityProblems(window.page), `${shown}: ${name}`).toEqual([])
      const { width, scrollWidth } = await window.page.evaluate(() => ({
        width: document.documentElement.clientWidth,
        scrollWidth: document.documentElement.scrollWidth,
      }))
      expect(scrollWidth, `${shown}: ${name}`).toBeLessThanOrEqual(width)
      await keepPictures(window.page, `${shown}-${name}`)
    }
    await expectSameHeights(mika, 'mika')
    await expectSameHeights(ken, 'ken')
    if (!isMoved) expect({ mika: await topOf(mika), ken: await topOf(ken) }, shown).toEqual(top)
  })

  it('nobody edits, and nothing was written', async () => {
    shown = '01-idle'
    await mika.untilBanner('Nobody is editing.')
    await ken.untilBanner('いま編集している人はいません。')
    await mika.page.getByText('Empty', { exact: true }).waitFor()
    await ken.page.getByText('空の文書').waitFor()
    expect(await overflow(mika.page)).toBe(0)
    expect([await mika.isWritable(), await ken.isWritable()]).toEqual([false, false])
  })

  it('one edits, the other follows what is saved', async () => {
    shown = '02-held'
    await mika.edit()
    await mika.write(MINUTES)
    await mika.untilStatus('saved')
    await ken.untilText(MINUTES)
    await ken.untilBanner('Mikaさんが編集しています。順番を待つか、交代をお願いしてください。')
    expect(await mika.page.locator('.preview strong').textContent()).toBe('Mika')
    expect(await mika.page.getByText(/^Saved \d\d:\d\d$/).count()).toBe(1)
    await ken.page.getByText('閲覧のみ').waitFor()
    expect([await mika.isWritable(), await ken.isWritable()]).toEqual([true, false])
  })

  it('one waits in line, and the holder sees who', async () => {
    shown = '03-waiting'
    await ken.press('順番を待つ')
    await ken.untilBanner('次はあなたの番です。')
    await mika.untilBanner('You are editing. In line: Ken.')
  })

  it('one asks the holder', async () => {
    shown = '04-asked'
    await ken.press('交代をお願い')
    await ken.untilBanner('Mikaさんに交代をお願いしました。')
    await mika.untilBanner('Ken would like to edit. Hand over?')
    await mika.page.getByRole('button', { name: 'Hand over' }).waitFor()
  })

  it('the holder declines', async () => {
    shown = '05-declined'
    await mika.press('Keep editing')
    await ken.untilBanner('Mikaさんはもう少し編集を続けたいそうです。次はあなたの番です。')
    await mika.untilBanner('You are editing. In line: Ken.')
  })

  it('taking over asks first, and says what will happen', async () => {
    shown = '06-take-over-question'
    await ken.press('引き継ぐ')
    await ken.untilBanner('数秒待ってから、あなたに編集が移ります。')
    expect(await mika.banner()).toBe('You are editing. In line: Ken.')
  })

  it('the holder has a moment to save', async () => {
    shown = '07-taking-over'
    await ken.press('引き継ぐ')
    await ken.untilBanner('引き継いでいます。')
    await mika.untilBanner('Ken is taking over. Hand over before the time is up.')
  })

  it('the other has the document, and everything was saved', async () => {
    shown = '08-taken-over'
    server.pass(GRACE_MS)
    await ken.until('held')
    await ken.untilBanner('あなたが編集中です。ほかの人は閲覧できます。')
    await mika.untilBanner('Ken is editing now')
    await mika.untilStatus('saved')
    expect(await mika.page.locator('.hf-notice').count()).toBe(0)
  })

  it('the document comes back, and the first holder can undo what it wrote before', async () => {
    shown = '09-handed-back'
    await mika.press('Wait in line')
    await ken.untilBanner('Mikaさんが順番を待っています。')
    await ken.page.locator('.paper .cm-content').click()
    await ken.page.keyboard.press('Control+End')
    await ken.page.keyboard.type('\nend')
    await ken.untilStatus('saved')
    await ken.press('編集を終える')
    await mika.until('held')
    await mika.untilText(`${MINUTES}\n- end`)
    await mika.page.locator('.paper .cm-content[contenteditable=true]').click()
    await mika.page.keyboard.press('Control+z')
    await expect.poll(() => mika.text()).toContain('end')
    expect(await mika.text()).not.toContain('Minutes')
    await mika.page.keyboard.press('Control+y')
    await mika.untilText(`${MINUTES}\n- end`)
    await mika.untilStatus('saved')
  })

  it('the server does not answer the holder', async () => {
    shown = '10-troubled'
    mika.network.cut()
    await mika.write('# Minutes of Mika')
    await mika.untilBanner('Connection trouble. You can keep typing. We will retry the save.')
    await mika.untilStatus('dirty')
    await ken.untilBanner('Mikaさんが編集しています。')
    expect(await mika.isWritable()).toBe(true)
  })

  it('the time of the holder is up', async () => {
    shown = '11-lost'
    server.pass(TTL_MS)
    await mika.passTime(TTL_MS)
    await mika.untilBanner(
      'Your text is kept. No connection. You are no longer editing. Edit again when it is back.',
    )
    await ken.untilBanner('いま編集している人はいません。')
    expect(await mika.text()).toBe('# Minutes of Mika')
    expect(await mika.isWritable()).toBe(false)
  })

  it('the late save is refused, and both texts are kept', async () => {
    shown = '12-refused'
    isMoved = true
    await ken.press('編集する')
    await ken.write('# Minutes of Ken\n\n- one\n- two')
    await ken.untilStatus('saved')
    mika.network.mend()
    await mika.untilStatus('conflict')
    await mika.page.getByRole('alert').getByText('somebody else has saved another version').waitFor()
    expect(await mika.text()).toBe('# Minutes of Mika')
    expect(await ken.text()).toContain('Minutes of Ken')
    expect(await mika.page.getByRole('button', { name: 'Save mine' }).count()).toBe(0)
  })

  it('the two are compared and merged by hand, also by keyboard', async () => {
    shown = '13-compared'
    await mika.pressByKeyboard('Compare')
    const mine = mika.page.getByRole('textbox', { name: 'Mine, not saved' })
    await mine.waitFor()
    await mika.page.getByRole('textbox', { name: 'Stored' }).getByText('Minutes of Ken').waitFor()
    await mika.pressByKeyboard('Take this part of theirs')
    await expect.poll(() => mine.innerText()).toContain('Minutes of Ken')
    await mine.press('Control+End')
    await mika.page.keyboard.type('\nand Mika')
    await ken.press('編集を終える')
    await mika.press('Edit again')
    await mika.until('held')
    expect(await ken.text()).not.toContain('and Mika')
  })

  it('the merged text is saved', async () => {
    shown = '14-merged'
    await mika.press('Save mine')
    await mika.untilStatus('saved')
    await expect.poll(() => ken.text()).toContain('and Mika')
    expect(await ken.text()).toContain('Minutes of Ken')
  })

  it('the server does not accept a text', async () => {
    shown = '15-not-accepted'
    await mika.page.route('**/api/documents/*', (route) =>
      route.request().method() === 'PUT'
        ? route.fulfill({
            status: 413,
            json: { error: 'body_too_large', message: 'too large', limit: 1_048_576 },
          })
        : route.continue(),
    )
    await mika.write('too long')
    await mika.untilStatus('refused')
    await mika.page.getByText('it is too long to be saved. The server accepts 1 MB.').waitFor()
    expect(await mika.isWritable()).toBe(true)
  })

  it('a shorter text is accepted, and then the holder is signed out', async () => {
    shown = '16-signed-out'
    await mika.page.unrouteAll()
    await mika.write('short')
    await mika.untilStatus('saved')
    await mika.page.route('**/api/documents/**', (route) =>
      route.fulfill({ status: 401, json: { error: 'unauthenticated', message: 'sign in' } }),
    )
    await mika.write('typed while signed out')
    await mika.untilBanner('You are signed out. Sign in before the time is up to continue editing.')
    await mika.untilStatus('dirty')
    expect(await mika.isWritable()).toBe(true)
  })

  it('the holder is back, and what was typed is saved', async () => {
    shown = '17-signed-in'
    await mika.page.unrouteAll()
    await mika.untilStatus('saved')
    await mika.until('held')
    await ken.untilText('typed while signed out')
  })

  it('a reader has no connection', async () => {
    shown = '18-offline-reader'
    ken.network.cut()
    await ken.untilBanner('接続が切れています。つなぎ直しています。')
    expect(await ken.text()).toBe('typed while signed out')
  })

  it('text that was typed before a crash is there again, and saved when one edits again', async () => {
    shown = '19-after-a-crash'
    ken.network.mend()
    await ken.until('read-only')
    mika.network.cut()
    await mika.write('typed before the crash')
    const copy = () => mika.page.evaluate(() => JSON.stringify(localStorage))
    await expect.poll(copy).toContain('typed before the crash')
    await mika.page.goto('chrome://crash').catch(() => {})
    await mika.page.close()
    server.pass(TTL_MS)
    await ken.until('idle')
    mika.network.mend()
    mika = await mika.openAgain()
    await mika.page.setViewportSize(DESKTOP)
    await mika.untilStatus('kept')
    await mika.page.getByText('They are saved when you edit again.').waitFor()
    await mika.untilText('typed before the crash')
  })

  it('it is saved', async () => {
    shown = '20-after-the-crash'
    await mika.edit()
    await mika.untilStatus('saved')
    await ken.untilText('typed before the crash')
  })

  it('the server refuses to lock', async () => {
    shown = '21-error'
    await mika.press('Stop editing')
    await ken.page.route('**/lock*', (route) =>
      route.fulfill({ status: 403, json: { error: 'forbidden', message: 'not allowed' } }),
    )
    await ken.press('編集する')
    await ken.untilBanner('この文書は編集できません。')
    await ken.page.unrouteAll()
  })

  it('the stored text is damaged', async () => {
    shown = '22-unreadable'
    server.damage(ROOM)
    await mika.page.reload()
    await mika.untilStatus('unreadable')
    await mika.page.getByText('The stored text cannot be read.').waitFor()
  })
})

it('a long name is shown whole on a phone', async () => {
  await using server = await servePages()
  const browser = await launchChromium()
  onTestFinished(() => browser.close())
  const opened = await EditorWindow.open(browser, server, ROOM, 'Alexandra Konstantinou')
  onTestFinished(() => opened.close())
  await opened.page.setViewportSize({ width: 390, height: 844 })
  const field = opened.page.getByLabel('Your name')
  expect(await field.evaluate((input) => input.scrollWidth <= input.clientWidth)).toBe(true)
})
