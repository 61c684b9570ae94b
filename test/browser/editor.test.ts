import type { BrowserContext } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { launchChromium } from './chromium.ts'
import { EditorWindow } from './editor-window.ts'
import { GRACE_MS, type PagesServer, servePages, TTL_MS } from './pages-server.ts'
import { slowestBeside } from './slowest-beside.ts'

const AT_ONCE_MS = 1000

describe('the editor in windows of Chromium', () => {
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
  /** Windows on one new document, one for each name. */
  async function open(...names: string[]): Promise<EditorWindow[]> {
    const room = `room-${++rooms}`
    const opened = await Promise.all(names.map((name) => EditorWindow.open(browser, server, room, name)))
    windows.push(...opened)
    return opened
  }
  /** For the server, and for the one that cannot reach it. */
  async function passTtl(alone: EditorWindow): Promise<void> {
    server.pass(TTL_MS)
    await alone.passTime(TTL_MS)
  }
  async function openTwo(): Promise<[EditorWindow, EditorWindow]> {
    const [mika, ken] = await open('Mika', 'Ken')
    if (!mika || !ken) throw new Error('no windows')
    return [mika, ken]
  }

  /**
   * What goes at once from one window through the server to the other takes at most this time, beside the bare
   * way: a request of the one, and then a look at the other.
   */
  async function atOnce(work: Promise<unknown>, from: EditorWindow, to: EditorWindow): Promise<number> {
    const slowest = await slowestBeside(work, async () => {
      await from.page.evaluate(() => fetch('/healthz').then((answer) => answer.text()))
      await to.page.evaluate(() => document.readyState)
    })
    return AT_ONCE_MS + 10 * slowest
  }

  it('shows who edits, and the text as it is saved, to the other', async () => {
    const [mika, ken] = await openTwo()
    await mika.edit()
    await ken.until('read-only')
    expect(await ken.banner()).toMatch(/^Mika is editing, since \d\d:\d\d\. Wait in line or ask for it\.$/)
    await mika.write('minutes')
    await ken.untilText('minutes')
    expect(await ken.isWritable()).toBe(false)
  })

  it('the editor in windows of Chromium saves more than a request may carry that goes on when the page is left', async () => {
    const [mika] = await open('Mika')
    await mika?.edit()
    await mika?.write('あ'.repeat(25_000))
    await mika?.untilStatus('saved')
  })

  it('the editor in windows of Chromium works on plain http, where browsers offer less', async () => {
    const page = await browser.newPage()
    await page.goto(`http://plain.test:${server.port}/#plain`)
    expect(await page.evaluate(() => globalThis.isSecureContext)).toBe(false)
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.locator('.paper .cm-content[contenteditable=true]').fill('minutes')
    await page.waitForSelector('[data-status="saved"][data-empty="false"]')
    await page.close()
  })

  it('the editor in windows of Chromium works where the browser refuses storage, and keeps unsaved text while the page is open', async () => {
    const page = await browser.newPage()
    await page.addInitScript(() =>
      Object.defineProperty(globalThis, 'localStorage', {
        get() {
          throw new DOMException('refused', 'SecurityError')
        },
      }),
    )
    await page.goto(`${server.url}/#no-storage`)
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.route('**/api/documents/*', (route) =>
      route.request().method() === 'PUT' ? route.abort() : route.continue(),
    )
    await page.locator('.paper .cm-content[contenteditable=true]').fill('not saved')
    await page.waitForSelector('[data-status="dirty"]')
    await page.evaluate(() => {
      location.hash = 'another'
    })
    await page.getByRole('heading', { name: 'another' }).waitFor()
    await page.getByRole('link', { name: 'no-storage' }).click()
    await page.waitForSelector('[data-status="kept"]')
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.waitForSelector('[data-status="saved"][data-empty="false"]')
    expect(await page.locator('.paper .cm-content').innerText()).toBe('not saved')
    await page.close()
  })

  it('the editor in windows of Chromium gives the document to the waiters in the order of the queue', async () => {
    const [mika, ken, ria] = await open('Mika', 'Ken', 'Ria')
    if (!mika || !ken || !ria) throw new Error('no windows')
    await mika.edit()
    for (const waiting of [ken, ria]) {
      await waiting.until('read-only')
      await waiting.press('Wait in line')
      await waiting.until('waiting')
    }
    await ria.page.getByText('1 before you').waitFor()
    await mika.press('Stop editing')
    await ken.until('held')
    await ria.page.getByText('You are next').waitFor()
    await ken.press('Stop editing')
    await ria.until('held')
  })

  it('the editor in windows of Chromium asks the holder, who declines, and then hands over with everything saved', async () => {
    const [mika, ken] = await openTwo()
    await mika.edit()
    await ken.until('read-only')
    await ken.press('Ask for it')
    await mika.press('Keep editing')
    await ken.page.getByText('Mika would like to go on editing').waitFor()
    await mika.write('the last word')
    await ken.press('Ask for it')
    await mika.press('Hand over')
    await ken.until('held')
    await ken.untilText('the last word')
    await mika.until('read-only')
  })

  it('the editor in windows of Chromium tells the holder of a takeover at once, and keeps what it had', async () => {
    const [mika, ken] = await openTwo()
    await mika.edit()
    await mika.write('mine')
    await mika.untilStatus('saved')
    await ken.until('read-only')
    await ken.press('Take over')
    await ken.untilBanner('Take over from Mika?')
    expect(await mika.banner()).toContain('You are editing')
    const pressed = performance.now()
    const told = Promise.all([ken.press('Take over'), mika.untilBanner('Ken is taking over')])
    const [toldAfter, limit] = await Promise.all([
      told.then(() => performance.now() - pressed),
      atOnce(told, ken, mika),
    ])
    console.log(`takeover told after ${toldAfter.toFixed(0)} of ${limit.toFixed(0)} ms`)
    expect(toldAfter).toBeLessThan(limit)
    await mika.until('held')
    server.pass(GRACE_MS)
    await Promise.all([ken.until('held'), mika.until('lost')])
    expect(await mika.text()).toBe('mine')
  })

  it('the editor in windows of Chromium frees the document at once when the tab is closed', async () => {
    const [mika, ken] = await openTwo()
    await mika.edit()
    await ken.until('read-only')
    const freed = ken.until('idle')
    const [after, limit] = await Promise.all([freed, atOnce(freed, ken, ken), mika.page.close()])
    console.log(`free ${after.toFixed(0)} of ${limit.toFixed(0)} ms after the tab was closed`)
    expect(after).toBeLessThan(limit)
  })

  it('the editor in windows of Chromium asks before a tab with unsaved text is closed, and does not when all is saved', async () => {
    const [mika] = await openTwo()
    await mika.page.route('**/api/documents/*', (route) =>
      route.request().method() === 'PUT' ? route.abort() : route.continue(),
    )
    // Its click counts: browsers ask only where a person has done something.
    await mika.edit()
    await mika.write('not saved')
    await mika.untilStatus('dirty')
    expect(await mika.leave()).toBe('beforeunload')
    await mika.page.unrouteAll()
    await mika.untilStatus('saved')
    expect(await mika.leave()).toBeUndefined()
  })

  it('the editor in windows of Chromium frees the document with its TTL when the tab crashes', async () => {
    const [mika, ken] = await openTwo()
    await mika.edit()
    await ken.until('read-only')
    await mika.page.goto('chrome://crash').catch(() => {})
    server.pass(TTL_MS / 2)
    await ken.page.reload()
    await ken.until('read-only')
    const freed = ken.until('idle')
    // The last heartbeat may have come after the first half.
    server.pass(TTL_MS)
    const [after, limit] = await Promise.all([freed, atOnce(freed, ken, ken)])
    console.log(`free ${after.toFixed(0)} of ${limit.toFixed(0)} ms after the TTL of a tab that crashed`)
    expect(after).toBeLessThan(limit)
  })

  it('the editor in windows of Chromium goes on with the same lock after a short loss of the network', async () => {
    const [mika, ken] = await openTwo()
    await mika.edit()
    const token = await mika.token()
    mika.network.cut()
    await mika.write('written without a network')
    await mika.untilStatus('dirty')
    mika.network.mend()
    await mika.untilStatus('saved')
    await mika.until('held')
    expect(await mika.token()).toBe(token)
    await ken.untilText('written without a network')
  })

  it('says that the lock is lost when the network is cut for long, and saves the text when one edits again', async () => {
    const [mika, ken] = await openTwo()
    await mika.edit()
    mika.network.cut()
    await mika.write('nobody followed')
    await passTtl(mika)
    await mika.until('lost')
    await mika.untilBanner('You are no longer editing.')
    await ken.until('idle')
    mika.network.mend()
    await mika.press('Edit again')
    await mika.untilStatus('saved')
    await ken.untilText('nobody followed')
  })

  it('the editor in windows of Chromium does not save over what another wrote meanwhile, not even when one edits again', async () => {
    const [mika, ken] = await openTwo()
    await mika.edit()
    mika.network.cut()
    await mika.write('mine')
    await passTtl(mika)
    await mika.until('lost')
    await ken.until('idle')
    await ken.edit()
    await ken.write('theirs')
    await ken.untilStatus('saved')
    await ken.press('Stop editing')
    mika.network.mend()
    await mika.untilStatus('conflict')
    await mika.press('Edit again')
    await mika.until('held')
    expect(await ken.text()).toBe('theirs')
    await mika.press('Save mine')
    await ken.untilText('mine')
  })

  it('the editor in windows of Chromium merges what two people wrote in different places, without a question', async () => {
    const [mika, ken] = await openTwo()
    await mika.edit()
    await mika.write('one\ntwo\nthree')
    await mika.untilStatus('saved')
    mika.network.cut()
    await mika.write('ONE\ntwo\nthree')
    await passTtl(mika)
    await mika.until('lost')
    await ken.until('idle')
    await ken.edit()
    await ken.write('one\ntwo\nTHREE')
    await ken.untilStatus('saved')
    await ken.press('Stop editing')
    mika.network.mend()
    await mika.page.getByText('both are merged and saved').waitFor()
    await mika.press('Edit again')
    await Promise.all([mika, ken].map((window) => window.untilText('ONE\ntwo\nTHREE')))
  })

  it('the editor in windows of Chromium saves before it opens another document, so that a waiter starts from the last words', async () => {
    const [mika, ken] = await openTwo()
    await mika.edit()
    await ken.until('read-only')
    await ken.press('Wait in line')
    await ken.until('waiting')
    await mika.write('the last words')
    await mika.page.evaluate(() => {
      location.hash = 'another'
    })
    await ken.until('held')
    await ken.untilText('the last words')
    await mika.page.goBack()
    await mika.untilStatus('saved')
    await mika.untilText('the last words')
    const copies = () => mika.page.evaluate(() => Object.keys(localStorage).join())
    await expect.poll(copies).not.toContain('unsaved')
    expect(await mika.page.locator('.kept').count()).toBe(0)
  })

  it('the editor in windows of Chromium keeps a long text through a crash, too', async () => {
    const [mika] = await open('Mika')
    if (!mika) throw new Error('no window')
    const long = 'あ'.repeat(25_000)
    await mika.edit()
    await mika.page.route('**/api/documents/*', (route) =>
      route.request().method() === 'PUT' ? route.abort() : route.continue(),
    )
    await mika.write(long)
    const archived = () =>
      mika.page.evaluate(
        () =>
          new Promise((resolve, reject) => {
            const opening = indexedDB.open('holdfast-unsaved')
            opening.onerror = () => reject(opening.error)
            opening.onsuccess = () => {
              const all = opening.result.transaction('copies').objectStore('copies').getAll()
              all.onsuccess = () => resolve(JSON.stringify(all.result).length)
            }
          }),
      )
    await expect.poll(archived).toBeGreaterThan(long.length)
    await mika.page.goto('chrome://crash').catch(() => {})
    await mika.page.close()
    server.pass(TTL_MS)
    const again = await mika.openAgain()
    windows.push(again)
    await again.untilStatus('kept')
    await again.edit()
    await again.page.waitForSelector('[data-status="saved"][data-empty="false"]')
    const saved = await again.page.evaluate(async (room) => {
      const answer = await fetch(`/api/documents/${room}`)
      return (await answer.json()).content
    }, `room-${rooms}`)
    expect(saved).toBe(long)
  })

  it('the editor in windows of Chromium refuses a stale save, keeps the text and offers it', async () => {
    const [mika, ken] = await openTwo()
    await mika.edit()
    await mika.write('first')
    await mika.untilStatus('saved')
    mika.network.cut()
    await mika.write('first, and more')
    await ken.until('read-only')
    const grace = server.untilTold('document.takeover-requested')
    await ken.press('Take over')
    await ken.press('Take over')
    await grace
    server.pass(GRACE_MS)
    await ken.until('held')
    await ken.write('second')
    await ken.untilStatus('saved')
    mika.network.mend()
    await mika.untilStatus('conflict')
    expect(await mika.text()).toBe('first, and more')
    expect(await ken.text()).toBe('second')
    await mika.press('Compare')
    await mika.page.getByRole('textbox', { name: 'Stored' }).getByText('second').waitFor()
    await mika.press('Take theirs')
    await mika.untilText('second')
    await mika.press('Bring mine back')
    await mika.untilText('first, and more')
    expect(await ken.text()).toBe('second')
  })

  it('the editor in windows of Chromium keeps the lock through a restart of the server, and shows no trouble when that is over', async () => {
    const [mika] = await openTwo()
    await mika.edit()
    const token = await mika.token()
    await server.restart()
    await mika.write('after the restart')
    await mika.untilStatus('saved')
    await mika.until('held')
    expect(await mika.token()).toBe(token)
    await mika.untilBanner('You are editing. Others can read.')
    await expect.poll(() => mika.banner()).not.toContain('No connection')
  })

  it('the editor in windows of Chromium shows trouble while the server does not answer, and never calls that editing', async () => {
    const [mika] = await openTwo()
    await mika.edit()
    mika.network.cut()
    await mika.until('troubled')
    expect(await mika.banner()).toContain('Connection trouble. You can keep typing.')
    await mika.write('written in trouble')
    mika.network.mend()
    await mika.until('held')
    await mika.untilStatus('saved')
  })

  it('the editor in windows of Chromium keeps the lock in a hidden tab, whose timers the browser holds back', async () => {
    const [mika, ken] = await openTwo()
    await mika.edit()
    await ken.until('read-only')
    await mika.holdTimersBack()
    const expiresAt = async () =>
      (await server.store.read([`document:room-${rooms}`]))[0]?.[0]?.expiresAt ?? 0
    for (let beats = 0; beats < 4; beats++) {
      const before = await expiresAt()
      await expect.poll(expiresAt).toBeGreaterThan(before)
    }
    expect(await ken.page.locator('.hf-banner').getAttribute('data-phase')).toBe('read-only')
    await mika.until('held')
  })

  it('works by keyboard, and speaks changes once: politely, and loss assertively', async () => {
    const [mika, ken] = await openTwo()
    expect(await mika.pressByKeyboard('Edit')).toBe('solid')
    await mika.until('held')
    await expect.poll(() => mika.document.evaluate((text) => text === document.activeElement)).toBe(true)
    await expect
      .poll(() => mika.page.locator('.hf-banner [role=status]').textContent())
      .toBe('You are editing. Others can read.')
    await ken.until('read-only')
    expect(await ken.pressByKeyboard('Take over')).toBe('solid')
    await ken.untilBanner('Take over from Mika?')
    await ken.pressByKeyboard('Take over')
    await mika.untilBanner('Ken is taking over')
    server.pass(GRACE_MS)
    await mika.until('lost')
    await expect
      .poll(() => mika.page.locator('.hf-banner [role=alert]').textContent())
      .toContain('Ken is editing now')
  })

  it('the editor in windows of Chromium has one connection for one window', async () => {
    await openTwo()
    await expect.poll(() => server.sockets()).toBe(2)
  })

  it('the editor in windows of Chromium moves nothing when a person wants that', async () => {
    const [mika] = await openTwo()
    const motion = () =>
      mika.page
        .locator('.hf-banner')
        .evaluate((banner) => getComputedStyle(banner).getPropertyValue('--hf-motion'))
    expect(await motion()).toMatch(/^(150ms|.15s) /)
    await mika.page.emulateMedia({ reducedMotion: 'reduce' })
    expect(await motion()).toMatch(/^0m?s$/)
  })

  it('the editor in windows of Chromium speaks Japanese, dark, on a phone', async () => {
    const [mika] = await openTwo()
    await mika.page.setViewportSize({ width: 360, height: 740 })
    await mika.page.getByLabel('Language / 言語').selectOption('ja')
    await mika.page.getByLabel('配色').selectOption('dark')
    await mika.page.getByRole('button', { name: '編集する', exact: true }).click()
    await mika.page.getByText('あなたが編集中です').waitFor()
    const { scrollWidth, dark } = await mika.page.evaluate(() => ({
      scrollWidth: document.documentElement.scrollWidth,
      dark: getComputedStyle(document.body).backgroundColor,
    }))
    expect(scrollWidth).toBeLessThanOrEqual(360)
    expect(dark).toBe('rgb(17, 20, 22)')
  })
  it('the editor in windows of Chromium says which part could not be loaded, and loads it after that', async () => {
    const part = '**/code-editor-*.js'
    await browser.route(part, (route) => route.abort())
    const [mika] = await openTwo()
    await mika.page.getByText('could not be loaded').waitFor()
    await mika.page.getByText('Nobody is editing').waitFor()
    await browser.unroute(part)
    await mika.page.getByRole('button', { name: 'Reload the page' }).click()
    await mika.page.locator('.cm-content').waitFor()
  })
})
