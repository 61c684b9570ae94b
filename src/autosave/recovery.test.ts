import { describe, expect, it } from 'vitest'
import { editorBed } from '../../test/autosave/editor-bed.ts'
import { encodeSave, fileNameOf, measure } from './save-file.ts'

describe('restoring', () => {
  it('restoring skips damaged saves, and returns the newest verified one', async () => {
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

  describe('says which saves it skipped, and never removes them', () => {
    async function threeSaves() {
      const bed = editorBed()
      const editor = bed.openEditor()
      for (const title of ['one', 'two', 'three']) await bed.save(editor, title)
      await bed.finished(editor.autosave.close())
      const paths = bed.disk.paths.filter((path) => path.includes('history')).map((path) => `/${path}`)
      return { ...bed, paths, next: bed.openEditor() }
    }
    const DAMAGES: Readonly<Record<string, (text: string) => string | null>> = {
      'another text': (text) => text.replace('three', 'there'),
      'a cut end': (text) => text.slice(0, -3),
      'a damaged head': (text) => text.replace('holdfast', 'oldfast'),
      'an empty file': () => '',
      'no file': () => null,
    }

    it.each(Object.entries(DAMAGES))('the newest: %s', async (name, damage) => {
      const { disk, next, paths, save } = await threeSaves()
      const newest = paths.at(-1) ?? ''
      const damaged = damage(disk.files.get(newest) ?? '')
      if (damaged === null) disk.files.delete(newest)
      else disk.files.set(newest, damaged)
      const found = await next.autosave.restore({ limit: 1 })
      const skipped = [
        {
          id: expect.any(String),
          savedAt: expect.any(Number),
          reason: name === 'no file' ? 'missing' : 'damaged',
        },
      ]
      expect(found.skipped).toEqual(skipped)
      expect(next.autosave.state.skipped).toEqual(skipped)
      expect(next.events).toContainEqual(
        expect.objectContaining({ type: 'autosave:error', operation: 'restore', code: 'corrupt' }),
      )
      next.title = (await found[0]?.load())?.title ?? ''
      expect(next.title).toBe('two')
      await save(next, 'four')
      if (damaged !== null) expect(disk.files.get(newest)).toBe(damaged)
    })

    it.each(['another text', 'a cut end'])(
      'the same content is saved again if the newest save has %s',
      async (damage) => {
        const { disk, next, paths, save, openEditor } = await threeSaves()
        const newest = paths.at(-1) ?? ''
        disk.files.set(newest, DAMAGES[damage]?.(disk.files.get(newest) ?? '') ?? '')
        expect(await next.recover()).toBe('two')
        await save(next, 'three')
        expect(next.autosave.state).toMatchObject({ phase: 'idle', unsaved: false })
        expect(await openEditor().recover()).toBe('three')
      },
    )

    it('an older one is only listed', async () => {
      const { disk, next, paths } = await threeSaves()
      disk.files.set(paths[0] ?? '', 'damaged')
      expect((await next.autosave.restore()).skipped).toMatchObject([{ reason: 'damaged' }])
      expect(next.autosave.state.skipped).toEqual([])
    })
  })

  describe('with a save that cannot be read', () => {
    async function unreadable() {
      const bed = editorBed()
      const editor = bed.openEditor()
      for (const title of ['one', 'two']) await bed.save(editor, title)
      await bed.finished(editor.autosave.close())
      const newest = bed.disk.paths.filter((path) => path.includes('history')).at(-1)
      bed.disk.refuse = (operation, path) => {
        if (operation === 'read' && path === newest) throw new DOMException('no', 'NotReadableError')
      }
      return bed
    }

    it('restoring with a save that cannot be read finds the other saves, and the unreadable one stays in the history', async () => {
      const { disk, openEditor, save, saved } = await unreadable()
      const editor = openEditor()
      expect(await editor.recover()).toBe('one')
      await save(editor, 'three')
      expect(saved()).toBe('three')
      disk.refuse = () => {}
      expect(await editor.autosave.history()).toHaveLength(3)
    })

    it.each([true, false])(
      'rejects with load-failed if no save can be read, with an index: %s',
      async (hasIndex) => {
        const { disk, openEditor } = await unreadable()
        if (!hasIndex) disk.files.delete('/project/autosave/index.json')
        disk.refuse = (operation, path) => {
          if (operation === 'read' && path.includes('history'))
            throw new DOMException('no', 'NotReadableError')
        }
        const { autosave } = openEditor()
        const failure = { name: 'AutoSaveError', code: 'load-failed', cause: { name: 'NotReadableError' } }
        await expect(autosave.restore()).rejects.toMatchObject(failure)
      },
    )
  })

  it('rejects with not-allowed if the directory may not be read, and so does the history', async () => {
    const { disk, openEditor } = editorBed()
    disk.refuse = () => {
      throw new DOMException('no', 'NotAllowedError')
    }
    const { autosave } = openEditor()
    await expect(autosave.restore()).rejects.toMatchObject({ name: 'AutoSaveError', code: 'not-allowed' })
    await expect(autosave.history()).rejects.toMatchObject({ name: 'AutoSaveError', code: 'not-allowed' })
  })

  it('restoring leaves the state as it is if a complete save is not JSON', async () => {
    const { disk, openEditor, save } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    const id = '2031-01-01T00:00:00.000Z'
    const path = `/project/autosave/history/${fileNameOf(id)}`
    disk.files.set(path, encodeSave({ id, text: '{title', ...measure('{title') }))
    const foreign = (await editor.autosave.restore()).find((found) => found.id === id)
    await expect(foreign?.load()).rejects.toMatchObject({ code: 'corrupt', cause: expect.any(SyntaxError) })
    expect(editor.autosave.state.unsaved).toBe(false)
  })

  it('restoring finds nothing if nothing was saved, and creates no file', async () => {
    const { disk, openEditor } = editorBed()
    const editor = openEditor()
    expect(await editor.recover()).toBeNull()
    expect(await editor.autosave.history()).toEqual([])
    expect(disk.paths).toEqual([])
  })

  it('restoring can read a save without using it', async () => {
    const { openEditor, save } = editorBed()
    const editor = openEditor()
    for (const title of ['one', 'two']) await save(editor, title)
    const before = editor.autosave.state
    const found = await editor.autosave.restore()
    expect(await Promise.all(found.map((one) => one.read()))).toEqual([{ title: 'two' }, { title: 'one' }])
    expect(editor.autosave.state).toBe(before)
  })

  it('an older save creates a new save', async () => {
    const { clock, openEditor, save, saved } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    await save(editor, 'two')
    const older = (await editor.autosave.restore()).find(({ source }) => source === 'history')
    editor.title = (await older?.load())?.title ?? ''
    expect(editor.autosave.state.unsaved).toBe(true)
    await clock.advance(500)
    expect(saved()).toBe('one')
    expect(await editor.autosave.history()).toHaveLength(3)
  })

  it('restoring from a list that is older than the last own save is not a conflict', async () => {
    const { clock, openEditor, save, saved } = editorBed()
    const editor = openEditor()
    for (const title of ['one', 'two']) await save(editor, title)
    const [, older] = await editor.autosave.restore()
    await save(editor, 'three')
    editor.title = (await older?.load())?.title ?? ''
    await clock.advance(500)
    expect(saved()).toBe('one')
  })

  it('restoring during a save of the previous state is saved afterwards', async () => {
    const { clock, disk, openEditor, save, saved } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    const resume = disk.pause('close', 'history')
    editor.edit('two')
    void editor.autosave.flush()
    await clock.advance(10)
    expect(await editor.recover()).toBe('one')
    resume()
    await clock.advance(10)
    expect(saved()).toBe('two')
    await clock.advance(500)
    expect(saved()).toBe('one')
    expect(editor.autosave.state.unsaved).toBe(false)
  })
})

it('overwriting while an own save ends is not a conflict with that save', async () => {
  const { clock, disk, finished, openEditor, save, saved } = editorBed()
  const editor = openEditor()
  await save(editor, 'one')
  const [endSave, endLook] = [disk.pause('close', 'history'), disk.pause('read', 'index.json')]
  editor.edit('two')
  void editor.autosave.flush()
  await clock.advance(10)
  const flush = editor.autosave.flush({ overwrite: true })
  await clock.advance(10)
  endSave()
  await clock.advance(10)
  editor.edit('three')
  endLook()
  expect(await finished(flush)).toMatchObject({ phase: 'idle', readOnly: null })
  expect(saved()).toBe('three')
})
