/** What the pages say about their examples happens, when these run as printed, from the packed package. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { blocksOfPage } from '../docs/blocks.ts'
import { PageRunner } from '../docs/run-page.ts'
import { type PlacedBlock, Sandbox } from '../docs/sandbox.ts'
import type { Look } from '../docs/visit-page.ts'
import { eventually } from '../eventually.ts'

let sandbox: Sandbox
let runner: PageRunner
beforeAll(async () => {
  sandbox = await Sandbox.create()
  runner = await PageRunner.create(sandbox)
})
afterAll(async () => {
  await runner?.[Symbol.asyncDispose]()
  await sandbox?.[Symbol.asyncDispose]()
})

it('AutoSave saves half a second after an edit, without another call', () =>
  see('docs/autosave.md', "namespace: 'storyboard'", async (page) => {
    await eventually(async () => expect(await currentSave(page)).toMatchObject({ title: 'The crossing' }))
  }))

it('AutoSave saves into the folder that the user has picked with the button', () =>
  see('docs/autosave.md', 'showDirectoryPicker', async (page) => {
    await eventually(async () => expect(await currentSave(page)).toEqual({ text: 'Buy milk' }))
  }))

it('the component saves what is typed and shows that it is saved', () =>
  see('docs/autosave.md', 'AutoSaveIndicator', async (page) => {
    await page.locator('textarea').fill('Buy milk')
    await eventually(async () => expect(await currentSave(page)).toBe('Buy milk'))
    await page.getByText('Saved').first().waitFor()
  }))

it('the work under the project lock is done, and the lock is free afterwards', () =>
  see('docs/project-lock.md', 'withProjectLock', async (page) => {
    expect(await page.evaluate(() => localStorage.getItem('title'))).toBe('The crossing')
    expect(await page.evaluate(async () => (await navigator.locks.query()).held)).toEqual([])
  }))

it('the document lock tells of its phases until it is released', () =>
  see('docs/client.md', 'A new line of the minutes', async (_page, printed) => {
    await eventually(() => expect(printed).toEqual(expect.arrayContaining(['acquiring', 'held', 'idle'])))
  }))

it('the editor lets the user write after Edit, and saves', () =>
  see('docs/client.md', 'LockBanner', async (page) => {
    await page.locator('textarea:not([readonly])').fill('Minutes of the meeting')
    const saved = page.waitForResponse((response) => response.request().method() === 'PUT')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    expect((await saved).status()).toBe(200)
  }))

it('leases in a picked folder are kept in its file', () =>
  see('docs/stores/web.md', 'showDirectoryPicker', async (page, printed) => {
    await eventually(() => expect(printed.join()).toContain('only this page writes into'))
    expect(await page.evaluate(namesInDirectory)).toContain('holdfast.json')
  }))

it('an entity of the sync is stored under its key', () =>
  see('docs/sync.md', 'document.body.style.color', async (page, printed) => {
    expect(printed).toContain('milk Milk')
    const stored = await page.evaluate(() => chrome.storage.local.get('trackedEntity:milk'))
    expect(stored).toEqual({ 'trackedEntity:milk': { label: 'Milk', checked: false } })
  }))

it('the events of a page arrive in the folder of the server', async () => {
  const placed = await place('docs/telemetry.md', 'opfsBuffer')
  await runner.run(placed, async () => {
    const [file = ''] = globSync('telemetry/*.jsonl', { cwd: placed.directory })
    expect(readFileSync(join(placed.directory, file), 'utf8')).toContain('"type":"lock:acquired"')
  })
})

it.each(["new Pusher('holdfast'", 'new Echo('])('a page with %s listens', (text) =>
  see('docs/websocket.md', text, async (_page, printed) => {
    await eventually(() => expect(printed.join()).toContain('listening'))
  }),
)

async function see(page: string, text: string, look: Look): Promise<void> {
  await runner.run(await place(page, text), look)
}

/** The block of the page that contains the text. */
async function place(page: string, text: string): Promise<PlacedBlock> {
  const block = blocksOfPage(page).find(({ role, code }) => role === 'page' && code.includes(text))
  if (!block) throw new Error(`${page} has no block for pages with ${text}`)
  return sandbox.place(block)
}

/** What AutoSave has saved last, read as the page says. */
function currentSave(page: Page): Promise<unknown> {
  return page.evaluate(async () => {
    const root = await navigator.storage.getDirectory()
    const read = async (path: string) => {
      const names = path.split('/')
      let directory = await (await root.getDirectoryHandle('project')).getDirectoryHandle('autosave')
      for (const name of names.slice(0, -1)) directory = await directory.getDirectoryHandle(name)
      const file = await (await directory.getFileHandle(names.at(-1) ?? '')).getFile()
      return JSON.parse(await file.text())
    }
    const { file } = await read('current.json')
    return (await read(file)).data
  })
}

async function namesInDirectory(): Promise<string[]> {
  const names: string[] = []
  for await (const name of (await navigator.storage.getDirectory()).keys()) names.push(name)
  return names
}
