import { afterEach, describe, expect, it, vi } from 'vitest'
import { editorBed, memoryJournal } from '../../test/autosave/editor-bed.ts'
import { localStorageJournal } from './index.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('the journal', () => {
  it('keeps the last edits of a page that goes away, before the save that continues', async () => {
    const { disk, journal, openEditor, save } = editorBed()
    const page = stubPage()
    const editor = openEditor()
    await save(editor, 'saved')
    disk.refuse = (operation) => (operation === 'close' ? new Promise(() => {}) : undefined)
    editor.edit('typed at the last moment')
    page.dispatchEvent(new Event('pagehide'))
    expect(journal.items.size).toBe(1)
    const recoverable = await openEditor().autosave.restore()
    expect(recoverable.map(({ source }) => source)).toEqual(['journal', 'current'])
  })

  it('is saved and gone after it was loaded', async () => {
    const { clock, disk, journal, openEditor, save, saved } = editorBed()
    const page = stubPage()
    const editor = openEditor()
    await save(editor, 'saved')
    disk.refuse = (operation) => (operation === 'close' ? new Promise(() => {}) : undefined)
    editor.edit('last words')
    page.dispatchEvent(new Event('pagehide'))
    await clock.advance(100)
    editor.tab.close()
    disk.refuse = () => {}

    const next = openEditor()
    expect(await next.recover()).toBe('last words')
    expect(next.autosave.snapshot()).toMatchObject({ phase: 'debouncing', unsaved: true })
    await clock.advance(500)
    expect(saved()).toBe('last words')
    expect(journal.items.size).toBe(0)
  })

  it('is written when the page is hidden, and gone when that save is done', async () => {
    const { clock, journal, openEditor, saved } = editorBed()
    const page = stubPage()
    const editor = openEditor()
    editor.edit('hidden')
    page.visibilityState = 'hidden'
    page.dispatchEvent(new Event('visibilitychange'))
    expect(journal.items.size).toBe(1)
    await clock.advance(1)
    expect(saved()).toBe('hidden')
    expect(journal.items.size).toBe(0)
  })

  it('is the same as what the page that left it has committed in its last moment', async () => {
    const { clock, disk, openEditor, save, saved } = editorBed()
    const page = stubPage()
    const editor = openEditor()
    await save(editor, 'saved')
    let commit = () => {}
    disk.refuse = (operation, path) =>
      operation === 'close' && path.endsWith('current.json')
        ? new Promise<void>((resolve) => {
            commit = resolve
          })
        : undefined
    editor.edit('last words')
    page.dispatchEvent(new Event('pagehide'))
    await clock.advance(10)
    disk.refuse = () => {}
    const next = openEditor({ wait: 0 })
    expect(await next.recover()).toBe('last words')
    next.edit('last words, and more')
    commit()
    await clock.advance(10)
    expect(saved()).toBe('last words')
    editor.tab.close()
    await clock.advance(2000)
    expect(saved()).toBe('last words, and more')
  })

  it('comes after the current save when somebody has saved since', async () => {
    const { openEditor, save } = editorBed()
    const page = stubPage()
    const [first, second] = [openEditor(), openEditor({ wait: 0 })]
    second.edit('never saved')
    await save(first, 'saved')
    page.dispatchEvent(new Event('pagehide'))
    const recoverable = await openEditor().autosave.restore()
    expect(recoverable.map(({ source }) => source)).toEqual(['current', 'journal'])
  })

  it('keeps what a read-only tab had in memory when it was disposed', async () => {
    const { clock, finished, journal, openEditor, save } = editorBed()
    const [first, second] = [openEditor(), openEditor({ wait: 0 })]
    await save(first, 'one')
    second.edit('two')
    await clock.advance(1000)
    await finished(second.autosave.dispose())
    expect([...journal.items.values()].join()).toContain('"title":"two"')
  })

  it('gives up the oldest of others when there is no room, and says when there is none at all', async () => {
    const { clock, finished, openEditor, save } = editorBed()
    await save(openEditor(), 'held')
    const journal = memoryJournal(500)
    const leave = async (title: string) => {
      const editor = openEditor({ wait: 0, journal })
      editor.edit(title)
      await clock.advance(1000)
      await finished(editor.autosave.dispose())
      return editor
    }
    for (const title of ['one', 'two', 'three', 'four']) await leave(title)
    expect([...journal.items.values()].join()).toContain('four')
    expect([...journal.items.values()].join()).not.toContain('one')
    const { events } = await leave('x'.repeat(1000))
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'autosave:error', operation: 'journal', code: 'journal-failed' }),
    )
  })

  it('in localStorage keeps apart what other names and other programs have there', () => {
    const items: Record<string, string> = { unrelated: '1' }
    vi.stubGlobal(
      'localStorage',
      Object.create(items, {
        setItem: { value: (key: string, text: string) => Object.assign(storage(), { [key]: text }) },
        getItem: { value: (key: string) => Reflect.get(storage(), key) ?? null },
        removeItem: { value: (key: string) => Reflect.deleteProperty(storage(), key) },
      }),
    )
    const storage = () => localStorage as unknown as Record<string, string>
    const [mine, theirs] = [localStorageJournal('mine'), localStorageJournal('theirs')]
    mine.write('a', 'text')
    expect(mine.read()).toEqual([{ key: 'a', text: 'text' }])
    expect(theirs.read()).toEqual([])
    mine.remove('a')
    expect(mine.read()).toEqual([])
  })
})

/** The events of a page, which Node has none of. */
function stubPage() {
  const page = Object.assign(new EventTarget(), { visibilityState: 'visible' })
  vi.stubGlobal('document', page)
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
  return page
}
