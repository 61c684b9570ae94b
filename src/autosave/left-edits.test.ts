/** Edits that a tab with the lock leaves in its journal, and the open tab that gets the lock after it. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Editor, type EditorOptions, editorBed } from '../../test/autosave/editor-bed.ts'
import { stubPage } from '../../test/autosave/stub-page.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

/** A first tab that has saved 'one', and tabs that can be closed in the middle of an edit. */
async function openTabs(options: EditorOptions = {}) {
  const bed = editorBed()
  const page = stubPage()
  const first = bed.openEditor(options)
  await bed.save(first, 'one')
  const openOther = async (more: EditorOptions = {}) => {
    const disk = bed.disk.shared()
    const editor = bed.openEditor({ directory: disk.root, ...options, ...more })
    await editor.recover()
    const leave = async () => {
      disk.diesAt = 0
      page.dispatchEvent(new Event('pagehide'))
      editor.tab.close()
      await bed.clock.advance(100)
    }
    return Object.assign(editor, { leave })
  }
  const takeOver = async ({ autosave }: Editor) => {
    autosave.changed()
    await bed.clock.advance(1500)
    await bed.finished(autosave.takeover())
    await bed.finished(autosave.flush())
  }
  return { ...bed, page, first, openOther, takeOver }
}

describe('a tab that gets the lock back from a tab that was closed right after an edit', () => {
  it('a tab that gets the lock back from a tab that was closed right after an edit is stale until it has loaded those edits, and saves them', async () => {
    const { clock, first, journal, openOther, saved, takeOver } = await openTabs()
    const second = await openOther()
    await takeOver(second)
    expect(first.autosave.state).toMatchObject({ readOnly: 'lost', inLine: true })
    await first.recover()
    second.edit('left by the second')
    await second.leave()
    expect(saved()).not.toBe('left by the second')
    expect(first.autosave.state).toMatchObject({ phase: 'idle', backend: 'web', stale: true, unsaved: false })
    expect(await first.recover()).toBe('left by the second')
    expect(first.autosave.state).toMatchObject({ stale: false, unsaved: true })
    await clock.advance(1000)
    expect(saved()).toBe('left by the second')
    expect(journal.items.size).toBe(0)
  })

  it('a tab that gets the lock back from a tab that was closed right after an edit does not save over them if it is edited before', async () => {
    const { clock, finished, first, openOther, saved, takeOver } = await openTabs()
    const second = await openOther()
    await takeOver(second)
    await first.recover()
    const before = saved()
    second.edit('left by the second')
    await second.leave()
    first.edit('mine')
    await clock.advance(5000)
    expect(saved()).toBe(before)
    expect(first.autosave.state).toMatchObject({ readOnly: 'conflict', unsaved: true, stale: true })
    await finished(first.autosave.flush({ overwrite: true }))
    expect(saved()).toBe('mine')
    const recoverable = await first.autosave.restore()
    const titles = await Promise.all(recoverable.map(async (save) => (await save.read()).title))
    expect(titles).toContain('left by the second')
  })

  it('a tab that gets the lock back from a tab that was closed right after an edit is still stale after it has loaded a save that it began to load before it had the lock', async () => {
    const { clock, disk, first, openOther, takeOver } = await openTabs()
    const second = await openOther()
    await takeOver(second)
    await first.recover()
    const [listed] = await first.autosave.restore({ limit: 1, journals: false })
    const resume = disk.pause('read', 'history')
    const loading = listed?.load()
    second.edit('left by the second')
    await second.leave()
    resume()
    await loading
    await clock.advance(100)
    expect(first.autosave.state).toMatchObject({ phase: 'idle', stale: true })
    expect(await first.recover()).toBe('left by the second')
  })
})

describe.each(['session', 'save'] as const)('with the lock for each %s', (hold) => {
  it('an open tab without the lock does not save over edits that a closed tab has left', async () => {
    const { clock, finished, openOther, first, saved } = await openTabs({ hold })
    await finished(first.autosave.close())
    const [second, third] = [await openOther(), await openOther()]
    third.edit('left by the third')
    await third.leave()
    second.edit('mine')
    await clock.advance(5000)
    expect(saved()).toBe('one')
    expect(second.autosave.state).toMatchObject({ readOnly: 'conflict', unsaved: true })
    await finished(second.autosave.flush({ overwrite: true }))
    expect(second.autosave.state).toMatchObject({ phase: 'idle', unsaved: false })
  })
})

it('edits that were left before a tab was opened are no conflict: it could restore them', async () => {
  const { finished, first, openOther, save, saved } = await openTabs()
  await finished(first.autosave.close())
  const second = await openOther()
  second.edit('left by the second')
  await second.leave()
  const third = await openOther({ eager: true })
  await save(third, 'by the third')
  expect(saved()).toBe('by the third')
})

it('a journal that its page has written again after it was loaded elsewhere is not removed', async () => {
  const { clock, first, journal, openOther, page, saved } = await openTabs()
  const second = await openOther({ wait: 0 })
  second.edit('typed')
  await clock.advance(1000)
  page.dispatchEvent(new Event('pagehide'))
  expect(await first.recover()).toBe('typed')
  second.edit('typed, and more')
  page.dispatchEvent(new Event('pagehide'))
  await clock.advance(5000)
  expect(saved()).toBe('typed')
  expect([...journal.items.values()].join()).toContain('typed, and more')
})
