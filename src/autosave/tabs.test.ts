import { describe, expect, it } from 'vitest'
import { editorBed } from '../../test/autosave/editor-bed.ts'
import { FakeDisk } from '../../test/autosave/fake-disk.ts'
import { pause } from '../base/pause.ts'
import { messageOf } from '../react/autosave-texts.ts'
import { canRetry } from './index.ts'

/** Long enough for all attempts at a lock that another tab keeps. */
const ALL_ATTEMPTS_MS = 60_000

describe('two tabs that hold the lock for their session', () => {
  it('two tabs that hold the lock for their session let the first one write; the other is read-only and keeps its edits', async () => {
    const { clock, openEditor, save, saved } = editorBed()
    const [first, second] = [openEditor(), openEditor()]
    await save(first, 'first')
    second.edit('second')
    await clock.advance(900)
    expect(second.autosave.state.phase).toBe('awaiting-lock')
    await clock.advance(ALL_ATTEMPTS_MS)
    expect(second.autosave.state).toMatchObject({
      ...{ phase: 'read-only', readOnly: 'held', inLine: true, unsaved: true, backend: null },
    })
    second.edit('second, and more')
    await save(first, 'first again')
    expect(saved()).toBe('first again')
    expect(second.autosave.state.unsaved).toBe(true)
  })

  it('two tabs that hold the lock for their session are not mistaken for each other when the lock file only takes long to answer', async () => {
    const { clock, files, finished, openEditor, openTab, saved } = editorBed()
    files.refuse = () => pause(clock, 400)
    const only = openEditor({ tab: openTab({ locks: null }) })
    only.edit('slowly')
    await finished(only.autosave.flush())
    expect(only.phases()).not.toContain('read-only')
    expect(saved()).toBe('slowly')
  })

  it('hand over when the first one closes, and the other loads what was saved', async () => {
    const { clock, openEditor, save, saved } = editorBed()
    const first = openEditor()
    await save(first, 'one')
    const second = openEditor({ eager: true, wait: 1000 })
    expect(await second.recover()).toBe('one')
    await clock.advance(1000)
    expect(second.autosave.state).toMatchObject({ phase: 'read-only', inLine: true, unsaved: false })
    await save(first, 'two')
    first.tab.close()
    await clock.advance(100)
    expect(second.autosave.state).toMatchObject({ phase: 'idle', backend: 'web', stale: true })
    expect(await second.recover()).toBe('two')
    expect(second.autosave.state.stale).toBe(false)
    await save(second, 'three')
    expect(saved()).toBe('three')
    expect(second.events.map(({ type }) => type)).toContain('autosave:readonly-left')
  })

  it('save the edits of the read-only one if nobody saved in the meantime', async () => {
    const { clock, openEditor, save, saved } = editorBed()
    const first = openEditor()
    await save(first, 'one')
    const second = openEditor({ wait: 0 })
    await second.recover()
    second.edit('two')
    await clock.advance(500)
    expect(second.autosave.state.phase).toBe('read-only')
    first.tab.close()
    await clock.advance(600)
    expect(saved()).toBe('two')
  })

  it('two tabs that hold the lock for their session do not overwrite what the other saved until the user decides', async () => {
    const { clock, finished, openEditor, save, saved } = editorBed()
    const first = openEditor()
    await save(first, 'one')
    const [second, third] = [openEditor({ wait: 0 }), openEditor({ wait: 0 })]
    for (const editor of [second, third]) {
      await editor.recover()
      editor.edit('mine')
    }
    await clock.advance(500)
    await save(first, 'two')
    first.tab.close()
    await clock.advance(5000)
    expect(saved()).toBe('two')
    expect(second.autosave.state).toMatchObject({
      ...{ phase: 'read-only', readOnly: 'conflict', unsaved: true, stale: true, inLine: false },
      error: { code: 'conflict' },
    })
    await finished(second.autosave.flush())
    expect(saved()).toBe('two')
    await finished(second.autosave.flush({ overwrite: true }))
    expect(saved()).toBe('mine')
    expect(second.autosave.state).toMatchObject({ phase: 'idle', unsaved: false, readOnly: null })
    const sources = await second.autosave.restore()
    const titles = await Promise.all(sources.map(async (source) => (await source.load()).title))
    expect(titles).toContain('two')
  })

  it('two tabs that hold the lock for their session can load the save of the other instead', async () => {
    const { clock, openEditor, save, saved } = editorBed()
    const first = openEditor()
    const second = openEditor({ wait: 0 })
    await save(first, 'theirs')
    second.edit('mine')
    await clock.advance(500)
    first.tab.close()
    await clock.advance(500)
    expect(second.autosave.state.readOnly).toBe('conflict')
    expect(await second.recover()).toBe('theirs')
    expect(second.autosave.state).toMatchObject({ phase: 'idle', unsaved: false, stale: false })
    await save(second, 'more')
    expect(saved()).toBe('more')
  })
})

