import { describe, expect, it, vi } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'
import type { WebLocks } from '../stores/browser/index.ts'
import type { LockError } from './index.ts'

const failing = (name: string): WebLocks => ({
  request: () => Promise.reject(new DOMException('refused', name)),
  query: async () => ({}),
})

const caught = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: LockError) => error,
  )

describe('acquireProjectLock', () => {
  it('asks for a held Web Lock five times, 10 s each, with pauses in between', async () => {
    const { clock, openTab, finished } = projectBed()
    await finished(openTab().locks.acquireProjectLock())
    const { locks, events } = openTab()
    const start = clock.now()
    const error = await finished(caught(locks.acquireProjectLock()))
    expect(error).toMatchObject({ code: 'lock-unavailable', retryable: false })
    expect(error?.cause).toMatchObject({ code: 'lock-timeout', retryable: true })
    const attempts = events.filter((event) => event.type === 'lock:attempt')
    expect(attempts.map(({ at, retry }) => [retry, at - start])).toEqual([
      [0, 0],
      [1, 10_500],
      [2, 21_500],
      [3, 33_500],
      [4, 47_500],
    ])
    const waits = events.filter((event) => event.type === 'lock:waiting')
    expect(waits.map(({ retry, delayMs }) => [retry, delayMs])).toEqual([
      [1, 500],
      [2, 1000],
      [3, 2000],
      [4, 4000],
    ])
    expect(events.at(-1)).toMatchObject({
      type: 'lock:readonly-entered',
      at: start + 57_500,
      lastError: error,
    })
  })

  it.each([['SecurityError'], ['NotSupportedError']])('goes to the file at once on %s', async (name) => {
    const { clock, openTab, finished } = projectBed()
    const { locks, told } = openTab({ locks: failing(name) })
    const start = clock.now()
    expect(await finished(locks.acquireProjectLock())).toMatchObject({ backend: 'fallback' })
    expect(clock.now() - start).toBeLessThan(200)
    expect(told()).toEqual(['attempt', 'attempt', 'fallback-engaged', 'acquired', 'renew-scheduled'])
    await locks.close()
  })

  it('says so when there is neither backend, and does not ask again', async () => {
    const { openTab, finished, refuse } = projectBed()
    refuse('open', 'SecurityError')
    const { locks, told } = openTab({ locks: failing('SecurityError') })
    expect(await finished(caught(locks.acquireProjectLock()))).toMatchObject({
      code: 'web-lock-unsupported',
      retryable: false,
    })
    expect(told()).toEqual(['attempt', 'attempt', 'error', 'readonly-entered'])
  })

  it('gives up at once where the directory may not be written', async () => {
    const { openTab, finished, refuse } = projectBed()
    refuse('write', 'NotAllowedError')
    const { locks, told } = openTab({ locks: null })
    expect(await finished(caught(locks.acquireProjectLock()))).toMatchObject({
      code: 'lock-unavailable',
      retryable: false,
    })
    expect(told()).toEqual(['attempt', 'error', 'readonly-entered'])
  })

  it('tries again after an error that may pass', async () => {
    const { files, openTab, finished, refuse } = projectBed()
    refuse('close', 'QuotaExceededError')
    const { locks, events } = openTab({ locks: null })
    locks.subscribeLockEvents(({ type }) => {
      if (type === 'lock:retry') files.refuse = () => {}
    })
    await finished(locks.acquireProjectLock())
    expect(events.find((event) => event.type === 'lock:retry')).toMatchObject({ reason: 'transient-error' })
    expect(events.find((event) => event.type === 'lock:acquired')).toMatchObject({ attempt: 2 })
  })

  it.each([
    ['while it waits', 5000],
    ['while it pauses', 10_200],
  ])('rejects with the reason of an abort %s, and enters no read-only', async (_, after) => {
    const { clock, openTab, finished } = projectBed()
    const holder = openTab()
    const lease = await finished(holder.locks.acquireProjectLock())
    const { locks, told } = openTab()
    const stop = new AbortController()
    const waiting = caught(locks.acquireProjectLock({ signal: stop.signal }))
    await clock.advance(after)
    stop.abort('enough')
    expect(await finished(waiting)).toBe('enough')
    expect(told()).not.toContain('readonly-entered')
    expect(told().at(-1)).toBe('released')
    expect(clock.pending).toBe(0)
    await finished(holder.locks.releaseProjectLock(lease))
    expect(await finished(openTab().locks.acquireProjectLock())).toMatchObject({ backend: 'web' })
  })

  it('leaves nothing on a signal that outlives it', async () => {
    const { openTab, finished } = projectBed()
    await finished(openTab().locks.acquireProjectLock())
    const { signal } = new AbortController()
    const [add, remove] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')]
    await finished(caught(openTab().locks.acquireProjectLock({ signal })))
    expect(add.mock.calls.length).toBeGreaterThan(0)
    expect(remove).toHaveBeenCalledTimes(add.mock.calls.length)
  })

  it('takes the place of a tab that was closed', async () => {
    const { clock, openTab, finished } = projectBed()
    const first = openTab()
    await finished(first.locks.acquireProjectLock())
    const second = openTab()
    const waiting = second.locks.acquireProjectLock()
    await clock.advance(1000)
    first.close()
    await finished(waiting, 100)
    expect(second.told()).toEqual(['attempt', 'acquired'])
  })

  it('keeps the scopes apart', async () => {
    const { openTab, finished, lockFile } = projectBed()
    const { locks } = openTab({ locks: null })
    const autosave = await finished(locks.acquireProjectLock())
    const history = await finished(locks.acquireProjectLock({ scope: 'history' }))
    expect(lockFile()).toMatchObject({ autosave: { id: autosave.id }, history: { id: history.id } })
  })

  it('follows the retry policy that it is given', async () => {
    const { openTab, finished } = projectBed()
    await finished(openTab({ locks: null }).locks.acquireProjectLock())
    const { locks, events } = openTab({ locks: null })
    const retry = { initialDelayMs: 100, multiplier: 3, maxDelayMs: 500, maxAttempts: 4 }
    await finished(caught(locks.acquireProjectLock({ retry })))
    const delays = events.filter((event) => event.type === 'lock:retry').map((event) => event.delayMs)
    expect(delays).toEqual([100, 300, 500])
  })

  it.each([
    [{ retry: { maxAttempts: -1 } }, 'retry.maxAttempts'],
    [{ retry: { initialDelayMs: Number.NaN } }, 'retry.initialDelayMs'],
    [{ scope: 'other' as 'history' }, 'scope'],
  ])('refuses %o', async (options, named) => {
    const { openTab } = projectBed()
    await expect(openTab().locks.acquireProjectLock(options)).rejects.toThrow(named)
  })
})

