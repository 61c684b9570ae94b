import type { BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchChromium } from './chromium.ts'
import { EditorWindow } from './editor-window.ts'
import { type PagesServer, servePages } from './pages-server.ts'

const ROOM = 'minutes'

describe('a document whose stored text is damaged, in the editor', () => {
  let browser: BrowserContext
  let server: PagesServer
  let mika: EditorWindow
  let ken: EditorWindow
  beforeAll(async () => {
    server = await servePages()
    browser = await launchChromium()
    const writer = await EditorWindow.open(browser, server, ROOM, 'Ria')
    await writer.edit()
    await writer.write('first')
    await writer.untilStatus('saved')
    await writer.close()
    server.damage(ROOM)
    mika = await EditorWindow.open(browser, server, ROOM, 'Mika')
    ken = await EditorWindow.open(browser, server, ROOM, 'Ken')
  })
  afterAll(async () => {
    await Promise.all([mika?.close(), ken?.close()])
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
  })

  const saveOver = () => mika.page.getByRole('button', { name: 'Save mine' })
  const readStored = async () => (await fetch(`${server.url}/api/documents/${ROOM}`)).status

  it('a document whose stored text is damaged, in the editor says so, and offers nothing to who does not hold the lock', async () => {
    await mika.untilStatus('unreadable')
    await mika.page.getByRole('alert').getByText('The stored text cannot be read.').waitFor()
    expect(await saveOver().count()).toBe(0)
    expect(await mika.isWritable()).toBe(false)
  })

  it('a document whose stored text is damaged, in the editor keeps what is stored while one edits, and says what is not saved', async () => {
    await mika.edit()
    expect(await saveOver().isDisabled()).toBe(true)
    await mika.write('second')
    expect(await mika.leave()).toBe('beforeunload')
    expect(await readStored()).toBe(409)
  })

  it('a document whose stored text is damaged, in the editor is saved over when one says so, and is a document like any other from then on', async () => {
    await mika.press('Save mine')
    await mika.untilStatus('saved')
    await ken.untilText('second')
    await ken.untilStatus('saved')
    await mika.write('third')
    await ken.untilText('third')
  })
})