describe('the first tab in the queue', () => {
  it('the first tab in the queue writes although it could not read the directory when it got the lock', async () => {
    const { clock, disk, openEditor, save, saved } = editorBed()
    const first = openEditor()
    await save(first, 'one')
    const second = openEditor({ wait: 0 })
    await second.recover()
    second.edit('two')
    await clock.advance(500)
    disk.refuse = (operation) => {
      if (operation === 'read') throw new DOMException('not now', 'NotReadableError')
    }
    first.tab.close()
    await clock.advance(100)
    expect(second.autosave.state).toMatchObject({ phase: 'debouncing', backend: 'web' })
    await clock.advance(500)
    expect(second.autosave.state.phase).toBe('backoff')
    disk.refuse = () => {}
    await clock.advance(500)
    expect(saved()).toBe('two')
  })
})

describe('a lock that is lost', () => {
  /** Another tab steals the lock during this operation of the disk. */
  function stealAt({ clock, disk, manager }: ReturnType<typeof editorBed>, operation: string, path: string) {
    const thief = manager.tab()
    const steal = () =>
      new Promise((granted) =>
        thief.request('imgponic:project:autosave', { steal: true }, () => {
          granted(null)
          return new Promise(() => {})
        }),
      )
    disk.refuse = async (asked, at) => {
      if (asked !== operation || !at.includes(path)) return
      disk.refuse = () => {}
      await steal()
      await clock.advance(1)
    }
    return thief
  }

  it('a lock that is lost during a save prevents its commit', async () => {
    const bed = editorBed()
    const { clock, openEditor, save, saved } = bed
    const editor = openEditor({ wait: 100 })
    await save(editor, 'one')
    const thief = stealAt(bed, 'close', 'history')
    editor.edit('two')
    await clock.advance(600)
    await clock.advance(10_000)
    expect(saved()).toBe('one')
    expect(await editor.autosave.history()).toHaveLength(1)
    expect(editor.autosave.state).toMatchObject({
      ...{ phase: 'read-only', readOnly: 'held', inLine: true, unsaved: true, backend: null },
    })
    thief.close()
    await clock.advance(1000)
    expect(saved()).toBe('two')
  })

  it('a lock that is lost on a full disk prevents the removal of old saves', async () => {
    const bed = editorBed(new FakeDisk({ capacity: 2000 }))
    const editor = bed.openEditor({ wait: 100 })
    for (const title of ['one', 'two', 'three']) await bed.save(editor, title)
    stealAt(bed, 'write', 'history')
    editor.edit('x'.repeat(2000))
    await bed.clock.advance(600)
    await bed.clock.advance(10_000)
    expect(await editor.autosave.history()).toHaveLength(3)
    expect(editor.autosave.state).toMatchObject({ phase: 'read-only', readOnly: 'held', inLine: true })
  })

  it('a lock that is lost right after the commit prevents changes of the index and of old saves', async () => {
    const bed = editorBed()
    const editor = bed.openEditor({ wait: 100, generations: 5 })
    for (const title of ['one', 'two', 'three', 'four', 'five']) await bed.save(editor, title)
    const index = () => bed.disk.files.get('/project/autosave/index.json')
    const before = index()
    stealAt(bed, 'close', 'current.json')
    await bed.save(editor, 'six')
    expect(bed.saved()).toBe('six')
    expect(await editor.autosave.history()).toHaveLength(6)
    expect(index()).toBe(before)
    expect(editor.autosave.state).toMatchObject({ unsaved: false })
  })

  it('a lock that is lost and cannot be renewed makes the tab read-only until it gets the lock again', async () => {
    const { clock, files, openEditor, openTab, refuse, save, saved } = editorBed()
    const editor = openEditor({ tab: openTab({ locks: null }) })
    await save(editor, 'one')
    refuse('write', 'NotAllowedError')
    await clock.advance(15_000)
    expect(editor.autosave.state).toMatchObject({ phase: 'read-only', backend: null })
    editor.edit('two')
    await clock.advance(5000)
    expect(saved()).toBe('one')
    files.refuse = () => {}
    await clock.advance(60_000)
    await editor.autosave.flush()
    expect(saved()).toBe('two')
  })
})

describe('a tab that saves although another one holds the lock', () => {
  /** Two origins' worth of locks over one disk: both tabs believe that they hold the lock. */
  function twoHolders() {
    const first = editorBed()
    const second = editorBed(first.disk)
    return { first, second, tabs: [first.openEditor(), second.openEditor()] as const }
  }

  it('a tab that saves although another one holds the lock is detected by the next commit of the other, which keeps its edits', async () => {
    const { first, second, tabs } = twoHolders()
    const [a, b] = tabs
    await first.save(a, 'one')
    expect(await b.recover()).toBe('one')
    await second.save(b, 'two')
    await first.save(a, 'mine')
    expect(first.saved()).toBe('two')
    expect(a.autosave.state).toMatchObject({
      readOnly: 'conflict',
      unsaved: true,
      error: { code: 'conflict' },
    })
    await first.finished(a.autosave.flush({ overwrite: true }))
    expect(first.saved()).toBe('mine')
    await second.save(b, 'three')
    expect(b.autosave.state).toMatchObject({ readOnly: 'conflict', unsaved: true })
    expect(first.saved()).toBe('mine')
  })

  it.each(['write', 'create-writable', 'read'] as const)(
    'is detected although it saves while the other stalls in its commit (%s)',
    async (operation) => {
      const { first, second, tabs } = twoHolders()
      const [a, b] = tabs
      await first.save(a, 'one')
      await b.recover()
      const resume = first.disk.pause(operation, 'current.json')
      a.edit('mine')
      const flushing = a.autosave.flush()
      await first.clock.advance(1000)
      const others = second.save(b, 'theirs')
      await second.clock.advance(1000)
      resume()
      await first.finished(flushing)
      await second.finished(others)
      const outcomes = [a, b].map(({ autosave }) => autosave.state.readOnly).sort()
      expect(outcomes).toEqual(['conflict', null])
    },
  )
})

