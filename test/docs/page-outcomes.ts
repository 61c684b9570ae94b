/** What the pages say about their examples, to be looked at when these have run. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { eventually } from '../eventually.ts'
import type { Block } from './blocks.ts'

interface Outcome {
  readonly page: string
  /** A part of the block's code. */
  readonly text: string
  readonly says: string
  /** `directory`: the project of the reader, where the server of the page runs. */
  look(page: Page, printed: readonly string[], directory: string): Promise<void>
}

export const OUTCOMES: readonly Outcome[] = [
  {
    page: 'docs/autosave.md',
    text: "namespace: 'storyboard'",
    says: 'AutoSave saves half a second after an edit, without another call',
    async look(page) {
      await eventually(async () => expect(await currentSave(page)).toMatchObject({ title: 'The crossing' }))
    },
  },
  {
    page: 'docs/autosave.md',
    text: 'showDirectoryPicker',
    says: 'AutoSave saves into the folder that the user has picked with the button',
    async look(page) {
      await eventually(async () => expect(await currentSave(page)).toEqual({ text: 'Buy milk' }))
    },
  },
  {
    page: 'docs/autosave.md',
    text: 'AutoSaveIndicator',
    says: 'the component saves what is typed and shows that it is saved',
    async look(page) {
      await page.locator('textarea').fill('Buy milk')
      await eventually(async () => expect(await currentSave(page)).toBe('Buy milk'))
      await page.getByText('Saved').first().waitFor()
    },
  },
  {
    page: 'docs/start/tabs.md',
    text: "namespace: 'notes'",
    says: 'a second tab takes no words before it has the lock, and writes when the first one is closed',
    look: writesInOneTab,
  },
  {
    page: 'docs/start/tabs.md',
    text: 'rebuild-index',
    says: 'a second tab says that another one does it',
    async look(page) {
      expect(await page.locator('body').textContent()).toContain('rebuilt with token')
      await page.reload({ waitUntil: 'commit' })
      const second = await page.context().newPage()
      await page.waitForFunction(async () => (await navigator.locks.query()).held?.length)
      await second.goto(page.url())
      await second.getByText('another tab does it').waitFor()
      await second.close()
    },
  },
  {
    page: 'docs/start/tabs.md',
    text: 'createSync<Todo>',
    says: 'the console of the first tab shows the change of the second one',
    async look(page, printed) {
      await eventually(() => expect(printed.length).toBeGreaterThan(0))
      const before = printed.length
      const second = await page.context().newPage()
      await second.goto(page.url())
      await eventually(() => expect(printed.length).toBeGreaterThan(before))
      await second.close()
    },
  },
  {
    page: 'docs/project-lock.md',
    text: 'withProjectLock',
    says: 'the work under the project lock is done, and the lock is free afterwards',
    async look(page) {
      expect(await page.evaluate(() => localStorage.getItem('title'))).toBe('The crossing')
      expect(await page.evaluate(async () => (await navigator.locks.query()).held)).toEqual([])
    },
  },
  {
    page: 'docs/client.md',
    text: 'A new line of the minutes',
    says: 'the document lock tells of its phases until it is released',
    async look(_page, printed) {
      await eventually(() => expect(printed).toEqual(expect.arrayContaining(['acquiring', 'held', 'idle'])))
    },
  },
  {
    page: 'docs/client.md',
    text: 'DocumentLock roomId',
    says: 'the component lets the user write after Edit, and saves by itself',
    look: showsThatItIsSaved,
  },
  {
    page: 'docs/client.md',
    text: 'DraftNotice state',
    says: 'its parts do the same',
    look: showsThatItIsSaved,
  },
  {
    page: 'docs/client.md',
    text: 'createDraft',
    says: 'what is typed is saved',
    async look(page) {
      const saved = page.waitForResponse((response) => response.request().method() === 'PUT')
      await page.locator('textarea:not([readonly])').fill('Minutes of the meeting')
      expect((await saved).status()).toBe(200)
      await page.waitForFunction(() => document.title === 'saved')
    },
  },
  {
    page: 'docs/stores/web.md',
    text: 'showDirectoryPicker',
    says: 'leases in a picked folder are kept in its file',
    async look(page, printed) {
      await eventually(() => expect(printed.join()).toContain('only this page writes into'))
      expect(await page.evaluate(namesInDirectory)).toContain('holdfast.json')
    },
  },
  {
    page: 'docs/sync.md',
    text: 'document.body.style.color',
    says: 'an entity of the sync is stored under its key',
    async look(page, printed) {
      expect(printed).toContain('milk Milk')
      const stored = await page.evaluate(() => chrome.storage.local.get('trackedEntity:milk'))
      expect(stored).toEqual({ 'trackedEntity:milk': { label: 'Milk', checked: false } })
    },
  },
  ...[
    ['local:items', '@wxt-dev/storage'],
    ["area: 'local' })\n\nawait", '@plasmohq/storage'],
    ['sets one field, and nobody', 'holdfast/sync'],
  ].map(([text = '', name]) => ({
    page: 'docs/coming-from-extension-storage.md',
    text,
    says: `with ${name} the item is stored and ticked off`,
    async look(_page: Page, printed: readonly string[]) {
      await eventually(() => expect(printed).toContain('stored Milk true'))
    },
  })),
  {
    page: 'docs/telemetry.md',
    text: 'opfsBuffer',
    says: 'the events of a page arrive in the folder of the server',
    async look(_page, _printed, directory) {
      const [file = ''] = globSync('telemetry/*.jsonl', { cwd: directory })
      expect(readFileSync(join(directory, file), 'utf8')).toContain('"type":"lock:acquired"')
    },
  },
  {
    page: 'docs/websocket.md',
    text: "new Pusher('holdfast'",
    says: 'it listens',
    async look(_page, printed) {
      await eventually(() => expect(printed.join()).toContain('listening'))
    },
  },
  {
    page: 'docs/websocket.md',
    text: 'new Echo(',
    says: 'it listens',
    async look(_page, printed) {
      await eventually(() => expect(printed.join()).toContain('listening'))
    },
  },
]

