import { describe, expect, it } from 'vitest'
import { projectBed, type Tab } from '../../test/web/project-bed.ts'
import type { ProjectLockLease } from './index.ts'

/** A tab that holds the lock by the file, and has told of that. */
async function holding(bed: ReturnType<typeof projectBed>): Promise<Tab & { lease: ProjectLockLease }> {
  const tab = bed.openTab({ locks: null })
  const lease = await bed.finished(tab.locks.acquireProjectLock())
  tab.events.length = 0
  return { ...tab, lease }
}

describe('the heartbeat of the fallback', () => {
  it('beats every 10 s by itself', async () => {
    const bed = projectBed()
    const { events, told, lease, locks } = await holding(bed)
    await bed.clock.advance(30_000)
    const beat = ['attempt', 'renewed', 'renew-scheduled']
    expect(told()).toEqual([...beat, ...beat, ...beat])
    expect(events[0]).toMatchObject({ operation: 'renew', strategy: 'fallback', retry: 0, leaseId: lease.id })
    expect(events[2]).toMatchObject({ nextHeartbeatInMs: 10_000, lease: { id: lease.id } })
    expect(bed.lockFile().autosave.mtime).toBeGreaterThan(lease.acquiredAt + 29_000)
    expect(locks.holdsProjectLock(lease)).toBe(true)
  })

  it('warns after 20 s without one, and ends the lease within 30 s', async () => {
    const bed = projectBed()
    const { locks, lease, events, told } = await holding(bed)
    bed.files.refuse = () => new Promise(() => {})
    await bed.clock.advance(20_000)
    expect(events.find((event) => event.type === 'lock:warning')).toMatchObject({
      warning: 'heartbeat-delayed',
      lease: { id: lease.id },
    })
    expect(locks.holdsProjectLock(lease)).toBe(true)
    await bed.clock.advance(10_000)
    expect(told().slice(-2)).toEqual(['error', 'readonly-entered'])
    expect(events.at(-1)).toMatchObject({
      reason: 'lease-expired',
      lastError: { code: 'lock-renewal-failed', retryable: false },
    })
    expect(locks.holdsProjectLock(lease)).toBe(false)
    expect(locks.projectLockSignal(lease).reason).toMatchObject({ code: 'lock-renewal-failed' })
  })

  it('tries a failed renewal again after 0.5, 1, 2 and 4 s; the fifth failure is worth acquiring anew', async () => {
    const bed = projectBed()
    const { locks, lease, events, told } = await holding(bed)
    bed.refuse('write', 'QuotaExceededError')
    await bed.clock.advance(18_000)
    expect(events.filter((event) => event.type === 'lock:retry')).toMatchObject(
      [500, 1000, 2000, 4000].map((delayMs, n) => ({ attempt: n + 1, delayMs, reason: 'transient-error' })),
    )
    expect(events.at(-1)).toMatchObject({
      type: 'lock:error',
      operation: 'renew',
      retryable: true,
      error: { code: 'lock-renewal-failed', retryable: true },
    })
    expect(told()).not.toContain('readonly-entered')
    expect(locks.holdsProjectLock(lease)).toBe(false)
    bed.files.refuse = () => {}
    await bed.finished(locks.releaseProjectLock(lease))
    expect(await bed.finished(locks.acquireProjectLock())).toMatchObject({ backend: 'fallback' })
  })

  it('goes on as before when a later try succeeds', async () => {
    const bed = projectBed()
    const { events, told } = await holding(bed)
    bed.refuse('write', 'QuotaExceededError')
    await bed.clock.advance(12_000)
    bed.files.refuse = () => {}
    await bed.clock.advance(10_000)
    expect(told()).toContain('renewed')
    expect(told()).not.toContain('error')
    expect(events.findLast((event) => event.type === 'lock:attempt')).toMatchObject({ retry: 3 })
  })

  it('does not try again what is not allowed', async () => {
    const bed = projectBed()
    const { events, told } = await holding(bed)
    bed.refuse('write', 'NotAllowedError')
    await bed.clock.advance(10_000)
    expect(told()).toEqual(['attempt', 'error', 'readonly-entered'])
    expect(events.at(-1)).toMatchObject({ reason: 'renewal-denied', lastError: { retryable: false } })
  })

  it.each([
    ['the files were cleared', (bed: ReturnType<typeof projectBed>) => bed.files.clear()],
    [
      'another record took its place',
      (bed: ReturnType<typeof projectBed>) => bed.files.put('project/.lock', '{}'),
    ],
  ])('loses the lease when %s', async (_, happen) => {
    const bed = projectBed()
    const { locks, lease, events } = await holding(bed)
    happen(bed)
    await bed.clock.advance(10_000)
    expect(events.at(-1)).toMatchObject({
      type: 'lock:error',
      operation: 'renew',
      error: { code: 'lock-renewal-failed', retryable: true },
    })
    expect(locks.holdsProjectLock(lease)).toBe(false)
  })

  it('ends by the wall clock after the machine slept', async () => {
    const bed = projectBed()
    const { locks, lease, told } = await holding(bed)
    bed.clock.jump(31_000)
    expect(locks.holdsProjectLock(lease)).toBe(false)
    expect(told()).toEqual(['error', 'readonly-entered'])
  })
})

