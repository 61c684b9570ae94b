import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { build, type Plugin } from 'vite'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { createServer, type HoldfastServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { launchChromium } from './chromium.ts'
import { accessibilityProblems } from './screens.ts'

const ADMIN_TOKEN = 'the-token-of-an-administrator'

/** As the field `browser` of the package does in an application that has installed it. */
const asInstalled: Plugin = {
  name: 'as-installed',
  enforce: 'pre',
  resolveId: (id) =>
    id.endsWith('/load-holding.ts') ? join(root, 'src/client/load-holding-browser.ts') : undefined,
}

describe.each(['dom', 'vue'])('the example for %s', (name) => {
  const store = memoryStore()
  const release = vi.spyOn(store, 'release')
  let directory: string
  let server: HoldfastServer
  let browser: BrowserContext
  let mika: Page
  let ken: Page
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'holdfast-example-'))
    const configFile = join(root, 'examples', name, 'vite.config.ts')
    const output = { outDir: directory, emptyOutDir: true }
    await build({ configFile, logLevel: 'warn', plugins: [asInstalled], build: output })
    const settings = { port: 0, rate: 0, logLevel: 'silent', adminTokens: [ADMIN_TOKEN] } as const
    server = await createServer({ store, assets: directory, settings })
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
    await mika.getByText('Saved', { exact: true }).waitFor()
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

  it('keeps what was typed in a turn that was lost, also in a reload, and asks before it is saved over others', async () => {
    await ken.route('**/api/documents/minutes-42', (route, request) =>
      request.method() === 'PUT' ? route.abort() : route.continue(),
    )
    await text(ken).fill('the words of Ken')
    await press(mika, 'Edit')
    await mika.getByText('You are in line, 0 before you.').waitFor()
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    await fetch(`${server.url}/api/locks/document:minutes-42`, { method: 'DELETE', headers })
    await mika.getByText('You are editing.').waitFor()
    await text(mika).fill('the words of Mika')
    await mika.getByText('Saved', { exact: true }).waitFor()
    await ken.unrouteAll()
    await ken.getByText('somebody else has changed the same words').waitFor()
    await ken.reload()
    await ken.getByText('somebody else has changed the same words').waitFor()
    expect(await text(ken).inputValue()).toBe('the words of Ken')
    expect(await ken.locator('pre').textContent()).toBe('the words of Mika')
    expect(await accessibilityProblems(ken)).toEqual([])
    await press(mika, 'Stop editing')
    await press(ken, 'Edit')
    await press(ken, 'Take theirs')
    await expect.poll(() => text(ken).inputValue()).toBe('the words of Mika')
    await press(ken, 'Bring mine back')
    await press(ken, 'Save mine')
    await expect.poll(() => text(mika).inputValue()).toBe('the words of Ken')
  })

  it('loads on demand what acquires, which still gives the lock up when the page of its holder is closed', async () => {
    expect(await readdir(join(directory, 'assets'))).toContainEqual(expect.stringMatching(/^holding-.+\.js$/))
    await ken.getByText('You are editing.').waitFor()
    await mika.getByText('Ken is editing.').waitFor()
    release.mockClear()
    await ken.close()
    await expect.poll(() => release.mock.calls.length, { timeout: 20_000 }).toBe(1)
    await mika.getByText('Nobody is editing.').waitFor()
  })
})
