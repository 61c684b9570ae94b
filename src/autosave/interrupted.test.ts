import { describe, expect, it } from 'vitest'
import { type Editor, editorBed } from '../../test/autosave/editor-bed.ts'

describe('a page that was away', () => {
  it.each<[what: string, run: (editor: Editor) => unknown]>([
    ['is edited', () => {}],
    ['has a save due', ({ autosave }) => autosave.flushNow()],
  ])('and %s writes with the lock that it has, once that is confirmed', async (_, run) => {
    const { clock, disk, manager, openEditor, openTab, save, saved } = editorBed()
    const own = manager.tab()
    const confirmed = Promise.withResolvers<void>()
    const query = () => confirmed.promise.then(() => own.query())
    const editor = openEditor({ tab: openTab({ locks: { ...own, query } }) })
    await save(editor, 'one')
    const before = disk.paths
    editor.tab.page.dispatchEvent(new Event('resume'))
    editor.edit('two')
    void run(editor)
    await clock.advance(1000)
    expect(disk.paths).toEqual(before)
    confirmed.resolve()
    await clock.advance(5000)
    expect(saved()).toBe('two')
    expect(editor.tab.emitted()).toEqual(['attempt', 'acquired'])
  })
})

describe('a page that stood still for longer than its lock lives', () => {
  /** Two pages without Web Locks; the second was away in the midst of something. */
  function sleepyBed() {
    const bed = editorBed()
    const openFallback = () => bed.openEditor({ tab: bed.openTab({ locks: null }) })
    return { ...bed, openFallback }
  }

  it('in a save, ends that one before it begins the next', async () => {
    const { clock, disk, openFallback, save, saved } = sleepyBed()
    const editor = openFallback()
    await save(editor, 'one')
    const before = editor.autosave.snapshot()
    const goOn = disk.pause('close', 'history')
    editor.edit('two')
    void editor.autosave.flushNow()
    await clock.advance(10)
    clock.jump(60_000)
    await clock.advance(15_000)
    expect(editor.autosave.snapshot()).toMatchObject({ phase: 'debouncing', backend: 'fallback' })
    const finish = disk.pause('close', 'history')
    goOn()
    await clock.advance(10)
    expect(editor.autosave.snapshot().phase).toBe('writing')
    finish()
    await clock.advance(10)
    expect(saved()).toBe('two')
    const after = editor.autosave.snapshot()
    expect(after).toMatchObject({ phase: 'idle', unsaved: false })
    expect(after.savedAt).toBeGreaterThan(before.savedAt ?? Infinity)
  })

  it('when its turn had come, stands in line again, and but once', async () => {
    const { clock, disk, finished, openFallback, openTab, save, saved } = sleepyBed()
    const first = openFallback()
    await save(first, 'one')
    const second = openFallback()
    await second.recover()
    second.edit('two')
    await clock.advance(20_000)
    const goOn = disk.pause('open')
    await finished(first.autosave.dispose())
    await clock.advance(5000)
    expect(second.tab.emitted()).toContain('acquired')
    clock.jump(60_000)
    const other = openTab({ locks: null })
    const lease = await finished(other.locks.acquireProjectLock())
    await clock.advance(15_000)
    goOn()
    await clock.advance(1000)
    expect(second.autosave.snapshot()).toMatchObject({ phase: 'read-only', inLine: true, backend: null })
    await finished(other.locks.releaseProjectLock(lease))
    await clock.advance(5000)
    expect(saved()).toBe('two')
    expect(second.autosave.snapshot()).toMatchObject({ phase: 'idle', readOnly: null })
  })
})
