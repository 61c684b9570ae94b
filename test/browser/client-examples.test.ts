import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { createServer, type HoldfastServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { launchChromium } from './chromium.ts'
import { accessibilityProblems } from './screens.ts'

const ADMIN_TOKEN = 'the-token-of-an-administrator'

describe.each(['dom', 'vue'])('the example for %s', (name) => {
  let directory: string
  let server: HoldfastServer
  let browser: BrowserContext
  let mika: Page
  let ken: Page
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'holdfast-example-'))
    const configFile = join(root, 'examples', name, 'vite.config.ts')
    await build({ configFile, logLevel: 'warn', build: { outDir: directory, emptyOutDir: true } })
    const settings = { port: 0, rate: 0, logLevel: 'silent', adminTokens: [ADMIN_TOKEN] } as const
    server = await createServer({ store: memoryStore(), assets: directory, settings })
    browser = await launchChromium()
    mika = await browser.newPage()
    ken = await browser.newPage()
    // The compiler in the page of the Vue example is refused by the policy of the server's own pages.
    await browser.route(`${server.url}/?*`, async (route) => {
      const response = await route.fetch()
      const { 'content-security-policy': _, ...headers } = response.headers()
      await route.fulfill({ response, headers })
    })
    await mika.goto(`${server.url}/?name=Mika`)
    await ken.goto(`${server.url}/?name=Ken`)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
    await rm(directory, { recursive: true })
  })
  const text = (page: Page) => page.getByLabel('Minutes')
  const press = (page: Page, button: string) =>
    page.getByRole('button', { name: button, exact: true }).click()

  it('lets one edit and save, and shows it to the other', async () => {
    await mika.getByText('Nobody is editing.').waitFor()
    await press(mika, 'Edit')
    await mika.getByText('You are editing.').waitFor()
    await text(mika).fill('first')
    await press(mika, 'Save')
    await ken.getByText('Mika is editing.').waitFor()
    await expect.poll(() => text(ken).inputValue()).toBe('first')
    expect(await text(ken).isEditable()).toBe(false)
    for (const page of [mika, ken]) expect(await accessibilityProblems(page)).toEqual([])
  })

  it('hands over to the one in line, with everything saved', async () => {
    await press(ken, 'Edit')
    await ken.getByText('You are in line, 0 before you.').waitFor()
    await text(mika).fill('second')
    await press(mika, 'Stop editing')
    await ken.getByText('You are editing.').waitFor()
    await expect.poll(() => text(ken).inputValue()).toBe('second')
    await mika.getByText('Ken is editing.').waitFor()
  })

  it('neither loses what was typed in a turn that was lost, nor saves it over others', async () => {
    await text(ken).fill('of the lost turn')
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    await fetch(`${server.url}/api/locks/document:minutes-42`, { method: 'DELETE', headers })
    await ken.getByText('You are no longer editing.').waitFor()
    expect(await text(ken).inputValue()).toBe('of the lost turn')
    await press(ken, 'Edit')
    await ken.getByText('Not saved in your last turn: of the lost turn').waitFor()
    await expect.poll(() => text(ken).inputValue()).toBe('second')
    await expect.poll(() => text(mika).inputValue()).toBe('second')
  })
})
