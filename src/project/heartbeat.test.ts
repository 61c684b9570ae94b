import { describe, expect, it } from 'vitest'
import { projectBed, type Tab } from '../../test/web/project-bed.ts'
import type { ProjectLockLease } from './index.ts'

/** A tab that holds the lock through the file. The events of the acquisition are removed. */
async function holding(bed: ReturnType<typeof projectBed>): Promise<Tab & { lease: ProjectLockLease }> {
  const tab = bed.openTab({ locks: null })
  const lease = await bed.finished(tab.locks.acquireProjectLock())
  tab.events.length = 0
  return { ...tab, lease }
}

describe('the heartbeat of the fallback', () => {
  it('the heartbeat of the fallback renews every 10 s', async () => {
    const bed = projectBed()
    const { events, emitted, lease, locks } = await holding(bed)
    await bed.clock.advance(30_000)
    const renewal = ['attempt', 'renewed', 'renew-scheduled']
    expect(emitted()).toEqual([...renewal, ...renewal, ...renewal])
    expect(events[0]).toMatchObject({ operation: 'renew', strategy: 'fallback', retry: 0, leaseId: lease.id })
    expect(events[2]).toMatchObject({ nextHeartbeatInMs: 10_000, lease: { id: lease.id } })
    expect(bed.lockFile().autosave.mtime).toBeGreaterThan(lease.acquiredAt + 29_000)
    expect(locks.holdsProjectLock(lease)).toBe(true)
  })

  it('the heartbeat of the fallback warns after 20 s without a renewal, and ends the lease within 30 s', async () => {
    const bed = projectBed()
    const { locks, lease, events, emitted } = await holding(bed)
    bed.files.refuse = () => new Promise(() => {})
    await bed.clock.advance(20_000)
    expect(events.find((event) => event.type === 'lock:warning')).toMatchObject({
      warning: 'heartbeat-delayed',
      lease: { id: lease.id },
    })
    expect(locks.holdsProjectLock(lease)).toBe(true)
    await bed.clock.advance(10_000)
    expect(emitted().slice(-2)).toEqual(['error', 'readonly-entered'])
    expect(events.at(-1)).toMatchObject({
      reason: 'lease-expired',
      lastError: { code: 'lock-renewal-failed', retryable: false },
    })
    expect(locks.holdsProjectLock(lease)).toBe(false)
    expect(locks.projectLockSignal(lease).reason).toMatchObject({ code: 'lock-renewal-failed' })
  })

  it('the heartbeat of the fallback retries a failed renewal after 0.5, 1, 2 and 4 s; the fifth failure is a retryable loss', async () => {
    const bed = projectBed()
    const { locks, lease, events, emitted } = await holding(bed)
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
    expect(emitted()).not.toContain('readonly-entered')
    expect(locks.holdsProjectLock(lease)).toBe(false)
    bed.files.refuse = () => {}
    await bed.finished(locks.releaseProjectLock(lease))
    expect(await bed.finished(locks.acquireProjectLock())).toMatchObject({ backend: 'fallback' })
  })

  it('the heartbeat of the fallback continues when a later try succeeds', async () => {
    const bed = projectBed()
    const { events, emitted } = await holding(bed)
    bed.refuse('write', 'QuotaExceededError')
    await bed.clock.advance(12_000)
    bed.files.refuse = () => {}
    await bed.clock.advance(10_000)
    expect(emitted()).toContain('renewed')
    expect(emitted()).not.toContain('error')
    expect(events.findLast((event) => event.type === 'lock:attempt')).toMatchObject({ retry: 3 })
  })

  it('the heartbeat of the fallback does not retry after NotAllowedError', async () => {
    const bed = projectBed()
    const { events, emitted } = await holding(bed)
    bed.refuse('write', 'NotAllowedError')
    await bed.clock.advance(10_000)
    expect(emitted()).toEqual(['attempt', 'error', 'readonly-entered'])
    expect(events.at(-1)).toMatchObject({ reason: 'renewal-denied', lastError: { retryable: false } })
  })

  it.each([
    ['the files were cleared', (bed: ReturnType<typeof projectBed>) => bed.files.clear()],
    ['the record is gone', (bed: ReturnType<typeof projectBed>) => bed.files.put('project/.lock', '{}')],
  ])('the heartbeat of the fallback loses the lease if %s', async (_, happen) => {
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

  it('the heartbeat of the fallback ends the lease by the wall clock after the machine slept', async () => {
    const bed = projectBed()
    const { locks, lease, emitted } = await holding(bed)
    bed.clock.jump(31_000)
    expect(locks.holdsProjectLock(lease)).toBe(false)
    expect(emitted()).toEqual(['error', 'readonly-entered'])
  })
})

describe('renewProjectLock', () => {
  it('resolves with the retry that succeeds', async () => {
    const bed = projectBed()
    const { locks, lease, emitted } = await holding(bed)
    bed.refuse('write', 'QuotaExceededError')
    const renewing = locks.renewProjectLock(lease)
    await bed.clock.advance(400)
    bed.files.refuse = () => {}
    const renewed = await bed.finished(renewing)
    expect(renewed.ttlExpiresAt).toBeGreaterThan(lease.ttlExpiresAt)
    expect(emitted()).toEqual(['attempt', 'retry', 'waiting', 'attempt', 'renewed', 'renew-scheduled'])
  })

  it('renewProjectLock rejects if all tries fail', async () => {
    const bed = projectBed()
    const { locks, lease } = await holding(bed)
    bed.refuse('write', 'QuotaExceededError')
    const failure = bed.finished(locks.renewProjectLock(lease).catch((error) => error))
    expect(await failure).toMatchObject({ code: 'lock-renewal-failed', retryable: true })
    await expect(locks.renewProjectLock(lease)).rejects.toMatchObject({ code: 'lock-renewal-failed' })
  })

  it('renewProjectLock stops waiting when its signal aborts', async () => {
    const bed = projectBed()
    const { locks, lease } = await holding(bed)
    bed.files.refuse = () => new Promise(() => {})
    const stop = new AbortController()
    const renewing = locks.renewProjectLock(lease, { signal: stop.signal }).catch((error) => error)
    stop.abort('enough')
    expect(await bed.finished(renewing, 1000)).toBe('enough')
  })

  it('renewProjectLock rejects if the lease is released in the meantime', async () => {
    const bed = projectBed()
    const { locks, lease } = await holding(bed)
    bed.files.refuse = () => new Promise(() => {})
    const renewing = locks.renewProjectLock(lease).catch((error) => error)
    void locks.releaseProjectLock(lease)
    expect(await bed.finished(renewing, 1000)).toMatchObject({ code: 'lock-renewal-failed' })
  })

  it('renewProjectLock does nothing for a Web Lock, and rejects after the release', async () => {
    const { openTab, finished } = projectBed()
    const { locks, emitted } = openTab()
    const lease = await finished(locks.acquireProjectLock())
    expect(await finished(locks.renewProjectLock(lease))).toEqual(lease)
    expect(emitted()).toEqual(['attempt', 'acquired'])
    await finished(locks.releaseProjectLock(lease))
    await expect(locks.renewProjectLock(lease)).rejects.toMatchObject({ code: 'lock-renewal-failed' })
  })
})

describe('a Web Lock that was stolen', () => {
  it('a Web Lock that was stolen is a retryable loss', async () => {
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
    ['after it was frozen', new Event('resume')],
  ])('a page that comes back may not write before its lease is confirmed: %s', async (_, event) => {
    const bed = projectBed()
    const { locks, lease, page } = await holding(bed)
    page.dispatchEvent(event)
    expect(locks.holdsProjectLock(lease)).toBe(false)
    await bed.clock.advance(100)
    expect(locks.holdsProjectLock(lease)).toBe(true)
  })

  it('a page that comes back confirms a Web Lock as well, without events', async () => {
    const { clock, openTab, finished } = projectBed()
    const { locks, page, emitted } = openTab()
    const lease = await finished(locks.acquireProjectLock())
    page.dispatchEvent(shown(true))
    expect(locks.holdsProjectLock(lease)).toBe(false)
    await clock.advance(10)
    expect(locks.holdsProjectLock(lease)).toBe(true)
    expect(emitted()).toEqual(['attempt', 'acquired'])
  })

  it('lets go of a Web Lock that it cannot confirm, so that it can acquire it again', async () => {
    const { clock, finished, manager, openTab } = projectBed()
    const own = manager.tab()
    let fails = true
    const query = async () => {
      if (fails) throw new DOMException('not now', 'InvalidStateError')
      return own.query()
    }
    const { locks, page } = openTab({ locks: { ...own, query } })
    const lease = await finished(locks.acquireProjectLock())
    page.dispatchEvent(shown(true))
    await clock.advance(10_000)
    expect(locks.projectLockSignal(lease).reason).toMatchObject({
      code: 'lock-renewal-failed',
      retryable: true,
    })
    fails = false
    const again = await finished(locks.acquireProjectLock(), 1000)
    expect(locks.holdsProjectLock(again)).toBe(true)
  })

  it('a page that comes back checks nothing when it is shown for the first time', async () => {
    const bed = projectBed()
    const { locks, lease, page } = await holding(bed)
    page.dispatchEvent(shown(false))
    expect(locks.holdsProjectLock(lease)).toBe(true)
  })

  it('a page that comes back is read-only if its lease expired in the meantime', async () => {
    const bed = projectBed()
    const { locks, lease, page, emitted } = await holding(bed)
    bed.clock.jump(40_000)
    page.dispatchEvent(shown(true))
    expect(locks.holdsProjectLock(lease)).toBe(false)
    expect(emitted()).toEqual(['error', 'readonly-entered'])
  })
})
