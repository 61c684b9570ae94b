import { afterEach, describe, expect, it, vi } from 'vitest'
import { editorBed, type Story } from '../../test/autosave/editor-bed.ts'
import { FakeDisk } from '../../test/autosave/fake-disk.ts'
import { LeaseError } from '../core/index.ts'
import { type AutoSave, AutoSaveError } from './index.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

import { measure } from './save-file.ts'

describe('a save', () => {
  it('starts after a pause in the edits, and goes through its phases', async () => {
    const { clock, openEditor, saved } = editorBed()
    const editor = openEditor()
    editor.edit('one')
    await clock.advance(400)
    editor.edit('two')
    await clock.advance(499)
    expect(saved()).toBeNull()
    expect(editor.autosave.state).toMatchObject({ phase: 'debouncing', unsaved: true })
    await clock.advance(1)
    expect(saved()).toBe('two')
    expect(editor.phases()).toEqual(['debouncing', 'awaiting-lock', 'writing', 'committing', 'gc', 'idle'])
    expect(editor.autosave.state).toMatchObject({
      ...{ phase: 'idle', unsaved: false, backend: 'web', savedAt: clock.now() },
      ...{ readOnly: null, error: null },
    })
  })

  it('a save is not delayed forever by somebody who keeps typing', async () => {
    const { clock, openEditor, saved } = editorBed()
    const editor = openEditor()
    for (let typed = 0; typed <= 2500; typed += 100) {
      editor.edit(`typed for ${typed} ms`)
      await clock.advance(100)
    }
    expect(saved()).toBe('typed for 2400 ms')
  })

  it('a save leaves edits during the save to the next save', async () => {
    const { clock, disk, openEditor, saved } = editorBed()
    const editor = openEditor()
    disk.refuse = (operation) => {
      if (operation === 'close' && editor.title === 'one') editor.edit('two')
    }
    editor.edit('one')
    await clock.advance(500)
    expect(saved()).toBe('one')
    expect(editor.autosave.state).toMatchObject({ phase: 'debouncing', unsaved: true })
    await clock.advance(500)
    expect(saved()).toBe('two')
  })

  it('a save creates the documented files, and touches no others', async () => {
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

  it('a save writes nothing if the state equals the current save', async () => {
    const { clock, openEditor, save } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    await save(editor, 'one')
    await clock.advance(5000)
    expect(editor.autosave.state).toMatchObject({ phase: 'idle', unsaved: false })
    expect(await editor.autosave.history()).toHaveLength(1)
  })

  it('a save is retried after 0.5, 1, 2 and 4 s; then the phase is error until the next edit', async () => {
    const { clock, disk, openEditor, saved } = editorBed()
    const editor = openEditor()
    disk.refuse = (operation) => {
      if (operation === 'close') throw new DOMException('no', 'InvalidStateError')
    }
    editor.edit('one')
    await clock.advance(500)
    expect(editor.autosave.state).toMatchObject({ phase: 'backoff', retryAt: clock.now() + 500 })
    await clock.advance(7500)
    const delays = editor.events.flatMap((event) => (event.type === 'autosave:retry' ? event.delayMs : []))
    expect(delays).toEqual([500, 1000, 2000, 4000])
    expect(editor.autosave.state).toMatchObject({
      ...{ phase: 'error', unsaved: true, error: { code: 'write-failed', retryable: true } },
    })
    disk.refuse = () => {}
    editor.edit('two')
    await clock.advance(500)
    expect(saved()).toBe('two')
    expect(editor.autosave.state).toMatchObject({ phase: 'idle', error: null })
  })

  it('fails with read-failed if the state cannot be read, and is tried again with the next edit', async () => {
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
    expect(editor.autosave.state).toMatchObject({ phase: 'error', error: { code: 'read-failed' } })
    broken = false
    editor.edit('two')
    await clock.advance(500)
    expect(saved()).toBe('mended')
  })

  it('a save removes the oldest saves if the disk is full', async () => {
    const { openEditor, save, saved } = editorBed(new FakeDisk({ capacity: 2000 }))
    const editor = openEditor()
    for (let n = 0; n < 20; n++) await save(editor, `save ${n}`)
    expect(saved()).toBe('save 19')
    expect((await editor.autosave.history()).length).toBeLessThan(15)
  })

  it('fails with quota-exceeded and keeps the last save if it does not fit at all', async () => {
    const { openEditor, save, saved } = editorBed(new FakeDisk({ capacity: 1000 }))
    const editor = openEditor()
    await save(editor, 'small')
    await save(editor, 'x'.repeat(1000))
    expect(saved()).toBe('small')
    expect(editor.autosave.state).toMatchObject({
      ...{ phase: 'error', unsaved: true, error: { code: 'quota-exceeded', retryable: false } },
    })
    await save(editor, 'small again')
    expect(saved()).toBe('small again')
  })

  it('a save that can never fit costs no older save, and leaves nothing behind', async () => {
    const { disk, openEditor, save, saved } = editorBed(new FakeDisk({ capacity: 3000 }))
    const editor = openEditor()
    for (const title of ['one', 'two', 'three', 'four']) await save(editor, title.repeat(20))
    const before = disk.paths
    await save(editor, 'x'.repeat(9000))
    expect(editor.autosave.state).toMatchObject({ phase: 'error', error: { code: 'quota-exceeded' } })
    expect(disk.paths).toEqual(before)
    expect(saved()).toBe('four'.repeat(20))
  })

  it('a save that fits without some older saves costs only those', async () => {
    const { openEditor, save, saved } = editorBed(new FakeDisk({ capacity: 3000 }))
    const editor = openEditor()
    for (const title of ['one', 'two', 'three', 'four']) await save(editor, title.repeat(50))
    await save(editor, 'x'.repeat(1200))
    expect(saved()).toBe('x'.repeat(1200))
    expect((await editor.autosave.history()).length).toBeGreaterThan(2)
  })

  it.each([
    ['a Map', { tags: new Map([['a', 1]]) }, 'tags: a Map'],
    ['NaN', { scenes: [{ length: Number.NaN }] }, 'scenes[0].length: NaN'],
    ['undefined', undefined, 'nothing'],
  ])('a save of a state that JSON would change fails, and names it: %s', async (_, state, named) => {
    const { clock, disk, openEditor } = editorBed()
    const editor = openEditor({ read: () => state as unknown as Story })
    editor.edit('x')
    await clock.advance(500)
    expect(editor.autosave.state).toMatchObject({
      phase: 'error',
      unsaved: true,
      error: { code: 'read-failed' },
    })
    expect(editor.autosave.state.error?.message).toContain(named)
    expect(disk.paths.filter((path) => path.includes('history'))).toEqual([])
  })

  it('a save is complete if the browser reports an error after it has replaced current.json', async () => {
    const { disk, openEditor, save, saved } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    let failed = false
    disk.refuse = (operation, path) => {
      if (failed || operation !== 'close' || !path.endsWith('current.json')) return
      failed = true
      const name = disk.paths.filter((other) => other.includes('history/')).at(-1) ?? ''
      const { savedAt } = JSON.parse(disk.files.get(`/${name}`) ?? '')
      const file = name.slice('project/autosave/'.length)
      disk.files.set(`/${path}`, JSON.stringify({ holdfast: 1, savedAt, file }))
      throw new DOMException('the answer was lost', 'AbortError')
    }
    await save(editor, 'two')
    expect(failed).toBe(true)
    expect(saved()).toBe('two')
    expect(editor.autosave.state).toMatchObject({ phase: 'idle', unsaved: false, error: null })
    expect(await editor.autosave.history()).toHaveLength(2)
  })

  it('a save works again after the data of the site was cleared', async () => {
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
  it('the history keeps 20 saves by default, the newest first', async () => {
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

  it('the history keeps maxBytes, and always the current save', async () => {
    const { openEditor, save } = editorBed()
    const editor = openEditor({ maxBytes: 50 })
    for (const title of ['a', 'b', 'c', 'd']) await save(editor, title.repeat(10))
    expect(await editor.autosave.history()).toHaveLength(2)
    await save(editor, 'e'.repeat(100))
    expect(await editor.autosave.history()).toMatchObject([{ bytes: 112, current: true }])
  })

  it('the history keeps 50 MiB by default', async () => {
    const { openEditor, save } = editorBed()
    const editor = openEditor()
    const lengths = async () => (await editor.autosave.history()).length
    for (const part of ['a', 'b', 'c']) await save(editor, part.repeat(17 * 2 ** 20))
    expect(await lengths()).toBe(2)
    for (const part of ['d', 'e', 'f']) await save(editor, part.repeat(16 * 2 ** 20))
    expect(await lengths()).toBe(3)
  })

  it('the history is read from the files if the index is damaged', async () => {
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

  it('the history does not trust the index: wrong sizes cost no save', async () => {
    const { disk, finished, openEditor, save } = editorBed()
    const first = openEditor()
    for (let n = 1; n <= 13; n++) await save(first, `save ${n}`)
    await finished(first.autosave.close())
    const path = '/project/autosave/index.json'
    const index = JSON.parse(disk.files.get(path) ?? '')
    for (const entry of index.saves) entry.bytes = 50 * 2 ** 20
    disk.files.set(path, JSON.stringify(index))
    const editor = openEditor()
    await editor.recover()
    await save(editor, 'save 14')
    expect(await editor.autosave.history()).toHaveLength(14)
  })

  it('the history does not trust the index: a wrong checksum does not hide an edit', async () => {
    const { disk, finished, openEditor, save, saved } = editorBed()
    const first = openEditor()
    await save(first, 'one')
    await finished(first.autosave.close())
    const path = '/project/autosave/index.json'
    const index = JSON.parse(disk.files.get(path) ?? '')
    index.saves[0].checksum = measure('{"title":"two"}').checksum
    disk.files.set(path, JSON.stringify(index))
    const editor = openEditor()
    await editor.recover()
    await save(editor, 'two')
    expect(saved()).toBe('two')
  })
})

it.each(['', '{"holdfast":1,', '{"holdfast":1,"savedAt":"2020-01-01T00:00:00.000Z"}'])(
  'the newest save is the current one if current.json is %j',
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

describe('close', () => {
  it.each([
    ['close', (autosave: AutoSave<Story>) => autosave.close()],
    ['await using', async (autosave: AutoSave<Story>) => autosave[Symbol.asyncDispose]()],
    ['the old name dispose', (autosave: AutoSave<Story>) => autosave.dispose()],
  ])('close saves unsaved edits, releases the lock and ends: %s', async (_, close) => {
    const { finished, openEditor, saved, manager } = editorBed()
    const editor = openEditor()
    editor.edit('last words')
    await finished(close(editor.autosave))
    expect(saved()).toBe('last words')
    expect((await manager.tab().query()).held).toEqual([])
    expect(editor.autosave.state.phase).toBe('disabled')
    expect(editor.autosave.snapshot()).toBe(editor.autosave.state)
    editor.edit('too late')
    expect(editor.autosave.state.unsaved).toBe(false)
  })

  it('waits at most a second for a lock that another tab holds', async () => {
    const { clock, openEditor, save, saved } = editorBed()
    await save(openEditor(), 'theirs')
    const editor = openEditor()
    editor.edit('mine')
    const closing = editor.autosave.close()
    await clock.advance(950)
    expect(editor.autosave.state.phase).toBe('awaiting-lock')
    await clock.advance(50)
    expect(editor.autosave.state.phase).toBe('disabled')
    await closing
    expect(saved()).toBe('theirs')
  })

  it('close does not count a state that is loaded afterwards as unsaved', async () => {
    const { finished, openEditor, save, saved } = editorBed()
    const editor = openEditor()
    await save(editor, 'one')
    await save(editor, 'two')
    const older = (await editor.autosave.restore()).at(-1)
    const closing = editor.autosave.close()
    expect(await older?.load()).toEqual({ title: 'one' })
    await finished(closing)
    expect(saved()).toBe('two')
    expect(editor.autosave.state.unsaved).toBe(false)
  })
})

it('times may be text', async () => {
  const { clock, openEditor, saved } = editorBed()
  const editor = openEditor({ debounce: '0.2s', idle: '1s', wait: '1s', retry: { maxDelayMs: '2s' } })
  editor.edit('one')
  await clock.advance(199)
  expect(saved()).toBeNull()
  await clock.advance(1)
  expect(saved()).toBe('one')
})

it('the times of events never go back, although the clock does', async () => {
  const { clock, openEditor, save } = editorBed()
  const editor = openEditor()
  await save(editor, 'one')
  clock.jump(-60_000)
  await save(editor, 'two')
  const times = editor.events.map(({ at }) => at)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
})

it('errors are LeaseErrors with a code of their own', () => {
  const cause = new Error('disk on fire')
  const error = new AutoSaveError('write-failed', 'the directory could not be written', cause)
  expect(error).toBeInstanceOf(LeaseError)
  expect(error).toMatchObject({ name: 'AutoSaveError', code: 'write-failed', retryable: true, cause })
})

it('AutoSave works in a page on plain http, which has no crypto.randomUUID', async () => {
  vi.stubGlobal('crypto', { getRandomValues: (array: Uint32Array) => array.fill(7) })
  const { finished, journal, openEditor, save } = editorBed()
  await save(openEditor(), 'held')
  const editor = openEditor({ wait: 0 })
  editor.edit('mine')
  await finished(editor.autosave.close())
  expect([...journal.items.values()].join()).toContain('mine')
})
