import { describe, expect, it } from 'vitest'
import { type Editor, editorBed } from '../../test/autosave/editor-bed.ts'

describe('a page that was away', () => {
  it.each<[what: string, run: (editor: Editor) => unknown]>([
    ['is edited', () => {}],
    ['has a save due', ({ autosave }) => autosave.flush()],
  ])('a page that was away and %s writes with its lock after that is confirmed', async (_, run) => {
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

describe('a page that was suspended for longer than its lock lives', () => {
  /** Pages without Web Locks, so that their locks expire. */
  function fallbackBed() {
    const bed = editorBed()
    const openFallback = () => bed.openEditor({ tab: bed.openTab({ locks: null }) })
    return { ...bed, openFallback }
  }

  it('a page that was suspended for longer than its lock lives during a save ends that save before it begins the next', async () => {
    const { clock, disk, openFallback, save, saved } = fallbackBed()
    const editor = openFallback()
    await save(editor, 'one')
    const before = editor.autosave.state
    const resume = disk.pause('close', 'history')
    editor.edit('two')
    void editor.autosave.flush()
    await clock.advance(10)
    clock.jump(60_000)
    await clock.advance(15_000)
    expect(editor.autosave.state).toMatchObject({ phase: 'debouncing', backend: 'fallback' })
    const finish = disk.pause('close', 'history')
    resume()
    await clock.advance(10)
    expect(editor.autosave.state.phase).toBe('writing')
    finish()
    await clock.advance(10)
    expect(saved()).toBe('two')
    const after = editor.autosave.state
    expect(after).toMatchObject({ phase: 'idle', unsaved: false })
    expect(after.savedAt).toBeGreaterThan(before.savedAt ?? Infinity)
  })

  it('a page that was suspended for longer than its lock lives after it was granted the lock joins the queue again, once', async () => {
    const { clock, disk, finished, openFallback, openTab, save, saved } = fallbackBed()
    const first = openFallback()
    await save(first, 'one')
    const second = openFallback()
    await second.recover()
    second.edit('two')
    await clock.advance(20_000)
    const resume = disk.pause('open')
    await finished(first.autosave.close())
    await clock.advance(5000)
    expect(second.tab.emitted()).toContain('acquired')
    clock.jump(60_000)
    const other = openTab({ locks: null })
    const lease = await finished(other.locks.acquireProjectLock())
    await clock.advance(15_000)
    resume()
    await clock.advance(1000)
    expect(second.autosave.state).toMatchObject({ phase: 'read-only', inLine: true, backend: null })
    await finished(other.locks.releaseProjectLock(lease))
    await clock.advance(5000)
    expect(saved()).toBe('two')
    expect(second.autosave.state).toMatchObject({ phase: 'idle', readOnly: null })
  })
})
