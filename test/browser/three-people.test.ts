import type { BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchChromium } from './chromium.ts'
import { EditorWindow } from './editor-window.ts'
import { type PagesServer, servePages } from './pages-server.ts'
import { accessibilityProblems, keepPictures } from './screens.ts'

const ROOM = 'minutes'

/** One story from the first to the last step: after each, what all three see. */
describe('an hour with three people and one document', () => {
  let browser: BrowserContext
  let server: PagesServer
  let mika: EditorWindow
  let jonas: EditorWindow
  let aoi: EditorWindow
  let second: EditorWindow
  beforeAll(async () => {
    server = await servePages()
    browser = await launchChromium()
    mika = await EditorWindow.open(browser, server, ROOM, 'Mika')
    jonas = await EditorWindow.open(browser, server, ROOM, 'Jonas')
    aoi = await EditorWindow.open(browser, server, ROOM, 'Aoi')
    for (const { page } of [mika, jonas, aoi]) await page.emulateMedia({ reducedMotion: 'reduce' })
  })
  afterAll(async () => {
    await second?.page.close()
    await Promise.all([mika, jonas, aoi].map((window) => window?.close()))
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
  })

  const peopleOf = ({ page }: EditorWindow) =>
    page.locator('.hf-banner .hf-people .hf-hidden').allTextContents()
  /** What the banner says to each, who is in view, and whose page calls in its title. */
  async function all(
    name: string,
    banners: { readonly mika: string; readonly jonas: string; readonly aoi: string },
    called: EditorWindow | null = null,
  ): Promise<void> {
    for (const [who, window] of Object.entries({ mika, jonas, aoi })) {
      await window.untilBanner(banners[who as keyof typeof banners])
      await expect
        .poll(async () => (await window.page.title()).startsWith('●'), {
          message: `${name}: the title of ${who}`,
        })
        .toBe(window === called)
      expect(await accessibilityProblems(window.page), `${name}: ${who}`).toEqual([])
      await expect
        .poll(async () =>
          (await window.page.locator('.hf-banner .hf-avatar').allTextContents()).sort().join(' '),
        )
        .toMatch(/^A\d? J\d? M\d?$/)
      await keepPictures(window.page, `60-${name}-${who}`)
    }
  }

  it('an hour with three people begins with three readers, who see each other', async () => {
    await all('readers', {
      mika: 'Nobody is editing.',
      jonas: 'Nobody is editing.',
      aoi: 'Nobody is editing.',
    })
    for (const window of [mika, jonas, aoi])
      await expect.poll(async () => (await peopleOf(window)).length).toBe(3)
    await expect
      .poll(async () => (await peopleOf(aoi)).sort())
      .toEqual(['Jonas is reading', 'Mika is reading', 'You are reading'])
  })

  it('an hour with three people: one edits, two wait in line, and everybody knows the places', async () => {
    await mika.edit()
    await mika.write('Mika: opens')
    for (const window of [jonas, aoi]) await window.untilText('Mika: opens')
    await jonas.press('Wait in line')
    await jonas.untilBanner('You are next.')
    await aoi.press('Wait in line')
    await all('queue', {
      mika: 'You are editing. In line: Jonas and 1 more.',
      jonas: 'You are next.',
      aoi: '1 before you.',
    })
    expect(await peopleOf(mika)).toEqual([
      'You are editing',
      'Jonas is number 1 in line',
      'Aoi is number 2 in line',
    ])
    expect(await peopleOf(aoi)).toEqual([
      'Mika is editing',
      'Jonas is number 1 in line',
      'You are number 2 in line',
    ])
  })

  it('an hour with three people: the last one asks, the holder is called, and the first one hears of it', async () => {
    await aoi.press('Ask for it')
    await all(
      'asked',
      {
        mika: 'Aoi would like to edit. In line before them: Jonas. Hand over?',
        jonas: 'Aoi has asked to edit before you. You are next.',
        aoi: 'You have asked Mika to hand over. 1 before you.',
      },
      mika,
    )
  })

  it('an hour with three people: the holder takes two minutes, and then keeps the document', async () => {
    await mika.press('Give me 2 minutes')
    await all('two-minutes', {
      mika: 'You are editing. Aoi waits for you to hand over.',
      jonas: 'Aoi has asked to edit before you.',
      aoi: 'Mika has asked you for a little more time.',
    })
    await mika.passTime(120_000)
    await mika.untilBanner('Aoi would like to edit.')
    await mika.press('Keep editing')
    await all('kept', {
      mika: 'You are editing. In line: Jonas and 1 more.',
      jonas: 'You are next.',
      aoi: 'Mika would like to go on editing. 1 before you.',
    })
  })

  it('an hour with three people: the holder goes to lunch, is asked, and the first in line has every word', async () => {
    await mika.write('Mika: opens\nMika: lunch')
    await mika.passTime(300_000)
    await all(
      'idle',
      {
        mika: 'Still editing? Jonas would like to. Your text will be saved.',
        jonas: 'You are next.',
        aoi: '1 before you.',
      },
      mika,
    )
    await mika.passTime(30_000)
    await jonas.until('held')
    await jonas.untilText('Mika: opens\nMika: lunch')
    await all('lunch', {
      mika: 'You were away, so you have handed over. Jonas is editing',
      jonas: 'You are editing. In line: Aoi.',
      aoi: 'You are next.',
    })
  })

  it('an hour with three people: one asks and gets it, past the one who waits', async () => {
    await jonas.write('Mika: opens\nMika: lunch\nJonas: agrees')
    await mika.press('Ask for it')
    await all(
      'past',
      {
        mika: 'You have asked Jonas to hand over.',
        jonas: 'Mika would like to edit. In line before them: Aoi. Hand over?',
        aoi: 'Mika has asked to edit before you. You are next.',
      },
      jonas,
    )
    await jonas.press('Hand over')
    await mika.until('held')
    await mika.untilText('Mika: opens\nMika: lunch\nJonas: agrees')
    await all('handed-over', {
      mika: 'You are editing. In line: Aoi.',
      jonas: 'Mika is editing',
      aoi: 'You are next.',
    })
  })

  it('an hour with three people: one goes on in another tab, and the others see the same person', async () => {
    second = await mika.openAgain()
    await second.untilBanner('You are editing this in another tab.')
    await second.press('Edit here')
    await second.until('held')
    await all('own-tab', {
      mika: 'You are editing this in another tab.',
      jonas: 'Mika is editing',
      aoi: 'Mika is editing',
    })
    expect(await peopleOf(jonas)).toEqual(['Mika is editing', 'Aoi is number 1 in line', 'You are reading'])
  })

  it('an hour with three people ends when the last one has had her turn, and no word is lost', async () => {
    await second.write('Mika: opens\nMika: lunch\nJonas: agrees\nMika: closes')
    await second.press('Stop editing')
    await aoi.until('held')
    await aoi.untilText('Mika: opens\nMika: lunch\nJonas: agrees\nMika: closes')
    await aoi.write('Mika: opens\nMika: lunch\nJonas: agrees\nMika: closes\nAoi: thanks')
    await aoi.press('Stop editing')
    await all('end', { mika: 'Nobody is editing.', jonas: 'Nobody is editing.', aoi: 'Nobody is editing.' })
    for (const window of [mika, jonas, aoi, second])
      await window.untilText('Mika: opens\nMika: lunch\nJonas: agrees\nMika: closes\nAoi: thanks')
  })
})
