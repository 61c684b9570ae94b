import { afterEach, describe, expect, it, vi } from 'vitest'
import { editorBed, memoryJournal } from '../../test/autosave/editor-bed.ts'
import { FakeDisk } from '../../test/autosave/fake-disk.ts'
import { stubPage } from '../../test/autosave/stub-page.ts'
import { type Journal, localStorageJournal } from './index.ts'
import { encodeSave, measure } from './save-file.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('the journal', () => {
  it('the journal keeps the last edits of a page that is closed, and comes before the save that they are based on', async () => {
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

  it('the journal is saved after it was loaded, and then removed', async () => {
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
    expect(next.autosave.state).toMatchObject({ phase: 'debouncing', unsaved: true })
    await clock.advance(500)
    expect(saved()).toBe('last words')
    expect(journal.items.size).toBe(0)
  })

  it('the journal is written when the page is hidden, and removed after the save', async () => {
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

  describe.each([
    ['the content of the journal', 'last words', 'last words'],
    ['what was typed before', 'last', 'last words'],
  ])('of a page that commits %s while it is being closed', (_, committed, journaled) => {
    /** A page that is closed before the commit of its save. */
    async function leave() {
      const bed = editorBed()
      const page = stubPage()
      const disk = bed.disk.shared()
      const editor = bed.openEditor({ directory: disk.root })
      await bed.save(editor, 'saved')
      let commit = () => {}
      disk.refuse = (operation, path) => {
        if (operation !== 'close' || !path.endsWith('current.json')) return
        return new Promise<void>((resolve) => {
          commit = resolve
        })
      }
      editor.edit(committed)
      void editor.autosave.flush()
      await bed.clock.advance(10)
      if (journaled !== committed) editor.edit(journaled)
      page.dispatchEvent(new Event('pagehide'))
      const end = async () => {
        commit()
        await bed.clock.advance(10)
        expect(bed.saved()).toBe(committed)
        disk.diesAt = 0
        editor.tab.close()
      }
      return { ...bed, end }
    }

    it('is the base of the next page', async () => {
      const { clock, openEditor, saved, end } = await leave()
      await end()
      const next = openEditor()
      expect(await next.recover()).toBe(journaled)
      await clock.advance(1000)
      expect(saved()).toBe(journaled)
      expect(next.autosave.state).toMatchObject({ phase: 'idle', unsaved: false })
    })

    it('is not a conflict for a page that was opened before the commit', async () => {
      const { clock, openEditor, saved, end } = await leave()
      const next = openEditor({ wait: 0 })
      expect(await next.recover()).toBe(journaled)
      next.edit('last words, and more')
      await end()
      await clock.advance(2000)
      expect(saved()).toBe('last words, and more')
    })
  })

  it('the journal comes after the current save if another tab has saved since', async () => {
    const { openEditor, save } = editorBed()
    const page = stubPage()
    const [first, second] = [openEditor(), openEditor({ wait: 0 })]
    second.edit('never saved')
    await save(first, 'saved')
    page.dispatchEvent(new Event('pagehide'))
    const recoverable = await openEditor().autosave.restore()
    expect(recoverable.map(({ source }) => source)).toEqual(['current', 'journal'])
  })

  it('the journal stays as long as the save with the same content is damaged', async () => {
    const { disk, journal, openEditor, save } = editorBed()
    const page = stubPage()
    const editor = openEditor()
    await save(editor, 'one')
    editor.edit('two')
    page.dispatchEvent(new Event('pagehide'))
    const journaled = [...journal.items]
    await save(editor, 'two')
    const newest = disk.paths.filter((path) => path.includes('history')).at(-1)
    disk.files.set(`/${newest}`, disk.files.get(`/${newest}`)?.slice(0, -3) ?? '')
    for (const [key, text] of journaled) journal.items.set(key, text)
    expect(await openEditor().recover()).toBe('two')
  })

  it('the journal keeps the edits of a read-only tab that is closed', async () => {
    const { clock, finished, journal, openEditor, save } = editorBed()
    const [first, second] = [openEditor(), openEditor({ wait: 0 })]
    await save(first, 'one')
    second.edit('two')
    await clock.advance(1000)
    await finished(second.autosave.close())
    expect([...journal.items.values()].join()).toContain('"title":"two"')
  })

  it('the journal removes the oldest journals of others if there is no space, and reports an error if that is not enough', async () => {
    const { clock, finished, openEditor, save } = editorBed()
    await save(openEditor(), 'held')
    const journal = memoryJournal(500)
    const leave = async (title: string) => {
      const editor = openEditor({ wait: 0, journal })
      editor.edit(title)
      await clock.advance(1000)
      await finished(editor.autosave.close())
      return editor
    }
    for (const title of ['one', 'two', 'three', 'four']) await leave(title)
    expect([...journal.items.values()].join()).toContain('four')
    expect([...journal.items.values()].join()).not.toContain('one')
    const before = [...journal.items]
    const { events } = await leave('x'.repeat(1000))
    // The journals of others are given up only for one that then fits.
    expect([...journal.items].toSorted()).toEqual(before.toSorted())
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'autosave:error', operation: 'journal', code: 'journal-failed' }),
    )
  })

  it('the journal that finds no space puts the newest journals of others back first, and as many as fit', async () => {
    const { clock, finished, openEditor, save } = editorBed()
    await save(openEditor(), 'held')
    const journal = memoryJournal(600)
    const leave = async (title: string, storage: Journal = journal) => {
      const editor = openEditor({ wait: 0, journal: storage })
      editor.edit(title)
      await clock.advance(1000)
      await finished(editor.autosave.close())
    }
    for (const title of ['one', 'two', 'three']) await leave(title)
    await leave('x'.repeat(1000), {
      ...journal,
      remove(key) {
        journal.remove(key)
        // Another page needs the space meanwhile.
        if (journal.items.size === 0) journal.items.set('other', 'x'.repeat(300))
      },
    })
    const left = [...journal.items.values()].join()
    expect(left).toContain('"title":"three"')
    expect(left).not.toContain('"title":"one"')
  })

  it('the journal that cannot be written leaves the journals of others', async () => {
    const { clock, finished, journal, openEditor, save } = editorBed()
    await save(openEditor(), 'held')
    journal.items.set('other', journalOf('left by another'))
    const write = () => {
      throw new DOMException('the disk is broken', 'UnknownError')
    }
    const editor = openEditor({ wait: 0, journal: { ...journal, write } })
    editor.edit('mine')
    await clock.advance(1000)
    await finished(editor.autosave.close())
    expect([...journal.items.keys()]).toEqual(['other'])
    expect(editor.events).toContainEqual(expect.objectContaining({ code: 'journal-failed' }))
  })

  it.each(['read', 'remove'] as const)(
    'a journal that fails to %s causes an error event, and saves continue',
    async (operation) => {
      const { finished, journal, openEditor, save, saved } = editorBed()
      const broken = () => {
        throw new DOMException('denied', 'SecurityError')
      }
      const editor = openEditor({ journal: { ...journal, [operation]: broken } })
      await save(editor, 'one')
      expect(editor.autosave.state).toMatchObject({
        phase: 'idle',
        savedAt: expect.any(Number),
        error: null,
      })
      expect(await editor.recover()).toBe('one')
      editor.edit('two')
      await finished(editor.autosave.close())
      expect(saved()).toBe('two')
      expect(new Set(editor.events.flatMap((event) => ('code' in event ? event.code : [])))).toEqual(
        new Set(['journal-failed']),
      )
      expect(editor.events.filter(({ type }) => type === 'autosave:saved')).toHaveLength(2)
    },
  )

  it('the journal in localStorage leaves the items of other names and programs alone', () => {
    stubLocalStorage()
    const [mine, theirs] = [localStorageJournal('mine'), localStorageJournal('theirs')]
    const [part, whole] = [localStorageJournal('a'), localStorageJournal('a:b')]
    mine.write('a', 'text')
    whole.write('key', 'text')
    expect(mine.read()).toEqual([{ key: 'a', text: 'text' }])
    expect(theirs.read()).toEqual([])
    expect(part.read()).toEqual([])
    mine.remove('a')
    expect(mine.read()).toEqual([])
  })

  it('the journal in localStorage belongs to the namespace of the locks', async () => {
    stubLocalStorage()
    const page = stubPage()
    const { openTab, openEditor } = editorBed()
    const open = (namespace: string) =>
      openEditor({
        tab: { ...openTab(), locks: { ...openTab().locks, namespace } },
        directory: new FakeDisk().root,
        // As if it were not given.
        journal: undefined as never,
      })
    open('one').edit('of one')
    page.dispatchEvent(new Event('pagehide'))
    const offered = async (namespace: string) => {
      const [latest] = await open(namespace).autosave.restore()
      return latest ? (await latest.read()).title : null
    }
    expect(await offered('other')).toBeNull()
    expect(await offered('one')).toBe('of one')
  })
})

function stubLocalStorage(): void {
  const items: Record<string, string> = { unrelated: '1' }
  const storage = () => localStorage as unknown as Record<string, string>
  vi.stubGlobal(
    'localStorage',
    Object.create(items, {
      setItem: { value: (key: string, text: string) => Object.assign(storage(), { [key]: text }) },
      getItem: { value: (key: string) => Reflect.get(storage(), key) ?? null },
      removeItem: { value: (key: string) => Reflect.deleteProperty(storage(), key) },
    }),
  )
}

function journalOf(title: string): string {
  const text = JSON.stringify({ title })
  return `\n${encodeSave({ id: '2030-01-01T00:00:00.000Z', text, ...measure(text) })}`
}
