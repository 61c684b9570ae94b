/** Runs the code of docs/coming-from-extension-storage.md in an extension, on data as each library stores it. */
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { type LoadedExtension, loadExtension } from './loaded-extension.ts'

const page = readFileSync(join(root, 'docs/coming-from-extension-storage.md'), 'utf8')
const [, code = ''] = /^```ts page\n([\s\S]*?)^```/m.exec(page) ?? []
/** The page of the test has the exports of `holdfast/sync` as globals, and the worker its coordinator. */
const functions = stripTypeScriptTypes(code.slice(code.indexOf('interface Found')))

const milk = { label: 'Milk', checked: false }
const bread = { label: 'Bread', checked: true }

describe('what was stored by', () => {
  let extension: LoadedExtension
  let lab: Page
  beforeAll(async () => {
    extension = await loadExtension(join(import.meta.dirname, 'probe'))
    lab = await extension.open('lab.html')
  })
  beforeEach(() => lab.evaluate('Promise.all([chrome.storage.local.clear(), chrome.storage.sync.clear()])'))
  afterAll(() => extension?.[Symbol.asyncDispose]())

  const run = (body: string) => lab.evaluate(`(async () => { ${functions}; ${body} })()`)
  const show = `await using sync = createSync(chromeContext()); await sync.bootstrap(); return sync.state.entries`

  it.each([
    ['WXT', 'readWxt', 'local', { items: { milk, bread }, items$: { v: 2 } }],
    ['Plasmo', 'readPlasmo', 'sync', { items: JSON.stringify({ milk, bread }) }],
    ['webext-storage', 'readWebextStorage', 'local', { 'items:::milk': milk, 'items:::bread': bread }],
  ])('%s is moved, and once more changes nothing', async (_, read, area, stored) => {
    const before = JSON.stringify({ ...stored, other: 1 })
    await run(`await chrome.storage.${area}.set(${before}); await moveOver(await ${read}())`)
    expect(Object.fromEntries((await run(show)) as [string, object][])).toEqual({ milk, bread })
    const left = await run(
      `return chrome.storage.${area}.get([...${JSON.stringify(Object.keys(stored))}, 'other'])`,
    )
    expect(left).toEqual({ other: 1 })

    // The extension ended before the old keys were removed, and the user has changed an entity since.
    await run(
      `await using sync = createSync(chromeContext()); await sync.patchEntity('milk', { checked: true })`,
    )
    await run(`await chrome.storage.${area}.set(${before}); await moveOver(await ${read}())`)
    expect(Object.fromEntries((await run(show)) as [string, object][])).toEqual({
      milk: { ...milk, checked: true },
      bread,
    })
  })

  it('nobody leaves an empty collection', async () => {
    for (const read of ['readWxt', 'readPlasmo', 'readWebextStorage'])
      await run(`await moveOver(await ${read}())`)
    expect(await run(show)).toEqual([])
  })
})
