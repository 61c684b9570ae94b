import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { build, type PreviewServer, preview } from 'vite'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { launchChromium } from './chromium.ts'

const configFile = join(import.meta.dirname, '../../examples/autosave/vite.config.ts')

describe('the storyboard', () => {
  let directory: string
  let server: PreviewServer
  let browser: BrowserContext
  const tabs: Page[] = []
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'holdfast-example-'))
    const output = { outDir: directory, emptyOutDir: true }
    await build({ configFile, logLevel: 'warn', build: output })
    server = await preview({ configFile, logLevel: 'warn', build: output, preview: { port: 0, open: false } })
    browser = await launchChromium()
  })
  afterEach(async () => {
    const cleaner = await openTab()
    await Promise.all(tabs.splice(0).map((page) => page !== cleaner && page.close()))
    // The writer of a page that was just closed may keep its file open for a moment.
    await eventually(() => cleaner.evaluate(clearOrigin))
    await cleaner.close()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
    await rm(directory, { recursive: true })
  })

  async function openTab(): Promise<Page> {
    const page = await browser.newPage()
    tabs.push(page)
    await page.goto(server.resolvedUrls?.local[0] ?? '')
    return page
  }
  const title = (page: Page) => page.getByLabel('Title of the story')
  const indicator = (page: Page) => page.locator('.hf-autosave summary')
  const becomes = <T>(read: () => Promise<T>, value: unknown) =>
    eventually(async () => expect(await read()).toEqual(value))
  const saved = (page: Page) =>
    becomes(() => indicator(page).textContent(), expect.stringMatching(/^Saved \d/))

  async function write(page: Page, text: string): Promise<void> {
    await title(page).fill(text)
    await saved(page)
  }

  it('the storyboard saves what is typed, and shows it after a reload', async () => {
    const page = await openTab()
    await page.getByRole('button', { name: 'Add a scene' }).click()
    await page.getByLabel('Scene 1: What happens').fill('A bridge in the fog.')
    await write(page, 'The crossing')
    await page.reload()
    await becomes(() => title(page).inputValue(), 'The crossing')
    expect(await page.getByLabel('Scene 1: What happens').inputValue()).toBe('A bridge in the fog.')
  })

  it('the storyboard keeps what was typed right before a reload', async () => {
    const page = await openTab()
    await write(page, 'Saved')
    await title(page).fill('Typed at the last moment')
    await page.reload()
    await becomes(() => title(page).inputValue(), 'Typed at the last moment')
    await saved(page)
  })

  it('the storyboard is read-only in a second tab until the first tab is closed', async () => {
    const first = await openTab()
    await write(first, 'Begun')
    const second = await openTab()
    await write(first, 'By the first')
    await becomes(() => indicator(second).textContent(), 'Another tab is editing')
    expect(await title(second).isEditable()).toBe(false)
    expect(await second.getByRole('alert').textContent()).toBe('Another tab is editing')
    await becomes(() => title(second).inputValue(), 'By the first')
    await first.close()
    await becomes(() => title(second).isEditable(), true)
    await becomes(() => title(second).inputValue(), 'By the first')
    await write(second, 'By the second')
  })

  it('the storyboard can be edited in the second tab instead, and nothing is lost', async () => {
    const first = await openTab()
    await write(first, 'Begun')
    const second = await openTab()
    const editHere = second.getByRole('button', { name: 'Edit here' })
    await editHere.waitFor()
    await title(first).fill('Typed a moment ago')
    await editHere.click()
    await becomes(() => title(second).isEditable(), true)
    await becomes(() => title(second).inputValue(), 'Typed a moment ago')
    await becomes(() => title(first).isEditable(), false)
    await write(second, 'By the second')
    await becomes(() => title(first).inputValue(), 'By the second')
  })

  it('the storyboard shows what another tab typed right before it was closed, and saves it', async () => {
    const first = await openTab()
    await write(first, 'Begun')
    const second = await openTab()
    await second.getByRole('button', { name: 'Edit here' }).click()
    await becomes(() => title(second).isEditable(), true)
    await becomes(() => title(first).isEditable(), false)
    await title(second).fill('Typed at the last moment')
    await second.goto('about:blank')
    await becomes(() => title(first).inputValue(), 'Typed at the last moment')
    await saved(first)
    await write(first, 'Typed at the last moment, and more')
    await first.reload()
    await becomes(() => title(first).inputValue(), 'Typed at the last moment, and more')
  })

  it('the storyboard puts the focus into a new scene, so that a space is a space', async () => {
    const page = await openTab()
    await page.getByRole('button', { name: 'Add a scene' }).click()
    await page.keyboard.type('A quiet street at night')
    expect(await page.getByLabel('Scene 1: Where and when').inputValue()).toBe('A quiet street at night')
    expect(await page.locator('.scene').count()).toBe(1)
    await page.getByRole('button', { name: 'Remove' }).click()
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    await becomes(focused, 'Add a scene')
    await saved(page)
  })

  it('the storyboard restores an older version from the history', async () => {
    const page = await openTab()
    await write(page, 'First draft')
    await title(page).fill('Second draft')
    await becomes(() => title(page).inputValue(), 'Second draft')
    await becomes(() => page.locator('.hf-autosave').getAttribute('data-phase'), 'idle')
    await page.getByRole('button', { name: 'History' }).click()
    const dialog = page.getByRole('dialog')
    await becomes(() => dialog.getByRole('listitem').count(), 2)
    await becomes(
      () => dialog.locator('.changes').allTextContents(),
      ['Title: Second draft', 'First version'],
    )
    const inBytes = expect.stringMatching(/^[1-9]\d* B$/)
    expect(await dialog.locator('.size').allTextContents()).toEqual([inBytes, inBytes])
    await dialog.getByRole('button', { name: 'Restore' }).last().click()
    await becomes(() => title(page).inputValue(), 'First draft')
    await becomes(() => dialog.count(), 0)
    await saved(page)
    await page.reload()
    await becomes(() => title(page).inputValue(), 'First draft')
  })

  it('the storyboard speaks Japanese', async () => {
    const page = await openTab()
    await page.getByRole('button', { name: '日本語' }).click()
    await page.getByLabel('作品名').fill('橋を渡る')
    await becomes(() => indicator(page).textContent(), expect.stringMatching(/に保存$/))
    expect(await page.locator('html').getAttribute('lang')).toBe('ja')
  })
})

async function clearOrigin(): Promise<void> {
  const root = await navigator.storage.getDirectory()
  for await (const name of root.keys()) await root.removeEntry(name, { recursive: true })
  localStorage.clear()
}
