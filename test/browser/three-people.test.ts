import type { BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchChromium } from './chromium.ts'
import { EditorWindow } from './editor-window.ts'
import { type PagesServer, servePages } from './pages-server.ts'
import { accessibilityProblems, keepPictures } from './screens.ts'

const ROOM = 'minutes'
const NAMES = ['Mika', 'Jonas', 'Aoi'] as const
type Name = (typeof NAMES)[number]

/** What everybody sees in one moment of the story. */
interface Moment {
  /** What the banner says to each. */
  readonly banners: Readonly<Record<Name, string>>
  readonly editing?: Name
  /** The waiters, the next one first. The others read. */
  readonly line?: readonly Name[]
  /** Whose page calls, in its title and icon. */
  readonly called?: Name
}

/** One story from the first to the last step: after each, what all three see. */
describe('an hour with three people and one document', () => {
  let browser: BrowserContext
  let server: PagesServer
  let mika: EditorWindow
  let jonas: EditorWindow
  let aoi: EditorWindow
  /** Where Mika edits, when she goes on in another tab. */
  let second: EditorWindow | undefined
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

  async function all(name: string, moment: Moment): Promise<void> {
    for (const [who, window] of [
      ['Mika', mika],
      ['Jonas', jonas],
      ['Aoi', aoi],
    ] as const) {
      await window.untilBanner(moment.banners[who])
      const isCalled = moment.called === who
      const seen = async () => ({
        people: (await peopleOf(window)).sort(),
        isWritable: await window.isWritable(),
        isCalled: (await window.page.title()).startsWith('●'),
        icon: await iconOf(window),
      })
      await expect.poll(seen, { message: `${name}: what ${who} sees` }).toEqual({
        people: NAMES.map((person) => doing(person, who, moment)).sort(),
        isWritable: moment.editing === who && !second,
        isCalled,
        icon: isCalled ? './icon-asking.svg' : './icon.svg',
      })
      expect(await accessibilityProblems(window.page), `${name}: ${who}`).toEqual([])
      await keepPictures(window.page, `60-${name}-${who.toLowerCase()}`)
    }
  }

  it('an hour with three people begins with three readers, who see each other', async () => {
    await all('readers', {
      banners: { Mika: 'Nobody is editing.', Jonas: 'Nobody is editing.', Aoi: 'Nobody is editing.' },
    })
  })

  it('an hour with three people: one edits, two wait in line, and everybody knows the places', async () => {
    await mika.edit()
    await mika.write('Mika: opens')
    for (const window of [jonas, aoi]) await window.untilText('Mika: opens')
    await jonas.press('Wait in line')
    await jonas.untilBanner('You are next.')
    await aoi.press('Wait in line')
    await all('queue', {
      banners: {
        Mika: 'You are editing. In line: Jonas and 1 more.',
        Jonas: 'You are next.',
        Aoi: '1 before you.',
      },
      editing: 'Mika',
      line: ['Jonas', 'Aoi'],
    })
  })

  it('an hour with three people: the last one asks, the holder is called, and the first one hears of it', async () => {
    await aoi.press('Ask for it')
    await all('asked', {
      banners: {
        Mika: 'Aoi would like to edit. In line before them: Jonas. Hand over?',
        Jonas: 'Aoi has asked to edit before you. You are next.',
        Aoi: 'You have asked Mika to hand over. 1 before you.',
      },
      editing: 'Mika',
      line: ['Jonas', 'Aoi'],
      called: 'Mika',
    })
  })

  it('an hour with three people: the holder takes two minutes, and then keeps the document', async () => {
    await mika.press('Give me 2 minutes')
    await all('two-minutes', {
      banners: {
        Mika: 'You are editing. Aoi waits for you to hand over.',
        Jonas: 'Aoi has asked to edit before you.',
        Aoi: 'Mika has asked you for a little more time.',
      },
      editing: 'Mika',
      line: ['Jonas', 'Aoi'],
    })
    await mika.passTime(120_000)
    await mika.untilBanner('Aoi would like to edit.')
    await mika.press('Keep editing')
    await all('kept', {
      banners: {
        Mika: 'You are editing. In line: Jonas and 1 more.',
        Jonas: 'You are next.',
        Aoi: 'Mika would like to go on editing. 1 before you.',
      },
      editing: 'Mika',
      line: ['Jonas', 'Aoi'],
    })
  })

  it('an hour with three people: the holder goes to lunch, is asked, and the first in line has every word', async () => {
    await mika.write('Mika: opens\nMika: lunch')
    await mika.passTime(300_000)
    await all('idle', {
      banners: {
        Mika: 'Still editing? Jonas would like to. Your text will be saved.',
        Jonas: 'You are next.',
        Aoi: '1 before you.',
      },
      editing: 'Mika',
      line: ['Jonas', 'Aoi'],
      called: 'Mika',
    })
    await mika.passTime(30_000)
    await jonas.until('held')
    await jonas.untilText('Mika: opens\nMika: lunch')
    await all('lunch', {
      banners: {
        Mika: 'You were away, so you have handed over. Jonas is editing',
        Jonas: 'You are editing. In line: Aoi.',
        Aoi: 'You are next.',
      },
      editing: 'Jonas',
      line: ['Aoi'],
    })
  })

  it('an hour with three people: one asks and gets it, past a waiter', async () => {
    await jonas.write('Mika: opens\nMika: lunch\nJonas: agrees')
    await mika.press('Ask for it')
    await all('past', {
      banners: {
        Mika: 'You have asked Jonas to hand over.',
        Jonas: 'Mika would like to edit. In line before them: Aoi. Hand over?',
        Aoi: 'Mika has asked to edit before you. You are next.',
      },
      editing: 'Jonas',
      line: ['Aoi'],
      called: 'Jonas',
    })
    await jonas.press('Hand over')
    await mika.until('held')
    await mika.untilText('Mika: opens\nMika: lunch\nJonas: agrees')
    await all('handed-over', {
      banners: { Mika: 'You are editing. In line: Aoi.', Jonas: 'Mika is editing', Aoi: 'You are next.' },
      editing: 'Mika',
      line: ['Aoi'],
    })
  })

  it('an hour with three people: one goes on in another tab, and the others see the same person', async () => {
    second = await mika.openAgain()
    await second.untilBanner('You are editing this in another tab.')
    await second.press('Edit here')
    await second.until('held')
    expect(await second.isWritable()).toBe(true)
    expect(await peopleOf(second)).toContain('You are editing')
    await all('own-tab', {
      banners: {
        Mika: 'You are editing this in another tab.',
        Jonas: 'Mika is editing',
        Aoi: 'Mika is editing',
      },
      editing: 'Mika',
      line: ['Aoi'],
    })
  })

  it('an hour with three people ends when the last one has had her turn, and no word is lost', async () => {
    await second?.write('Mika: opens\nMika: lunch\nJonas: agrees\nMika: closes')
    await second?.press('Stop editing')
    await aoi.until('held')
    await aoi.untilText('Mika: opens\nMika: lunch\nJonas: agrees\nMika: closes')
    await aoi.write('Mika: opens\nMika: lunch\nJonas: agrees\nMika: closes\nAoi: thanks')
    await aoi.press('Stop editing')
    await all('end', {
      banners: { Mika: 'Nobody is editing.', Jonas: 'Nobody is editing.', Aoi: 'Nobody is editing.' },
    })
    for (const window of [mika, jonas, aoi, second])
      await window?.untilText('Mika: opens\nMika: lunch\nJonas: agrees\nMika: closes\nAoi: thanks')
  })
})

/** In the words that the reader hears. */
function doing(person: Name, reader: Name, { editing, line = [] }: Moment): string {
  const is = person === reader ? 'You are' : `${person} is`
  if (person === editing) return `${is} editing`
  return line.includes(person) ? `${is} number ${line.indexOf(person) + 1} in line` : `${is} reading`
}

function peopleOf({ page }: EditorWindow): Promise<string[]> {
  return page.locator('.hf-banner .hf-people .hf-hidden').allTextContents()
}

function iconOf({ page }: EditorWindow): Promise<string | null | undefined> {
  return page.evaluate(() => document.querySelector('link[rel~="icon"]')?.getAttribute('href'))
}
