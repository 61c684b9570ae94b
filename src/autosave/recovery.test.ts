import { describe, expect, it } from 'vitest'
import { editorBed } from '../../test/autosave/editor-bed.ts'
import { measure } from './checksum.ts'
import { encodeSave, fileNameOf } from './save-file.ts'

describe('restoring', () => {
  it('leaves out what does not prove itself, and takes the newest that does', async () => {
    const { disk, openEditor, save } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    await save(editor, 'two')
    const [newest] = await editor.autosave.restore()
    const path = disk.paths.filter((path) => path.includes('history')).at(-1)
    disk.files.set(`/${path}`, disk.files.get(`/${path}`)?.replace('two', 'tow') ?? '')
    await expect(newest?.load()).rejects.toMatchObject({ code: 'corrupt' })
    expect(await openEditor().recover()).toBe('one')
  })

  describe('of a save that cannot be read', () => {
    async function unreadable() {
      const bed = editorBed()
      const editor = bed.openEditor()
      for (const title of ['one', 'two']) await bed.save(editor, title)
      await bed.finished(editor.autosave.dispose())
      const newest = bed.disk.paths.filter((path) => path.includes('history')).at(-1)
      bed.disk.refuse = (operation, path) => {
        if (operation === 'read' && path === newest) throw new DOMException('no', 'NotReadableError')
      }
      return bed
    }

    it('finds the others, and it can be saved over and stays', async () => {
      const { disk, openEditor, save, saved } = await unreadable()
      const editor = openEditor()
      expect(await editor.recover()).toBe('one')
      await save(editor, 'three')
      expect(saved()).toBe('three')
      disk.refuse = () => {}
      expect(await editor.autosave.history()).toHaveLength(3)
    })

    it.each([true, false])('says so when there are no others, be there an index: %s', async (hasIndex) => {
      const { disk, openEditor } = await unreadable()
      if (!hasIndex) disk.files.delete('/project/autosave/index.json')
      disk.refuse = (operation, path) => {
        if (operation === 'read' && path.includes('history')) throw new DOMException('no', 'NotReadableError')
      }
      await expect(openEditor().autosave.restore()).rejects.toThrow('no')
    })
  })

  it('leaves the state as it is when a save, though whole, holds no JSON', async () => {
    const { disk, openEditor, save } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    const id = '2031-01-01T00:00:00.000Z'
    const path = `/project/autosave/history/${fileNameOf(id)}`
    disk.files.set(path, encodeSave({ id, text: '{title', ...measure('{title') }))
    const foreign = (await editor.autosave.restore()).find((found) => found.id === id)
    await expect(foreign?.load()).rejects.toThrow('JSON')
    expect(editor.autosave.snapshot().unsaved).toBe(false)
  })

  it('finds nothing where nothing was saved, and makes nothing', async () => {
    const { disk, openEditor } = editorBed()
    const editor = openEditor()
    expect(await editor.recover()).toBeNull()
    expect(await editor.autosave.history()).toEqual([])
    expect(disk.paths).toEqual([])
  })

  it('of an older save is saved as a new one', async () => {
    const { clock, openEditor, save, saved } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    await save(editor, 'two')
    const older = (await editor.autosave.restore()).find(({ source }) => source === 'history')
    editor.title = (await older?.load())?.title ?? ''
    expect(editor.autosave.snapshot().unsaved).toBe(true)
    await clock.advance(500)
    expect(saved()).toBe('one')
    expect(await editor.autosave.history()).toHaveLength(3)
  })

  it('from a list that was made before this page saved again is no conflict', async () => {
    const { clock, openEditor, save, saved } = editorBed()
    const editor = openEditor()
    for (const title of ['one', 'two']) await save(editor, title)
    const [, older] = await editor.autosave.restore()
    await save(editor, 'three')
    editor.title = (await older?.load())?.title ?? ''
    await clock.advance(500)
    expect(saved()).toBe('one')
  })

  it('in the midst of a save of what was there before is what counts in the end', async () => {
    const { clock, disk, openEditor, save, saved } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    const goOn = disk.pause('close', 'history')
    editor.edit('two')
    void editor.autosave.flushNow()
    await clock.advance(10)
    expect(await editor.recover()).toBe('one')
    goOn()
    await clock.advance(10)
    expect(saved()).toBe('two')
    await clock.advance(500)
    expect(saved()).toBe('one')
    expect(editor.autosave.snapshot().unsaved).toBe(false)
  })
})

it('to overwrite while a save of ours ends makes no conflict with that one', async () => {
  const { clock, disk, finished, openEditor, save, saved } = editorBed()
  const editor = openEditor()
  await save(editor, 'one')
  const [endSave, endLook] = [disk.pause('close', 'history'), disk.pause('read', 'index.json')]
  editor.edit('two')
  void editor.autosave.flushNow()
  await clock.advance(10)
  const flush = editor.autosave.flushNow({ overwrite: true })
  await clock.advance(10)
  endSave()
  await clock.advance(10)
  editor.edit('three')
  endLook()
  expect(await finished(flush)).toMatchObject({ phase: 'idle', readOnly: null })
  expect(saved()).toBe('three')
})
