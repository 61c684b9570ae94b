import { describe, expect, it } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'

describe('releaseProjectLock', () => {
  it('takes out its own record, and removes the file with the last one', async () => {
    const { files, openTab, finished, lockFile } = projectBed()
    const [a, b] = [openTab({ locks: null }).locks, openTab({ locks: null }).locks]
    const autosave = await finished(a.acquireProjectLock())
    const history = await finished(b.acquireProjectLock({ scope: 'history' }))
    await finished(a.releaseProjectLock(autosave))
    expect(Object.keys(lockFile())).toEqual(['history'])
    await finished(b.releaseProjectLock(history))
    expect(files.tree).toEqual({})
  })

  it('is one release, however often it is called', async () => {
    const { openTab, finished } = projectBed()
    const { locks, told } = openTab()
    const lease = await finished(locks.acquireProjectLock())
    await finished(Promise.all([locks.releaseProjectLock(lease), locks.releaseProjectLock(lease)]))
    await finished(locks.releaseProjectLock(lease))
    expect(told()).toEqual(['attempt', 'acquired', 'release-requested', 'released'])
  })

  it('does not free a successor', async () => {
    const { clock, files, openTab, finished, lockFile } = projectBed()
    const old = openTab({ locks: null })
    const lease = await finished(old.locks.acquireProjectLock())
    clock.jump(31_000)
    const successor = await finished(openTab({ locks: null }).locks.acquireProjectLock())
    await finished(old.locks.releaseProjectLock(lease))
    expect(old.told().at(-1)).toBe('released')
    expect(lockFile().autosave.id).toBe(successor.id)
    expect(Object.keys(files.tree)).toEqual(['project/.lock'])
  })

  it('frees the lock for others though the file cannot be removed', async () => {
    const { openTab, finished, refuse } = projectBed()
    const { locks } = openTab({ locks: null })
    const lease = await finished(locks.acquireProjectLock())
    refuse('remove', 'NotAllowedError')
    await finished(locks.releaseProjectLock(lease))
    await finished(openTab({ locks: null }).locks.acquireProjectLock(), 1500)
  })

  it('leaves to this tab what it could not even write', async () => {
    const { files, openTab, finished, refuse } = projectBed()
    const { locks, told } = openTab({ locks: null })
    const lease = await finished(locks.acquireProjectLock())
    refuse('write', 'NotAllowedError')
    await finished(locks.releaseProjectLock(lease))
    expect(told().at(-1)).toBe('cleanup-warning')
    files.refuse = () => {}
    await finished(locks.acquireProjectLock(), 100)
  })

  it('lets another scope come in while the file is being removed, and loses nothing of it', async () => {
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

  it('removes the record of another by force', async () => {
    const { clock, files, openTab, finished } = projectBed()
    const holder = openTab({ locks: null })
    const foreign = await finished(holder.locks.acquireProjectLock())
    const { locks, told, events } = openTab({ locks: null })
    await finished(locks.releaseProjectLock(foreign, { force: true }))
    expect(told()).toEqual(['release-requested', 'released'])
    expect(events[0]).toMatchObject({ leaseId: foreign.id, lease: foreign })
    expect(files.tree).toEqual({})
    await clock.advance(10_000)
    expect(holder.locks.holdsProjectLock(foreign)).toBe(false)
  })

  it('says so when the record of another cannot be removed by force', async () => {
    const { openTab, finished, refuse } = projectBed()
    const foreign = await finished(openTab({ locks: null }).locks.acquireProjectLock())
    const { locks, told } = openTab()
    refuse('remove', 'NotAllowedError')
    await finished(locks.releaseProjectLock(foreign, { force: true }))
    expect(told()).toEqual(['release-requested', 'error', 'cleanup-warning'])
  })

  it('tells of three failed removals and no more, also by force', async () => {
    const { openTab, finished, refuse } = projectBed()
    const { locks, told } = openTab({ locks: null })
    const lease = await finished(locks.acquireProjectLock())
    refuse('remove', 'InvalidStateError')
    await finished(locks.releaseProjectLock(lease, { force: true }))
    const warning = 'cleanup-warning'
    expect(told().slice(-5)).toEqual(['release-requested', warning, warning, 'error', warning])
  })

  it('frees one scope of a damaged file by force; the other may still be held', async () => {
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
  it('releases what is held, ends what waits, and refuses what comes after', async () => {
    const { clock, files, openTab, finished } = projectBed()
    const { locks, told } = openTab({ locks: null })
    await finished(locks.acquireProjectLock())
    const waiting = locks.acquireProjectLock({ standby: true }).catch((error) => error)
    await clock.advance(100)
    await finished(locks.close())
    expect(await finished(waiting)).toMatchObject({ code: 'closed' })
    expect(told().at(-1)).toBe('released')
    expect(files.tree).toEqual({})
    await expect(finished(locks.acquireProjectLock())).rejects.toMatchObject({ code: 'closed' })
  })
})
