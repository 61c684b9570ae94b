import type { BrowserContext, Dialog, Frame, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { type CuttableProxy, cuttableProxy } from '../../src/testing/node/cuttable-proxy.ts'
import type { PagesServer } from './pages-server.ts'

/** Each has cookies of its own. */
let people = 0

/** One window of the editor: another person than in the other windows, on a network of its own. */
export class EditorWindow {
  readonly page: Page
  readonly network: CuttableProxy
  /** The page, or the frame in it that shows this person. */
  readonly body: Page | Frame

  private constructor(page: Page, network: CuttableProxy, body: Page | Frame = page) {
    this.page = page
    this.network = network
    this.body = body
  }

  static async open(
    browser: BrowserContext,
    server: PagesServer,
    room: string,
    name: string,
    preferences: { readonly lang?: string; readonly theme?: string } = {},
  ): Promise<EditorWindow> {
    const network = await cuttableProxy('127.0.0.1', server.port)
    const { port } = new URL(`http://${network.address}`)
    const page = await browser.newPage()
    await page.addInitScript(
      (kept) => globalThis.localStorage.setItem('holdfast:preferences', kept),
      JSON.stringify({ name, lang: 'en', theme: 'light', ...preferences }),
    )
    await page.goto(`http://person-${++people}.localhost:${port}/${room && `#${room}`}`)
    const opened = new EditorWindow(page, network)
    await opened.page.waitForSelector('.hf-banner')
    return opened
  }

  /** The same document of the same person in another tab. */
  async openAgain(): Promise<EditorWindow> {
    const page = await this.page.context().newPage()
    await page.goto(this.page.url())
    await page.waitForSelector('.hf-banner')
    return this.sibling(page)
  }

  /** Another window of the same browser, on the same network. */
  sibling(page: Page): EditorWindow {
    return new EditorWindow(page, this.network)
  }

  /** Shows a second person beside this one. */
  async splitView(): Promise<EditorWindow> {
    await this.press('Show two people')
    const element = await this.page.waitForSelector('iframe.guest')
    const frame = await element.contentFrame()
    if (!frame) throw new Error('the frame has no page')
    await frame.waitForSelector('.paper .cm-content')
    return new EditorWindow(this.page, this.network, frame)
  }

  /** Waits for a phase of the lock; says how long that took. */
  async until(phase: string): Promise<number> {
    const started = performance.now()
    await this.body.waitForSelector(`.hf-banner[data-phase="${phase}"]`, { state: 'attached' })
    return performance.now() - started
  }

  async press(button: string): Promise<void> {
    await this.body.getByRole('button', { name: button, exact: true }).click()
  }

  /** Presses it without a mouse; says how the focus shows. */
  async pressByKeyboard(button: string): Promise<string> {
    const found = this.body.getByRole('button', { name: button, exact: true })
    while (!(await found.evaluate((element) => element === document.activeElement)))
      await this.page.keyboard.press('Tab')
    const outline = await found.evaluate((element) => getComputedStyle(element).outlineStyle)
    await this.page.keyboard.press('Enter')
    return outline
  }

  async edit(): Promise<void> {
    await this.press('Edit')
    await this.until('held')
  }

  /** The text of the document, in any language of the page. */
  get document(): Locator {
    return this.body.locator('.paper .cm-content')
  }

  /** Replaces the text, as soon as that is allowed. */
  async write(text: string): Promise<void> {
    await this.body.locator('.paper .cm-content[contenteditable=true]').fill(text)
  }

  /** Types over this part of the text, which is in one line. */
  async replaceText(part: string, text: string): Promise<void> {
    await this.body.waitForSelector('.paper .cm-content[contenteditable=true]')
    const line = this.document.locator('.cm-line').filter({ hasText: part })
    await line.evaluate((element, wanted) => {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const at = node.textContent?.indexOf(wanted) ?? -1
        if (at < 0) continue
        const range = document.createRange()
        range.setStart(node, at)
        range.setEnd(node, at + wanted.length)
        element.closest<HTMLElement>('.cm-content')?.focus()
        getSelection()?.removeAllRanges()
        getSelection()?.addRange(range)
      }
    }, part)
    await this.page.keyboard.insertText(text)
  }

  isWritable(): Promise<boolean> {
    return this.document.evaluate((element) => (element as HTMLElement).isContentEditable)
  }

  async untilStatus(status: string): Promise<void> {
    await this.body.waitForSelector(`[data-status="${status}"]`)
  }

  async untilText(text: string): Promise<void> {
    await expect.poll(() => this.text()).toBe(text)
  }

  text(): Promise<string> {
    return this.document.evaluate((element) => {
      const lines = element.cloneNode(true) as HTMLElement
      lines.querySelector('.cm-placeholder')?.remove()
      return Array.from(lines.querySelectorAll('.cm-line'), (line) => line.textContent).join('\n')
    })
  }

  async banner(): Promise<string> {
    return (await this.body.locator('.hf-text').textContent()) ?? ''
  }

  async untilBanner(text: string): Promise<void> {
    await this.body.waitForFunction(
      (wanted) => document.querySelector('.hf-text')?.textContent.includes(wanted),
      text,
      { polling: 20 },
    )
  }

  async token(): Promise<string> {
    return (await this.body.locator('.paper .token').textContent()) ?? ''
  }

  /** What Chrome does to a page that has been hidden for five minutes: its timers run once a minute. */
  async holdTimersBack(): Promise<void> {
    await this.page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { get: () => true })
      const { setTimeout: usual } = globalThis
      globalThis.setTimeout = ((run: () => void, ms = 0) => usual(run, Math.max(ms, 60_000))) as typeof usual
      document.dispatchEvent(new Event('visibilitychange'))
    })
  }

  /** Time passes in which the page did nothing, as when the machine has slept. */
  async passTime(ms: number): Promise<void> {
    await this.page.evaluate((passed) => {
      for (const clock of [Date, performance]) {
        const usual = clock.now.bind(clock)
        clock.now = () => usual() + passed
      }
    }, ms)
  }

  /** Closes the tab as a person does; says what the browser asked, and stays if it asked. */
  async leave(): Promise<string | undefined> {
    const asked = new Promise<Dialog>((resolve) => this.page.once('dialog', resolve))
    const closed = new Promise<undefined>((resolve) => this.page.once('close', () => resolve(undefined)))
    await this.page.close({ runBeforeUnload: true })
    const dialog = await Promise.race([asked, closed])
    await dialog?.dismiss()
    return dialog?.type()
  }

  async close(): Promise<void> {
    await this.page.close()
    await this.network[Symbol.asyncDispose]()
  }
}
