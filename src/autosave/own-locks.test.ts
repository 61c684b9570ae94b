import { describe, expect, it, vi } from 'vitest'
import { editorBed } from '../../test/autosave/editor-bed.ts'
import { FakeLockManager } from '../../test/web/fake-locks.ts'
import { createProjectLocks } from '../project/index.ts'
import { createAutoSave } from './index.ts'

describe('an AutoSave that creates its own locks', () => {
  it('an AutoSave that creates its own locks holds the lock of its namespace from the first edit until it is closed', async () => {
    const { clock, disk, finished, saved } = editorBed()
    const manager = new FakeLockManager()
    vi.stubGlobal('navigator', { locks: manager.tab() })
    const story = { title: 'one' }
    const autosave = createAutoSave({
      ...{ read: () => story, namespace: 'story', directory: disk.root },
      ...{ clock, journal: false, channel: false },
    })
    autosave.changed()
    await clock.advance(500)
    expect(saved()).toBe('one')
    expect(autosave.state).toMatchObject({ phase: 'idle', backend: 'web' })

    const other = createProjectLocks({ namespace: 'story', locks: manager.tab(), clock })
    const onWaiting = vi.fn()
    const acquiring = other.acquireProjectLock({ onWaiting })
    await clock.advance(0)
    expect(onWaiting).toHaveBeenCalledTimes(1)
    await finished(autosave.close())
    expect(await finished(acquiring)).toMatchObject({ backend: 'web' })
    await other.close()
  })

  it('an AutoSave that creates its own locks closes them, so that they no longer listen to the page', async () => {
    const { clock, disk, finished } = editorBed()
    const page = new EventTarget()
    const listening = vi.spyOn(page, 'addEventListener')
    vi.stubGlobal('window', page)
    vi.stubGlobal('navigator', { locks: new FakeLockManager().tab() })
    const autosave = createAutoSave({
      ...{ read: () => ({}), namespace: 'story', directory: disk.root },
      ...{ clock, journal: false, channel: false },
    })
    const ends = () =>
      listening.mock.calls
        .filter(([type]) => type === 'resume')
        .map(([, , options]) => (options as AddEventListenerOptions).signal?.aborted)
    expect(ends()).toEqual([false])
    await finished(autosave.close())
    expect(ends()).toEqual([true])
  })
})

it('the earlier names of the calls do the same', async () => {
  const { openEditor, finished, saved } = editorBed()
  const { autosave } = openEditor()
  expect([autosave.takeOver, autosave.snapshot()]).toEqual([autosave.takeover, autosave.state])
  autosave.changed()
  await finished(autosave.flushNow())
  expect(saved()).toBe('')
  await finished(autosave.dispose())
  expect(autosave.state.phase).toBe('disabled')
})
