import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { type Site, serveModule } from './chromium.ts'
import { type LoadedExtension, loadExtension } from './loaded-extension.ts'

const EXAMPLE = join(import.meta.dirname, '../../examples/extension/src')

describe('the checklist extension', () => {
  let extension: LoadedExtension
  let site: Site
  let options: Page
  let panel: Page
  let page: Page
  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages/empty.ts'))
    extension = await loadExtension(EXAMPLE)
    options = await extension.open('options.html')
    panel = await extension.open('panel.html')
    page = await extension.browser.newPage()
    await page.goto(site.url)
  })
  afterAll(async () => {
    await extension?.[Symbol.asyncDispose]()
    await site?.[Symbol.asyncDispose]()
  })

  const surfaces = () => [options, panel, page]
  const becomes = <T>(read: () => Promise<T>, value: T) =>
    eventually(async () => expect(await read()).toEqual(value))
  const everywhere = async (labels: string[]) => {
    for (const surface of surfaces())
      await becomes(() => surface.locator('li span').allTextContents(), labels)
  }
  async function add(surface: Page, label: string): Promise<void> {
    await surface.getByLabel('New item').fill(label)
    await surface.getByLabel('New item').press('Enter')
  }
  const themeOf = (element: Element) => (element as HTMLElement).style.getPropertyValue('--theme')
  const boxOf = (surface: Page, label: string): Locator =>
    surface.locator('li', { hasText: label }).locator('input')

  it('shows in all surfaces what one of them adds, ticks or removes', async () => {
    await add(options, 'milk')
    await everywhere(['milk'])
    await add(page, 'bread <b>')
    await everywhere(['milk', 'bread <b>'])
    // Not `check`, which expects the change at once: the box follows the stored value.
    await boxOf(page, 'milk').click()
    for (const surface of surfaces()) await becomes(() => boxOf(surface, 'milk').isChecked(), true)
    await boxOf(panel, 'milk').click()
    for (const surface of surfaces()) await becomes(() => boxOf(surface, 'milk').isChecked(), false)
    await page.locator('li', { hasText: 'milk' }).getByRole('button').click()
    await everywhere(['bread <b>'])
  })

  it('validates settings before it saves them, and applies them on the page', async () => {
    // Pages in the background render once a second.
    await options.bringToFront()
    const save = options.getByRole('button', { name: 'Save' })
    const frame = page.locator('holdfast-checklist')
    await options.getByLabel('Colour').fill('mauve')
    await becomes(() => save.isDisabled(), true)
    expect(await options.getByRole('alert').textContent()).toContain('themeToken')
    await options.getByLabel('Colour').fill('#ff8800')
    await save.click()
    await becomes(() => frame.evaluate(themeOf), '#ff8800')

    await options.getByRole('combobox').selectOption('specific')
    await becomes(() => save.isDisabled(), true)
    await options.getByLabel('Host').fill('elsewhere.example')
    await save.click()
    await becomes(() => frame.count(), 0)
    await options.getByLabel('Host').fill('127.0.0.1')
    await save.click()
    await becomes(() => frame.count(), 1)
  })

  it('keeps what is typed while a save runs', async () => {
    await options.bringToFront()
    const save = options.getByRole('button', { name: 'Save' })
    const colour = options.getByLabel('Colour')
    // The page's storage answers only when the test says so.
    const answerStorage = await options.evaluateHandle(() => {
      const { local } = chrome.storage
      const set = local.set.bind(local)
      const { promise, resolve } = Promise.withResolvers<void>()
      local.set = (async (items: Record<string, unknown>) => {
        await promise
        await set(items)
      }) as typeof local.set
      return resolve
    })
    await colour.fill('#112233')
    await save.click()
    await colour.fill('#445566')
    await answerStorage.evaluate((answer) => answer())
    await becomes(() => page.locator('holdfast-checklist').evaluate(themeOf), '#112233')
    await options.evaluate(() => new Promise((rendered) => requestAnimationFrame(() => setTimeout(rendered))))
    expect(await colour.inputValue()).toBe('#445566')
    await save.click()
    await becomes(() => page.locator('holdfast-checklist').evaluate(themeOf), '#445566')
  })

  it('resets the list, and opens the options from the page', async () => {
    await add(panel, 'eggs')
    await everywhere(['bread <b>', 'eggs'])
    await options.getByRole('button', { name: 'Reset the checklist' }).click()
    await everywhere([])
    await options.close()
    const opened = extension.browser.waitForEvent('page', (opened) => opened.url().endsWith('options.html'))
    await page.getByRole('button', { name: 'Settings' }).click()
    await opened
  })
})
