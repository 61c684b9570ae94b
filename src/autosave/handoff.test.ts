import { describe, expect, it } from 'vitest'
import { type Editor, editorBed } from '../../test/autosave/editor-bed.ts'
import { LockError } from '../project/index.ts'

describe.each([
  ['a Web Lock', undefined],
  ['a .lock', null],
])('a second tab, with %s', (_, locks) => {
  /** Two tabs have the same story open, and the first one edits it. */
  async function twoTabs() {
    const bed = editorBed()
    const open = (options: Parameters<typeof bed.openEditor>[0] = {}) =>
      bed.openEditor({ tab: bed.openTab(locks === null ? { locks } : {}), ...options })
    const first = open()
    await bed.save(first, 'one')
    const second = open()
    await second.recover()
    return { ...bed, open, first, second }
  }

  async function enterReadOnly({ clock }: { clock: { advance(ms: number): Promise<void> } }, editor: Editor) {
    void editor.autosave.flush()
    editor.edit('typed in the second tab')
    await clock.advance(1500)
    expect(editor.autosave.state).toMatchObject({ phase: 'read-only', readOnly: 'held', inLine: true })
  }

  it('knows a second after its first edit that another tab is editing', async () => {
    const { clock, second } = await twoTabs()
    second.edit('mine')
    await clock.advance(1000)
    expect(second.autosave.state).toMatchObject({ phase: 'read-only', readOnly: 'held', inLine: true })
  })

  it('sees every save of the first one, also one that is made while it loads', async () => {
    const { clock, disk, first, save, second } = await twoTabs()
    await save(first, 'two')
    expect(second.autosave.state).toMatchObject({ stale: true, unsaved: false })
    const resume = disk.pause('read', 'history')
    const recovering = second.recover()
    await clock.advance(10)
    await save(first, 'three')
    resume()
    await recovering
    expect(second.autosave.state.stale).toBe(true)
    expect(await second.recover()).toBe('three')
    expect(second.autosave.state).toMatchObject({ stale: false, unsaved: false })
  })

  it('can edit instead: the first one saves, and is read-only', async () => {
    const bed = await twoTabs()
    const { clock, finished, first, open, save, saved, second } = bed
    const third = open({ eager: true, wait: 0 })
    await clock.advance(3000)
    await enterReadOnly(bed, second)
    first.edit('not saved yet')
    const taking = second.autosave.takeover()
    expect(second.autosave.state.takingOver).toBe(true)
    await finished(taking, 1000)
    expect(saved()).toBe('not saved yet')
    expect(first.autosave.state).toMatchObject({
      phase: 'read-only',
      readOnly: 'lost',
      inLine: true,
      unsaved: false,
    })
    expect(third.autosave.state).toMatchObject({ phase: 'read-only', inLine: true })
    // Both have edited, so a person decides.
    expect(second.autosave.state).toMatchObject({ readOnly: 'conflict', takingOver: false })
    expect(await second.recover()).toBe('not saved yet')
    await save(second, 'by the second')
    expect(saved()).toBe('by the second')
    await clock.advance(20_000)
    expect(second.autosave.state).toMatchObject({ phase: 'idle', readOnly: null })
    first.edit('too late')
    await clock.advance(3000)
    expect(saved()).toBe('by the second')
  })

  it('takes the lock after five seconds if the first one does not answer', async () => {
    const bed = editorBed()
    const open = (channel?: false) =>
      bed.openEditor({
        tab: bed.openTab(locks === null ? { locks } : {}),
        ...(channel === false && { channel }),
      })
    const first = open(false)
    await bed.save(first, 'one')
    const second = open()
    await second.recover()
    await enterReadOnly(bed, second)
    const taking = second.autosave.takeover()
    await bed.clock.advance(4500)
    expect(second.autosave.state).toMatchObject({ phase: 'read-only', takingOver: true })
    await bed.finished(taking, 1500)
    await bed.clock.advance(1000)
    expect(bed.saved()).toBe('typed in the second tab')
    first.edit('late')
    await bed.finished(first.autosave.flush())
    await bed.clock.advance(30_000)
    expect(bed.saved()).toBe('typed in the second tab')
    expect(first.autosave.state).toMatchObject({ phase: 'read-only', unsaved: true })
  })

  it('may go away after it asked: the lock goes to the next one in the queue', async () => {
    const { clock, finished, first, joinChannel, save, saved } = await twoTabs()
    const channel = joinChannel()
    channel.postMessage({ type: 'handoff-requested', id: 'x' })
    await clock.advance(100)
    expect(first.autosave.state).toMatchObject({ phase: 'read-only', readOnly: 'lost', inLine: true })
    await clock.advance(5000)
    expect(first.autosave.state).toMatchObject({ phase: 'idle', readOnly: null })
    await save(first, 'again')
    expect(saved()).toBe('again')
    await finished(first.autosave.close())
  })
})

it('a tab that cannot take the lock waits in the queue again, however long its first wait takes to end', async () => {
  const { clock, finished, openEditor, openTab, save } = editorBed()
  await save(openEditor({ channel: false }), 'one')
  const tab = openTab()
  let waits = 0
  const locks: typeof tab.locks = {
    ...tab.locks,
    acquireProjectLock(options = {}) {
      const { signal, standby, steal } = options
      if (steal) return Promise.reject(new LockError('lock-unavailable', 'not now', false))
      if (!standby) return tab.locks.acquireProjectLock(options)
      waits++
      return new Promise((_, reject) =>
        signal?.addEventListener('abort', () => clock.setTimer(() => reject(signal.reason), 100)),
      )
    },
  }
  const editor = openEditor({ tab, locks, wait: 0 })
  editor.edit('mine')
  await clock.advance(1000)
  expect(await finished(editor.autosave.takeover())).toMatchObject({ phase: 'read-only', inLine: true })
  expect(waits).toBe(2)
  await clock.advance(1000)
  expect(waits).toBe(2)
})

it('a tab ignores what it does not understand', async () => {
  const { clock, joinChannel, openEditor, save } = editorBed()
  const editor = openEditor()
  await save(editor, 'one')
  const before = editor.autosave.state
  const channel = joinChannel()
  for (const data of [
    null,
    7,
    'saved',
    [],
    { type: 'saved' },
    { type: 'saved', id: 'x' },
    { type: 'other', id: 'x' },
  ])
    channel.postMessage(data)
  await clock.advance(100)
  expect(editor.autosave.state).toBe(before)
})

it('takeOver does nothing in a tab that may write', async () => {
  const { finished, openEditor, save } = editorBed()
  const editor = openEditor()
  await save(editor, 'one')
  expect(await finished(editor.autosave.takeover(), 100)).toMatchObject({ phase: 'idle', backend: 'web' })
})
