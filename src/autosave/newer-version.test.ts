/** A page of an older version of the application, such as one from a cache, opens what a newer one has saved. */
import { expect, it } from 'vitest'
import { editorBed } from '../../test/autosave/editor-bed.ts'
import { canRetry } from './index.ts'

const REFUSAL = {
  name: 'AutoSaveError',
  code: 'other-format',
  retryable: false,
  message: expect.stringContaining('newer version'),
}

/** Two saves, and an open editor without edits. `part` of the files is of the next version. */
async function savedByNewer(part: 'current.json' | 'history' | 'autosave') {
  const bed = editorBed()
  const first = bed.openEditor()
  for (const title of ['one', 'two']) await bed.save(first, title)
  await bed.finished(first.autosave.close())
  for (const [path, text] of bed.disk.files)
    if (path.includes(part)) bed.disk.files.set(path, text.replace('"holdfast":1', '"holdfast":2'))
  return { ...bed, before: new Map(bed.disk.files), editor: bed.openEditor() }
}

it.each(['current.json', 'autosave'] as const)(
  'nothing is replaced, removed or restored if %s is of a newer version',
  async (part) => {
    const { before, disk, editor, finished, journal } = await savedByNewer(part)
    await expect(editor.autosave.restore()).rejects.toMatchObject(REFUSAL)
    await expect(editor.autosave.history()).rejects.toMatchObject(REFUSAL)
    editor.edit('three')
    await finished(editor.autosave.flush())
    expect(editor.autosave.state).toMatchObject({ phase: 'error', unsaved: true, error: REFUSAL })
    expect(canRetry(editor.autosave.state)).toBe(false)
    await finished(editor.autosave.close())
    expect(new Map(disk.files)).toEqual(before)
    expect([...journal.items.values()].join()).toContain('three')
  },
)

it('a pointer of no version is damaged, and the newest save is the current one', async () => {
  const { disk, openEditor, save, finished } = editorBed()
  await save(openEditor(), 'one')
  disk.files.set('/project/autosave/current.json', '{"holdfast":{"toString":null},"savedAt":"x"}')
  const { autosave } = openEditor()
  expect(await finished(autosave.restore())).toMatchObject({ skipped: [] })
  expect(await finished(autosave.history())).toHaveLength(1)
})

it('saves of a newer version stay, also if nothing says which save is the current one', async () => {
  const { before, disk, editor, finished } = await savedByNewer('history')
  for (const name of ['current.json', 'index.json']) disk.files.delete(`/project/autosave/${name}`)
  editor.edit('three')
  await finished(editor.autosave.flush())
  await finished(editor.autosave.close())
  for (const [path, text] of before) if (path.includes('history')) expect(disk.files.get(path)).toBe(text)
})

it('a newer version that saves for the first time while this tab saves is a reason to stop', async () => {
  const { clock, disk, openEditor } = editorBed()
  const editor = openEditor()
  const resume = disk.pause('close', 'history')
  editor.edit('one')
  void editor.autosave.flush()
  await clock.advance(10)
  const newer = JSON.stringify({ holdfast: 2, somewhere: 'else' })
  disk.files.set('/project/autosave/current.json', newer)
  resume()
  await clock.advance(1000)
  expect(disk.files.get('/project/autosave/current.json')).toBe(newer)
  expect(editor.autosave.state).toMatchObject({ phase: 'error', error: REFUSAL })
})