describe('a lock that is taken only for each save', () => {
  it('a lock that is taken only for each save lets two tabs write in turn if each has loaded what the other saved', async () => {
    const { openEditor, save, saved, manager } = editorBed()
    const [first, second] = [openEditor({ hold: 'save' }), openEditor({ hold: 'save' })]
    await save(first, 'one')
    expect((await manager.tab().query()).held).toEqual([])
    expect(first.autosave.state.backend).toBeNull()
    await second.recover()
    await save(second, 'two')
    expect(saved()).toBe('two')
  })

  it('a lock that is taken only for each save does not overwrite what another tab saved in between', async () => {
    const { openEditor, save, saved } = editorBed()
    const [first, second] = [openEditor({ hold: 'save' }), openEditor({ hold: 'save' })]
    await Promise.all([first.recover(), second.recover()])
    await save(first, 'one')
    await save(second, 'two')
    expect(saved()).toBe('one')
    expect(second.autosave.state).toMatchObject({ readOnly: 'conflict', backend: null, unsaved: true })
    await save(first, 'one more')
    expect(saved()).toBe('one more')
  })

  it('a lock that is taken only for each save saves automatically when the lock that made it read-only is free', async () => {
    const { clock, manager, openEditor, saved } = editorBed()
    const other = manager.tab()
    void other.request('imgponic:project:autosave', {}, () => new Promise(() => {}))
    const editor = openEditor({ hold: 'save', wait: 100 })
    editor.edit('patience')
    await clock.advance(1000)
    expect(editor.autosave.state).toMatchObject({ phase: 'read-only', inLine: true })
    other.close()
    await clock.advance(1000)
    expect(saved()).toBe('patience')
    expect((await manager.tab().query()).held).toEqual([])
  })
})

describe('a browser without Web Locks', () => {
  it('saves with the fallback lock, and the state says so', async () => {
    const { openEditor, openTab, save, saved } = editorBed()
    const editor = openEditor({ tab: openTab({ locks: null }) })
    await save(editor, 'by file')
    expect(saved()).toBe('by file')
    expect(editor.autosave.state.backend).toBe('fallback')
  })

  it('a browser without Web Locks still says so if the lock was taken only for the save', async () => {
    const { openEditor, openTab, save } = editorBed()
    const editor = openEditor({ tab: openTab({ locks: null }), hold: 'save' })
    await save(editor, 'by file')
    expect(editor.autosave.state).toMatchObject({ backend: null, savedBy: 'fallback' })
    expect(messageOf(editor.autosave.state)).toBe('fallback')
  })

  it('a browser without Web Locks reports once that the lock file may not be written, and can be retried', async () => {
    const { clock, files, finished, openEditor, openTab, refuse, saved } = editorBed()
    const editor = openEditor({ tab: openTab({ locks: null }) })
    refuse('open', 'NotAllowedError')
    editor.edit('one')
    await clock.advance(60_000)
    const snapshot = editor.autosave.state
    expect(snapshot).toMatchObject({ phase: 'read-only', readOnly: 'denied', inLine: false })
    expect([messageOf(snapshot), canRetry(snapshot)]).toEqual(['denied', true])
    expect(editor.events.filter(({ type }) => type === 'autosave:error')).toMatchObject([
      { operation: 'acquire', code: 'not-allowed', retryable: false },
    ])
    files.refuse = () => {}
    await finished(editor.autosave.flush())
    expect(saved()).toBe('one')
    expect(editor.autosave.state).toMatchObject({ phase: 'idle', readOnly: null })
  })

  it('a browser without Web Locks takes the lock again after failed renewals, and continues to save', async () => {
    const { clock, openEditor, openTab, refuse, files, save, saved } = editorBed()
    const editor = openEditor({ tab: openTab({ locks: null }) })
    await save(editor, 'one')
    refuse('write', 'InvalidStateError')
    await clock.advance(25_000)
    files.refuse = () => {}
    await clock.advance(60_000)
    await save(editor, 'two')
    expect(saved()).toBe('two')
    expect(editor.autosave.state).toMatchObject({ phase: 'idle', backend: 'fallback' })
  })
})
