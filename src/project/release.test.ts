import { describe, expect, it } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'
import type { ProjectLocks } from './index.ts'

describe('releaseProjectLock', () => {
  it('releaseProjectLock removes its own record, and the file with the last record', async () => {
    const { files, openTab, finished, lockFile } = projectBed()
    const [a, b] = [openTab({ locks: null }).locks, openTab({ locks: null }).locks]
    const autosave = await finished(a.acquireProjectLock())
    const history = await finished(b.acquireProjectLock({ scope: 'history' }))
    await finished(a.releaseProjectLock(autosave))
    expect(Object.keys(lockFile())).toEqual(['history'])
    await finished(b.releaseProjectLock(history))
    expect(files.tree).toEqual({})
  })

  it('releaseProjectLock releases once, however often it is called', async () => {
    const { openTab, finished } = projectBed()
    const { locks, emitted } = openTab()
    const lease = await finished(locks.acquireProjectLock())
    await finished(Promise.all([locks.releaseProjectLock(lease), locks.releaseProjectLock(lease)]))
    await finished(locks.releaseProjectLock(lease))
    expect(emitted()).toEqual(['attempt', 'acquired', 'release-requested', 'released'])
  })

  it('releaseProjectLock does not release the lock of a successor', async () => {
    const { clock, files, openTab, finished, lockFile } = projectBed()
    const old = openTab({ locks: null })
    const lease = await finished(old.locks.acquireProjectLock())
    clock.jump(31_000)
    const successor = await finished(openTab({ locks: null }).locks.acquireProjectLock())
    await finished(old.locks.releaseProjectLock(lease))
    expect(old.emitted().at(-1)).toBe('released')
    expect(lockFile().autosave.id).toBe(successor.id)
    expect(Object.keys(files.tree)).toEqual(['project/.lock'])
  })

  it('releaseProjectLock frees the lock for other tabs although the file cannot be removed', async () => {
    const { openTab, finished, refuse } = projectBed()
    const { locks } = openTab({ locks: null })
    const lease = await finished(locks.acquireProjectLock())
    refuse('remove', 'NotAllowedError')
    await finished(locks.releaseProjectLock(lease))
    await finished(openTab({ locks: null }).locks.acquireProjectLock(), 1500)
  })

  it('releaseProjectLock lets this tab acquire again although the file could not be written', async () => {
    const { files, openTab, finished, refuse } = projectBed()
    const { locks, emitted } = openTab({ locks: null })
    const lease = await finished(locks.acquireProjectLock())
    refuse('write', 'NotAllowedError')
    await finished(locks.releaseProjectLock(lease))
    expect(emitted().at(-1)).toBe('cleanup-warning')
    files.refuse = () => {}
    await finished(locks.acquireProjectLock(), 100)
  })

  it('releaseProjectLock lets another scope acquire while the file is being removed, without losing its record', async () => {
    const { clock, files, openTab, finished, lockFile } = projectBed()
    const a = openTab({ locks: null }).locks
    const b = openTab({ locks: null }).locks
    const autosave = await finished(a.acquireProjectLock())
    let letRemove = () => {}
    files.refuse = async (operation) => {
      if (operation === 'remove') await new Promise<void>((resolve) => (letRemove = resolve))
    }
    const releasing = a.releaseProjectLock(autosave)
    await clock.advance(20)
    const acquiring = b.acquireProjectLock({ scope: 'history' })
    await clock.advance(100)
    letRemove()
    files.refuse = () => {}
    await finished(releasing)
    const history = await finished(acquiring)
    expect(lockFile()).toMatchObject({ history: { id: history.id } })
  })

  it('releaseProjectLock removes the record of another tab by force', async () => {
    const { clock, files, openTab, finished } = projectBed()
    const holder = openTab({ locks: null })
    const foreign = await finished(holder.locks.acquireProjectLock())
    const { locks, emitted, events } = openTab({ locks: null })
    await finished(locks.releaseProjectLock(foreign, { force: true }))
    expect(emitted()).toEqual(['release-requested', 'released'])
    expect(events[0]).toMatchObject({ leaseId: foreign.id, lease: foreign })
    expect(files.tree).toEqual({})
    await clock.advance(10_000)
    expect(holder.locks.holdsProjectLock(foreign)).toBe(false)
  })

  it('reports that the record of another tab cannot be removed by force', async () => {
    const { openTab, finished, refuse } = projectBed()
    const foreign = await finished(openTab({ locks: null }).locks.acquireProjectLock())
    const { locks, emitted } = openTab()
    refuse('remove', 'NotAllowedError')
    await finished(locks.releaseProjectLock(foreign, { force: true }))
    expect(emitted()).toEqual(['release-requested', 'error', 'cleanup-warning'])
  })

  it.each([
    ['InvalidStateError', true],
    ['InvalidStateError', false],
    ['NoModificationAllowedError', false],
    ['NotReadableError', false],
    ['NotAllowedError', false],
  ])(
    'releaseProjectLock reports three failed removals, the last as an error: %s, by force: %s',
    async (name, force) => {
      const { openTab, finished, refuse } = projectBed()
      const { locks, emitted, events } = openTab({ locks: null })
      const lease = await finished(locks.acquireProjectLock())
      refuse('remove', name)
      await finished(locks.releaseProjectLock(lease, { force }))
      const warning = 'cleanup-warning'
      expect(emitted().slice(-5)).toEqual(['release-requested', warning, warning, 'error', warning])
      expect(events.at(-2)).toMatchObject({
        ...{ operation: 'release', retryable: true, error: { code: 'lock-release-failed' } },
      })
    },
  )

  it('releaseProjectLock frees one scope of a damaged file by force; the other scope may still be held', async () => {
    const { files, openTab, finished, lockFile } = projectBed()
    const { locks } = openTab({ locks: null })
    const lease = await finished(locks.acquireProjectLock())
    files.put('project/.lock', 'damaged')
    await finished(locks.releaseProjectLock(lease, { force: true }))
    expect(Object.keys(lockFile())).toEqual(['history'])
    await finished(locks.acquireProjectLock(), 100)
  })
})

describe('close', () => {
  it.each([
    ['close', (locks: ProjectLocks) => locks.close()],
    ['await using', async (locks: ProjectLocks) => locks[Symbol.asyncDispose]()],
  ])('close releases held locks, ends waits, and rejects later calls: %s', async (_, close) => {
    const { clock, files, openTab, finished } = projectBed()
    const { locks, emitted } = openTab({ locks: null })
    await finished(locks.acquireProjectLock())
    const waiting = locks.acquireProjectLock({ standby: true }).catch((error) => error)
    await clock.advance(100)
    await finished(close(locks))
    expect(await finished(waiting)).toMatchObject({ code: 'closed' })
    expect(emitted().at(-1)).toBe('released')
    expect(files.tree).toEqual({})
    await expect(finished(locks.acquireProjectLock())).rejects.toMatchObject({ code: 'closed' })
  })
})