describe('renewProjectLock', () => {
  it('resolves with the retry that succeeds', async () => {
    const bed = projectBed()
    const { locks, lease, told } = await holding(bed)
    bed.refuse('write', 'QuotaExceededError')
    const renewing = locks.renewProjectLock(lease)
    await bed.clock.advance(400)
    bed.files.refuse = () => {}
    const renewed = await bed.finished(renewing)
    expect(renewed.ttlExpiresAt).toBeGreaterThan(lease.ttlExpiresAt)
    expect(told()).toEqual(['attempt', 'retry', 'waiting', 'attempt', 'renewed', 'renew-scheduled'])
  })

  it('rejects when all tries fail', async () => {
    const bed = projectBed()
    const { locks, lease } = await holding(bed)
    bed.refuse('write', 'QuotaExceededError')
    const failure = bed.finished(locks.renewProjectLock(lease).catch((error) => error))
    expect(await failure).toMatchObject({ code: 'lock-renewal-failed', retryable: true })
    await expect(locks.renewProjectLock(lease)).rejects.toMatchObject({ code: 'lock-renewal-failed' })
  })

  it('stops waiting when its signal aborts', async () => {
    const bed = projectBed()
    const { locks, lease } = await holding(bed)
    bed.files.refuse = () => new Promise(() => {})
    const stop = new AbortController()
    const renewing = locks.renewProjectLock(lease, { signal: stop.signal }).catch((error) => error)
    stop.abort('enough')
    expect(await bed.finished(renewing, 1000)).toBe('enough')
  })

  it('ends when the lease is released meanwhile', async () => {
    const bed = projectBed()
    const { locks, lease } = await holding(bed)
    bed.files.refuse = () => new Promise(() => {})
    const renewing = locks.renewProjectLock(lease).catch((error) => error)
    void locks.releaseProjectLock(lease)
    expect(await bed.finished(renewing, 1000)).toMatchObject({ code: 'lock-renewal-failed' })
  })

  it('does nothing for a Web Lock, and refuses what was released', async () => {
    const { openTab, finished } = projectBed()
    const { locks, told } = openTab()
    const lease = await finished(locks.acquireProjectLock())
    expect(await finished(locks.renewProjectLock(lease))).toEqual(lease)
    expect(told()).toEqual(['attempt', 'acquired'])
    await finished(locks.releaseProjectLock(lease))
    await expect(locks.renewProjectLock(lease)).rejects.toMatchObject({ code: 'lock-renewal-failed' })
  })
})

describe('a Web Lock that was stolen', () => {
  it('is lost, and worth acquiring anew', async () => {
    const { clock, manager, openTab, finished } = projectBed()
    const { locks, events } = openTab()
    const lease = await finished(locks.acquireProjectLock())
    await manager.tab().request('imgponic:project:autosave', { steal: true }, () => {})
    await clock.advance(0)
    expect(locks.holdsProjectLock(lease)).toBe(false)
    expect(events.at(-1)).toMatchObject({
      type: 'lock:error',
      error: { code: 'lock-renewal-failed', retryable: true },
    })
    await expect(locks.renewProjectLock(lease)).rejects.toMatchObject({ code: 'lock-renewal-failed' })
  })
})

describe('a page that comes back', () => {
  const shown = (persisted: boolean) => Object.assign(new Event('pageshow'), { persisted })

  it.each([
    ['from the back/forward cache', shown(true)],
    ['from being frozen', new Event('resume')],
  ])('may not write before its lease was confirmed: %s', async (_, event) => {
    const bed = projectBed()
    const { locks, lease, page } = await holding(bed)
    page.dispatchEvent(event)
    expect(locks.holdsProjectLock(lease)).toBe(false)
    await bed.clock.advance(100)
    expect(locks.holdsProjectLock(lease)).toBe(true)
  })

  it('confirms a Web Lock as well, in silence', async () => {
    const { clock, openTab, finished } = projectBed()
    const { locks, page, told } = openTab()
    const lease = await finished(locks.acquireProjectLock())
    page.dispatchEvent(shown(true))
    expect(locks.holdsProjectLock(lease)).toBe(false)
    await clock.advance(10)
    expect(locks.holdsProjectLock(lease)).toBe(true)
    expect(told()).toEqual(['attempt', 'acquired'])
  })

  it('has nothing to look at when it is shown for the first time', async () => {
    const bed = projectBed()
    const { locks, lease, page } = await holding(bed)
    page.dispatchEvent(shown(false))
    expect(locks.holdsProjectLock(lease)).toBe(true)
  })

  it('is read-only if its lease ran out meanwhile', async () => {
    const bed = projectBed()
    const { locks, lease, page, told } = await holding(bed)
    bed.clock.jump(40_000)
    page.dispatchEvent(shown(true))
    expect(locks.holdsProjectLock(lease)).toBe(false)
    expect(told()).toEqual(['error', 'readonly-entered'])
  })
})
