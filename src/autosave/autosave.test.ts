import { describe, expect, it } from 'vitest'
import { editorBed } from '../../test/autosave/editor-bed.ts'
import { FakeDisk } from '../../test/autosave/fake-disk.ts'
import { createAutoSave } from './index.ts'

describe('a save', () => {
  it('starts when there was no edit for a while, and runs through its phases', async () => {
    const { clock, openEditor, saved } = editorBed()
    const editor = openEditor()
    editor.edit('one')
    await clock.advance(400)
    editor.edit('two')
    await clock.advance(499)
    expect(saved()).toBeNull()
    expect(editor.autosave.snapshot()).toMatchObject({ phase: 'debouncing', unsaved: true })
    await clock.advance(1)
    expect(saved()).toBe('two')
    expect(editor.phases()).toEqual(['debouncing', 'awaiting-lock', 'writing', 'committing', 'gc', 'idle'])
    expect(editor.autosave.snapshot()).toMatchObject({
      ...{ phase: 'idle', unsaved: false, backend: 'web', savedAt: clock.now() },
      ...{ readOnly: null, error: null },
    })
  })

  it('is not put off for ever by somebody who types on', async () => {
    const { clock, openEditor, saved } = editorBed()
    const editor = openEditor()
    for (let typed = 0; typed <= 2500; typed += 100) {
      editor.edit(`typed for ${typed} ms`)
      await clock.advance(100)
    }
    expect(saved()).toBe('typed for 2400 ms')
  })

  it('includes what is edited while it is written in the next one', async () => {
    const { clock, disk, openEditor, saved } = editorBed()
    const editor = openEditor()
    disk.refuse = (operation) => {
      if (operation === 'close' && editor.title === 'one') editor.edit('two')
    }
    editor.edit('one')
    await clock.advance(500)
    expect(saved()).toBe('one')
    expect(editor.autosave.snapshot()).toMatchObject({ phase: 'debouncing', unsaved: true })
    await clock.advance(500)
    expect(saved()).toBe('two')
  })

  it('makes the files that it promises, and touches no others', async () => {
    const { clock, disk, openEditor, save } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    await clock.advance(1000)
    await save(editor, 'two')
    expect(disk.paths).toEqual([
      'project/autosave/current.json',
      'project/autosave/history/2030-01-01T00-00-00.000Z.json',
      expect.stringMatching(/^project\/autosave\/history\/2030-01-01T00-00-01\.\d{3}Z\.json$/),
      'project/autosave/index.json',
    ])
  })

  it('writes nothing when the state is as it was saved', async () => {
    const { clock, openEditor, save } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    await save(editor, 'one')
    await clock.advance(5000)
    expect(editor.autosave.snapshot()).toMatchObject({ phase: 'idle', unsaved: false })
    expect(await editor.autosave.history()).toHaveLength(1)
  })

  it('is tried again after 0.5, 1, 2 and 4 s, and is an error then until somebody edits', async () => {
    const { clock, disk, openEditor, saved } = editorBed()
    const editor = openEditor()
    disk.refuse = (operation) => {
      if (operation === 'close') throw new DOMException('no', 'InvalidStateError')
    }
    editor.edit('one')
    await clock.advance(500)
    expect(editor.autosave.snapshot()).toMatchObject({ phase: 'backoff', retryAt: clock.now() + 500 })
    await clock.advance(7500)
    const delays = editor.events.flatMap((event) => (event.type === 'autosave:retry' ? event.delayMs : []))
    expect(delays).toEqual([500, 1000, 2000, 4000])
    expect(editor.autosave.snapshot()).toMatchObject({
      ...{ phase: 'error', unsaved: true, error: { code: 'write-failed', retryable: true } },
    })
    disk.refuse = () => {}
    editor.edit('two')
    await clock.advance(500)
    expect(saved()).toBe('two')
    expect(editor.autosave.snapshot()).toMatchObject({ phase: 'idle', error: null })
  })

  it('says so when the state cannot be read, and tries with the next edit', async () => {
    const { clock, openEditor, saved } = editorBed()
    let broken = true
    const editor = openEditor({
      read: () => {
        if (broken) throw new Error('not now')
        return { title: 'mended' }
      },
    })
    editor.edit('one')
    await clock.advance(500)
    expect(editor.autosave.snapshot()).toMatchObject({ phase: 'error', error: { code: 'read-failed' } })
    broken = false
    editor.edit('two')
    await clock.advance(500)
    expect(saved()).toBe('mended')
  })

  it('makes room by the oldest saves when the disk is full', async () => {
    const { openEditor, save, saved } = editorBed(new FakeDisk({ capacity: 2000 }))
    const editor = openEditor()
    for (let n = 0; n < 20; n++) await save(editor, `save ${n}`)
    expect(saved()).toBe('save 19')
    expect((await editor.autosave.history()).length).toBeLessThan(15)
  })

  it('keeps the last save and says so when it does not fit at all', async () => {
    const { openEditor, save, saved } = editorBed(new FakeDisk({ capacity: 1000 }))
    const editor = openEditor()
    await save(editor, 'small')
    await save(editor, 'x'.repeat(1000))
    expect(saved()).toBe('small')
    expect(editor.autosave.snapshot()).toMatchObject({
      ...{ phase: 'error', unsaved: true, error: { code: 'quota-exceeded', retryable: false } },
    })
    await save(editor, 'small again')
    expect(saved()).toBe('small again')
  })

  it('comes back after the site was cleared under the page', async () => {
    const { clock, disk, openEditor, save, saved } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    disk.clear()
    editor.edit('two')
    await clock.advance(1500)
    expect(saved()).toBe('two')
  })
})