export function outcomeOf({ page, code }: Block): Outcome | undefined {
  return OUTCOMES.find((outcome) => outcome.page === page && code.includes(outcome.text))
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

async function showsThatItIsSaved(page: Page): Promise<void> {
  // It was pressed once before, perhaps before the component had its lock.
  const edit = page.getByRole('button', { name: 'Edit', exact: true })
  if (await edit.isVisible()) await edit.click()
  const saved = page.waitForResponse((response) => response.request().method() === 'PUT')
  await page.locator('textarea:not([readonly])').fill('Minutes of the meeting')
  expect((await saved).status()).toBe(200)
  await page.locator('[data-status="saved"][data-empty="false"]').waitFor()
}

async function writesInOneTab(first: Page): Promise<void> {
  const writable = 'textarea:not([readonly])'
  await first.locator(writable).fill('Buy milk')
  await eventually(async () => expect(await currentSave(first)).toEqual({ text: 'Buy milk' }))
  const second = await first.context().newPage()
  await second.goto(first.url(), { waitUntil: 'commit' })
  const area = second.locator('textarea')
  await area.focus()
  // Most of its first second, in which it does not know yet whether another tab has the lock.
  while (!(await second.getByText('Another tab is editing.').isVisible())) {
    await second.keyboard.type('lost')
    expect(await second.locator('p').first().textContent()).not.toBe('Saved')
  }
  expect(await area.inputValue()).toBe('Buy milk')
  expect(await second.getByRole('button').count()).toBe(0)
  await first.goto('about:blank')
  await second.locator(writable).fill('Buy bread')
  await eventually(async () => expect(await currentSave(second)).toEqual({ text: 'Buy bread' }))
  await second.close()
}
