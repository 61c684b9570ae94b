import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { type Site, serveModule } from './chromium.ts'
import { contentScript, type LoadedExtension, loadExtension } from './loaded-extension.ts'

const EXAMPLE = join(import.meta.dirname, '../../examples/extension/src')

describe('the checklist extension', () => {
  let extension: LoadedExtension
  let site: Site
  let options: Page
  let popup: Page
  let panel: Page
  let page: Page
  beforeAll(async () => {
    site = await serveModule(join(import.meta.dirname, 'pages/empty.ts'))
    extension = await loadExtension(EXAMPLE)
    options = await extension.open('options.html')
    popup = await extension.open('popup.html')
    panel = await extension.open('panel.html')
    page = await extension.browser.newPage()
    await page.goto(site.url)
    await page.locator('holdfast-checklist summary').click()
  })
  afterAll(async () => {
    await extension?.[Symbol.asyncDispose]()
    await site?.[Symbol.asyncDispose]()
  })

  const surfaces = () => [options, popup, panel, page]
  const becomes = <T>(read: () => Promise<T>, value: T) =>
    eventually(async () => expect(await read()).toEqual(value))
  const everywhere = async (labels: string[]) => {
    for (const surface of surfaces())
      await becomes(() => surface.locator('li span').allTextContents(), labels)
  }
  const fieldOf = (surface: Page) => surface.getByLabel('New item')
  async function add(surface: Page, label: string): Promise<void> {
    await surface.bringToFront()
    await fieldOf(surface).fill(label)
    await fieldOf(surface).press('Enter')
  }
  const markOf = (element: Element) => (element as HTMLElement).style.getPropertyValue('--mark')
  const card = () => page.locator('holdfast-checklist')
  const rowOf = (surface: Page, label: string): Locator => surface.locator('li', { hasText: label })
  const boxOf = (surface: Page, label: string): Locator => rowOf(surface, label).locator('input')
  const saveButton = () => options.getByRole('button', { name: 'Save' })
  const colourField = () => options.getByLabel('Colour', { exact: true })

  it('shows in all surfaces what one of them adds, ticks or removes', async () => {
    await becomes(() => popup.getByText('Nothing to do.').count(), 1)
    await add(options, 'milk')
    await everywhere(['milk'])
    await add(page, 'bread <b>')
    await everywhere(['milk', 'bread <b>'])
    // Not `check`, which expects the change at once: the box follows the stored value.
    await boxOf(page, 'milk').click()
    for (const surface of surfaces()) await becomes(() => boxOf(surface, 'milk').isChecked(), true)
    await becomes(() => popup.locator('.figures').textContent(), '1 of 2 done')
    await becomes(() => card().locator('summary span').textContent(), '1 to do')
    await boxOf(panel, 'milk').click()
    for (const surface of surfaces()) await becomes(() => boxOf(surface, 'milk').isChecked(), false)
    await rowOf(page, 'milk').getByRole('button').click()
    await everywhere(['bread <b>'])
  })

  it('the checklist extension is used with the keyboard, and takes back a removal', async () => {
    await add(popup, 'eggs')
    await everywhere(['bread <b>', 'eggs'])
    await boxOf(popup, 'bread').focus()
    await popup.keyboard.press('ArrowDown')
    await popup.keyboard.press('Space')
    await becomes(() => boxOf(popup, 'eggs').isChecked(), true)
    await popup.keyboard.press('Delete')
    await everywhere(['bread <b>'])
    // The focus went to the neighbour.
    expect(await boxOf(popup, 'bread').evaluate((box) => box === document.activeElement)).toBe(true)
    await popup.getByRole('button', { name: 'Undo' }).click()
    await everywhere(['bread <b>', 'eggs'])
    await popup.getByRole('button', { name: 'Remove done items' }).click()
    await everywhere(['bread <b>'])
    await page.bringToFront()
    await fieldOf(page).press('Escape')
    expect(await fieldOf(page).isVisible()).toBe(false)
    await page.keyboard.press('Enter')
    expect(await fieldOf(page).isVisible()).toBe(true)
  })

  it('the checklist extension keeps what is typed while an item is stored, and adds it once', async () => {
    await popup.bringToFront()
    const storage = await popup.evaluateHandle(holdStorage)
    await fieldOf(popup).fill('tea')
    await fieldOf(popup).press('Enter')
    await fieldOf(popup).press('Enter')
    await fieldOf(popup).fill('cof')
    await becomes(() => popup.locator('.pill').textContent(), 'Saving')
    await storage.evaluate(({ release }) => release())
    await everywhere(['bread <b>', 'tea'])
    await becomes(() => popup.locator('.pill').textContent(), 'In sync')
    expect(await fieldOf(popup).inputValue()).toBe('cof')
    await fieldOf(popup).fill('')
  })

  it.each([
    ['popup', () => popup],
    ['page', () => page],
  ])(
    'the checklist extension says what to do when the storage is full, and keeps the text: %s',
    async (name, surface) => {
      await surface().bringToFront()
      const fill = `(${fillStorage})()`
      const empty = 'chrome.storage.local.set = globalThis.originalSet'
      const evaluate = name === 'page' ? await contentScript(page) : (text: string) => popup.evaluate(text)
      await evaluate(fill)
      await add(surface(), 'salt')
      const alert = surface().getByRole('alert').filter({ hasText: 'Remove items' })
      await eventually(async () => expect(await alert.textContent()).toContain('“salt” was not added.'))
      await becomes(() => surface().locator('.pill').textContent(), 'Not saved')
      expect(await fieldOf(surface()).inputValue()).toBe('salt')
      await evaluate(empty)
      await fieldOf(surface()).press('Enter')
      await everywhere(['bread <b>', 'tea', 'salt'])
      await becomes(() => surface().locator('.pill').textContent(), 'In sync')
      await rowOf(surface(), 'salt').getByRole('button').click()
      await everywhere(['bread <b>', 'tea'])
    },
  )

  it('the checklist extension validates settings before it saves them, and applies them on the page', async () => {
    // Pages in the background render once a second.
    await options.bringToFront()
    await colourField().fill('mauve')
    await becomes(() => saveButton().isDisabled(), true)
    expect(await options.locator('#colour-hint').textContent()).toContain('such as #0f8b8d')
    await colourField().fill('#ff8800')
    await saveButton().click()
    await becomes(() => card().evaluate(markOf), '#ff8800')

    await options.getByLabel('One site').click()
    await becomes(() => saveButton().isDisabled(), true)
    await options.getByLabel('Host').fill('not a host')
    await becomes(() => options.locator('#host-hint').getAttribute('role'), 'alert')
    await options.getByLabel('Host').fill('https://elsewhere.example/page')
    await saveButton().click()
    await becomes(() => card().count(), 0)
    await becomes(() => options.getByLabel('Host').inputValue(), 'elsewhere.example')
    await options.getByLabel('Host').fill('127.0.0.1')
    await saveButton().click()
    await becomes(() => card().count(), 1)
    await popup.bringToFront()
    await popup.getByLabel('Show on pages').click()
    await becomes(() => card().count(), 0)
    await popup.getByLabel('Show on pages').click()
    await becomes(() => card().count(), 1)
  })

  it('the checklist extension keeps what is typed while a save of the settings runs', async () => {
    await options.bringToFront()
    const storage = await options.evaluateHandle(holdStorage)
    await colourField().fill('#112233')
    await saveButton().click()
    await colourField().fill('#445566')
    await storage.evaluate(({ release }) => release())
    await becomes(() => card().evaluate(markOf), '#112233')
    await options.evaluate(() => new Promise((rendered) => requestAnimationFrame(() => setTimeout(rendered))))
    expect(await colourField().inputValue()).toBe('#445566')
    await saveButton().click()
    await becomes(() => card().evaluate(markOf), '#445566')
  })

  it('the checklist extension removes all items only after a question, downloads them and restores them', async () => {
    await options.bringToFront()
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-copy-'))
    try {
      const download = options.waitForEvent('download')
      await options.getByRole('button', { name: 'Download a copy' }).click()
      const copy = join(directory, 'checklist.json')
      await (await download).saveAs(copy)

      const dialog = options.getByRole('dialog')
      const removeAll = options.getByRole('button', { name: 'Remove all items' })
      await removeAll.click()
      expect(await dialog.textContent()).toContain('Remove all 2 items?')
      const cancel = dialog.getByRole('button', { name: 'Cancel' })
      expect(await cancel.evaluate((button) => button === document.activeElement)).toBe(true)
      await cancel.click()
      await everywhere(['bread <b>', 'tea'])
      await removeAll.click()
      await dialog.getByRole('button', { name: 'Remove all items' }).click()
      await everywhere([])

      const noCopy = join(directory, 'photo.json')
      await writeFile(noCopy, 'no JSON')
      await options.locator('input[type=file]').setInputFiles(noCopy)
      const alert = options.getByRole('alert').filter({ hasText: 'not a copy' })
      await becomes(() => alert.count(), 1)
      await options.locator('input[type=file]').setInputFiles(copy)
      await everywhere(['bread <b>', 'tea'])
      await becomes(() => alert.count(), 0)
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  it('shows that the list could not be read, and tries again', async () => {
    const panel = await extension.browser.newPage()
    await panel.addInitScript(() => {
      const { local } = chrome.storage
      const get = local.get.bind(local) as (keys: string[]) => Promise<Record<string, unknown>>
      local.get = (async (keys: string[]) => {
        if (!sessionStorage.getItem('repaired')) throw new Error('Corruption: block checksum mismatch')
        return get(keys)
      }) as typeof local.get
    })
    await panel.goto(popup.url().replace('popup', 'panel'))
    const alert = panel.getByRole('alert')
    await eventually(async () => expect(await alert.textContent()).toContain('The list could not be read.'))
    await panel.evaluate(() => sessionStorage.setItem('repaired', 'yes'))
    await panel.getByRole('button', { name: 'Try again' }).click()
    await becomes(() => panel.locator('li span').allTextContents(), ['bread <b>', 'tea'])
    await panel.close()
  })

  it('the checklist extension shows the last of many items, and more of them on demand', async () => {
    const entities = Array.from({ length: 248 }, (_, n) => {
      return [`many${n}`, { label: `item ${n}`, checked: false, timestamp: n }]
    })
    const buffer = Buffer.from(JSON.stringify({ settings: {}, entities }))
    const copy = { name: 'many.json', mimeType: 'application/json', buffer }
    await options.bringToFront()
    await options.locator('input[type=file]').setInputFiles(copy)
    const rowsOf = (surface: Page) => surface.locator('li span')
    await popup.bringToFront()
    await becomes(() => rowsOf(popup).count(), 200)
    await becomes(() => rowsOf(page).last().textContent(), 'item 247')
    // An open card shows what is added; the next time it opens with the last rows.
    await page.bringToFront()
    await fieldOf(page).press('Escape')
    await becomes(() => rowsOf(page).count(), 0)
    await page.keyboard.press('Enter')
    await becomes(() => rowsOf(page).count(), 200)
    expect(await rowsOf(page).last().textContent()).toBe('item 247')
    expect(await card().getByText('50 earlier items').isVisible()).toBe(true)
    await popup.bringToFront()
    await popup.getByRole('button', { name: 'Show 50 earlier items' }).click()
    await becomes(() => rowsOf(popup).first().textContent(), 'bread <b>')
  })

  it('the checklist extension opens the options from the page', async () => {
    await options.close()
    const opened = extension.browser.waitForEvent('page', (opened) => opened.url().endsWith('options.html'))
    await page.bringToFront()
    await page.getByRole('button', { name: 'Options' }).click()
    await opened
  })

  it('the checklist extension says on a page that the extension was updated', async () => {
    await page.bringToFront()
    await extension.worker.evaluate(() => chrome.runtime.reload()).catch(() => {})
    await eventually(async () => {
      // The next write, at the latest, finds it out.
      if (await fieldOf(page).isEnabled()) await add(page, 'late')
      expect(await card().getByRole('alert').textContent()).toContain('Reload this page')
    })
    expect(await card().locator('.pill').textContent()).toBe('Stopped')
  })
})

function fillStorage() {
  const { local } = chrome.storage
  Object.assign(globalThis, { originalSet: local.set })
  local.set = () => Promise.reject(new Error('QUOTA_BYTES quota exceeded'))
}

/** The page's storage answers only after `release`. */
function holdStorage() {
  const { local } = chrome.storage
  const set = local.set.bind(local)
  const { promise, resolve: release } = Promise.withResolvers<void>()
  local.set = (async (items: Record<string, unknown>) => {
    await promise
    await set(items)
  }) as typeof local.set
  return { release }
}