describe('the history', () => {
  it('keeps so many generations, the newest first', async () => {
    const { openEditor, save } = editorBed()
    const editor = openEditor()
    for (let n = 1; n <= 22; n++) await save(editor, `save ${n}`)
    const history = await editor.autosave.history()
    expect(history).toHaveLength(20)
    expect(history.map(({ current }) => current).indexOf(true)).toBe(0)
    const recoverable = await editor.autosave.restore()
    const titles = await Promise.all(recoverable.map(async (save) => (await save.load()).title))
    expect(titles).toEqual(Array.from({ length: 20 }, (_, n) => `save ${22 - n}`))
  })

  it('keeps so many bytes, the current save always', async () => {
    const { openEditor, save } = editorBed()
    const editor = openEditor({ maxBytes: 50 })
    for (const title of ['a', 'b', 'c', 'd']) await save(editor, title.repeat(10))
    expect(await editor.autosave.history()).toHaveLength(2)
    await save(editor, 'e'.repeat(100))
    expect(await editor.autosave.history()).toMatchObject([{ bytes: 112, current: true }])
  })

  it('keeps 50 MiB where nobody says how many', async () => {
    const { openEditor, save } = editorBed()
    const editor = openEditor()
    const lengths = async () => (await editor.autosave.history()).length
    for (const part of ['a', 'b', 'c']) await save(editor, part.repeat(17 * 2 ** 20))
    expect(await lengths()).toBe(2)
    for (const part of ['d', 'e', 'f']) await save(editor, part.repeat(16 * 2 ** 20))
    expect(await lengths()).toBe(3)
  })

  it('is made again from the files when the index is damaged', async () => {
    const { disk, openEditor, save } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    await save(editor, 'two')
    const before = await editor.autosave.history()
    for (const damage of ['', '{"holdfast":1,"saves":[{', '{"holdfast":1,"saves":7}', 'null']) {
      disk.files.set('/project/autosave/index.json', damage)
      expect(await editor.autosave.history()).toEqual(before)
    }
  })
})

it.each(['', '{"holdfast":1,', '{"holdfast":1,"savedAt":"2020-01-01T00:00:00.000Z"}'])(
  'the newest save counts when current.json is %j',
  async (damage) => {
    const { disk, openEditor, save } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    await save(editor, 'two')
    disk.files.set('/project/autosave/current.json', damage)
    expect(await editor.autosave.history()).toMatchObject([{ current: true }, { current: false }])
    expect(await openEditor().recover()).toBe('two')
  },
)

describe('dispose', () => {
  it('saves what is unsaved, frees the lock and ends', async () => {
    const { finished, openEditor, saved, manager } = editorBed()
    const editor = openEditor()
    editor.edit('last words')
    await finished(editor.autosave.dispose())
    expect(saved()).toBe('last words')
    expect((await manager.tab().query()).held).toEqual([])
    expect(editor.autosave.snapshot().phase).toBe('disabled')
    editor.edit('too late')
    expect(editor.autosave.snapshot().unsaved).toBe(false)
  })

  it('waits a second for a lock that another holds, and no longer', async () => {
    const { clock, openEditor, save, saved } = editorBed()
    await save(openEditor(), 'theirs')
    const editor = openEditor()
    editor.edit('mine')
    const disposal = editor.autosave.dispose()
    await clock.advance(950)
    expect(editor.autosave.snapshot().phase).toBe('awaiting-lock')
    await clock.advance(50)
    expect(editor.autosave.snapshot().phase).toBe('disabled')
    await disposal
    expect(saved()).toBe('theirs')
  })

  it('makes nothing unsaved of what is loaded from then on', async () => {
    const { finished, openEditor, save, saved } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    await save(editor, 'two')
    const older = (await editor.autosave.restore()).at(-1)
    const disposal = editor.autosave.dispose()
    expect(await older?.load()).toEqual({ title: 'one' })
    await finished(disposal)
    expect(saved()).toBe('two')
    expect(editor.autosave.snapshot().unsaved).toBe(false)
  })
})

it.each([
  ['read', { read: 1 }],
  ['locks', { locks: {} }],
  ['debounce', { debounce: -1 }],
  ['generations', { generations: 0 }],
  ['hold', { hold: 'never' }],
  ['hold', { hold: Object.create(null) }],
  ['onEvent', { onEvent: 5 }],
  ['journal', { journal: {} }],
  ['journal', { journal: null }],
  ['directory', { directory: {} }],
  ['directory', { directory: 'project' }],
  ['retry', { retry: null }],
  ['retry.maxAttempts', { retry: { maxAttempts: -1 } }],
])('a bad %s is refused at once', (option, bad) => {
  const { openTab } = editorBed()
  const options = { read: () => 1, locks: openTab().locks, ...bad }
  expect(() => createAutoSave(options as never)).toThrow(`${option}: expected`)
})

it.each([undefined, null, 5])('options that are %s are refused at once', (options) => {
  expect(() => createAutoSave(options as never)).toThrow(`options: expected an object, got ${options}`)
})