describe('standby', () => {
  it.each([
    ['the Web Lock', undefined],
    ['the file', null],
  ])('waits for %s in silence, and writes again when it is free', async (_, locks) => {
    const { clock, openTab, finished } = projectBed()
    const first = openTab(locks === null ? { locks } : {})
    const lease = await finished(first.locks.acquireProjectLock())
    const second = openTab(locks === null ? { locks } : {})
    const waiting = second.locks.acquireProjectLock({ standby: true })
    await clock.advance(300_000)
    expect(second.events).toEqual([])
    await finished(first.locks.releaseProjectLock(lease))
    await finished(waiting, 3000)
    expect(second.told().filter((type) => type !== 'fallback-engaged' && type !== 'renew-scheduled')).toEqual(
      ['acquired'],
    )
    await finished(second.locks.close())
  })
})

describe('the .lock that an acquisition finds', () => {
  it('is overwritten when it has expired', async () => {
    const { clock, files, openTab, finished, lockFile } = projectBed()
    const now = clock.now()
    files.put(
      'project/.lock',
      JSON.stringify({ autosave: { id: 'old', ttlExpiresAt: now, mtime: now - 30_000 } }),
    )
    const lease = await finished(openTab({ locks: null }).locks.acquireProjectLock(), 200)
    expect(lockFile()).toEqual({
      autosave: { id: lease.id, ttlExpiresAt: lease.ttlExpiresAt, mtime: lease.acquiredAt },
    })
  })

  it.each([
    ['not JSON', '{"autosave":{"id":"a"'],
    ['empty', ''],
    ['no object', '[1]'],
    ['a record without fields', '{"autosave":{"id":"a"}}'],
    ['a record of another form', '{"id":"a","ttlExpiresAt":1,"mtime":1}'],
  ])('is respected for 30 s after its last change when it is damaged: %s', async (_, text) => {
    const { clock, files, openTab, finished } = projectBed()
    files.put('project/.lock', text)
    const changedAt = clock.now()
    const { locks, events, told } = openTab({ locks: null })
    await finished(caught(locks.acquireProjectLock()))
    expect(told()).not.toContain('acquired')
    const lease = await finished(locks.acquireProjectLock({ retry: { maxAttempts: 100 } }))
    expect(lease.acquiredAt).toBeGreaterThanOrEqual(changedAt + 30_000)
    expect(lease.acquiredAt).toBeLessThan(changedAt + 35_000)
    expect(events.find((event) => event.type === 'lock:warning')).toMatchObject({
      warning: 'fallback-corrupt',
      lease: { id: lease.id },
    })
  })

  it.each([
    ['counts for no longer than the TTL', 'x', 40_000],
    ['is thought to be removed for no longer than a second', 'leaving:x', 1500],
  ])('%s, though its time lies far ahead', async (_, id, limitMs) => {
    const { clock, files, openTab, finished } = projectBed()
    const now = clock.now()
    const record = { id, ttlExpiresAt: now + 86_400_000, mtime: now }
    files.put('project/.lock', JSON.stringify({ autosave: record }))
    const { locks } = openTab({ locks: null })
    await finished(locks.acquireProjectLock({ retry: { maxAttempts: 100 } }))
    expect(clock.now() - now).toBeLessThan(limitMs)
  })

  it('fails an attempt when others remove it again and again', async () => {
    const { clock, files, openTab, finished } = projectBed()
    files.refuse = () => {
      const now = clock.now()
      const mark = { id: 'leaving:x', ttlExpiresAt: now + 500, mtime: now }
      files.put('project/.lock', JSON.stringify({ autosave: mark }))
    }
    const { locks } = openTab({ locks: null })
    const failure = await finished(caught(locks.acquireProjectLock({ retry: { maxAttempts: 1 } })))
    expect(failure).toMatchObject({
      code: 'lock-unavailable',
      cause: { code: 'store-unavailable', message: '.lock is busy' },
    })
  })

  it('is warned of when it was slow', async () => {
    const { clock, files, openTab, finished } = projectBed()
    files.refuse = async (operation) => {
      if (operation === 'close') await new Promise<void>((resolve) => clock.setTimer(resolve, 1500))
    }
    const { locks, events } = openTab({ locks: null })
    const lease = await finished(locks.acquireProjectLock())
    expect(events.find((event) => event.type === 'lock:warning')).toMatchObject({
      warning: 'fallback-delayed',
      detail: expect.stringContaining('1500 ms'),
      lease,
    })
  })
})

describe('two tabs that write the .lock at once', () => {
  it.each([
    ['with exclusive writers', true],
    ['by reading back', false],
  ])('have one holder: %s', async (_, exclusive) => {
    const { openTab, finished } = projectBed({ exclusive })
    const tabs = [openTab({ locks: null }), openTab({ locks: null }), openTab({ locks: null })]
    const asking = tabs.map(({ locks }) => caught(locks.acquireProjectLock({ retry: { maxAttempts: 1 } })))
    await finished(Promise.all(asking))
    expect(tabs.filter(({ told }) => told().includes('acquired')).length).toBe(1)
  })
})
