import { afterEach, describe, expect, it, vi } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'
import { LeaseError } from '../core/index.ts'
import type { WebLocks } from '../stores/browser/platform.ts'
import { createProjectLocks, type LockError, type ProjectRetry } from './index.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

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
  it('acquireProjectLock makes five attempts at a held Web Lock, 10 s each, with pauses between them', async () => {
    const { clock, openTab, finished } = projectBed()
    await finished(openTab().locks.acquireProjectLock())
    const { locks, events } = openTab()
    const start = clock.now()
    const error = await finished(caught(locks.acquireProjectLock()))
    expect(error).toMatchObject({ code: 'lock-unavailable', retryable: false })
    const message = 'another tab holds the autosave lock'
    expect(error).toMatchObject({ message, cause: { code: 'lock-timeout', retryable: true, message } })
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

  it.each([['SecurityError'], ['NotSupportedError']])(
    'acquireProjectLock uses the file at once after a %s',
    async (name) => {
      const { clock, openTab, finished } = projectBed()
      const { locks, emitted } = openTab({ locks: failing(name) })
      const start = clock.now()
      expect(await finished(locks.acquireProjectLock())).toMatchObject({ backend: 'fallback' })
      expect(clock.now() - start).toBeLessThan(200)
      expect(emitted()).toEqual(['attempt', 'attempt', 'fallback-engaged', 'acquired', 'renew-scheduled'])
      await locks.close()
    },
  )

  it('fails with web-lock-unsupported if there is no backend, without a retry', async () => {
    const { openTab, finished, refuse } = projectBed()
    refuse('open', 'SecurityError')
    const { locks, emitted } = openTab({ locks: failing('SecurityError') })
    expect(await finished(caught(locks.acquireProjectLock()))).toMatchObject({
      code: 'web-lock-unsupported',
      retryable: false,
    })
    expect(emitted()).toEqual(['attempt', 'attempt', 'error', 'readonly-entered'])
  })

  it('fails at once if the directory may not be written', async () => {
    const { openTab, finished, refuse } = projectBed()
    refuse('write', 'NotAllowedError')
    const { locks, emitted } = openTab({ locks: null })
    expect(await finished(caught(locks.acquireProjectLock()))).toMatchObject({
      code: 'lock-unavailable',
      retryable: false,
    })
    expect(emitted()).toEqual(['attempt', 'error', 'readonly-entered'])
  })

  it('acquireProjectLock tries again after a transient error', async () => {
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
  ])('rejects with the reason of an abort %s, and does not enter read-only', async (_, after) => {
    const { clock, openTab, finished } = projectBed()
    const holder = openTab()
    const lease = await finished(holder.locks.acquireProjectLock())
    const { locks, emitted } = openTab()
    const stop = new AbortController()
    const waiting = caught(locks.acquireProjectLock({ signal: stop.signal }))
    await clock.advance(after)
    stop.abort('enough')
    expect(await finished(waiting)).toBe('enough')
    expect(emitted()).not.toContain('readonly-entered')
    expect(emitted().at(-1)).toBe('released')
    expect(clock.pending).toBe(0)
    await finished(holder.locks.releaseProjectLock(lease))
    expect(await finished(openTab().locks.acquireProjectLock())).toMatchObject({ backend: 'web' })
  })

  it('fails with web-lock-unsupported in a page on plain http, which has no crypto.randomUUID', async () => {
    const { clock, finished } = projectBed()
    vi.stubGlobal('crypto', { getRandomValues: (array: Uint32Array) => array.fill(7) })
    vi.stubGlobal('navigator', {})
    const error = await finished(
      caught(createProjectLocks({ namespace: 'test', clock }).acquireProjectLock()),
    )
    expect(error).toMatchObject({
      name: 'LockError',
      code: 'web-lock-unsupported',
      message: 'this page has no private directory (OPFS): load it over HTTPS or from localhost',
    })
    expect(error).toBeInstanceOf(LeaseError)
  })

  it('acquireProjectLock leaves no listener on the signal', async () => {
    const { openTab, finished } = projectBed()
    await finished(openTab().locks.acquireProjectLock())
    const { signal } = new AbortController()
    const [add, remove] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')]
    await finished(caught(openTab().locks.acquireProjectLock({ signal })))
    expect(add.mock.calls.length).toBeGreaterThan(0)
    expect(remove).toHaveBeenCalledTimes(add.mock.calls.length)
  })

  it('acquireProjectLock gets the lock of a tab that was closed', async () => {
    const { clock, openTab, finished } = projectBed()
    const first = openTab()
    await finished(first.locks.acquireProjectLock())
    const second = openTab()
    const waiting = second.locks.acquireProjectLock()
    await clock.advance(1000)
    first.close()
    await finished(waiting, 100)
    expect(second.emitted()).toEqual(['attempt', 'acquired'])
  })

  it('locks the two scopes independently', async () => {
    const { openTab, finished, lockFile } = projectBed()
    const { locks } = openTab({ locks: null })
    const autosave = await finished(locks.acquireProjectLock())
    const history = await finished(locks.acquireProjectLock({ scope: 'history' }))
    expect(lockFile()).toMatchObject({ autosave: { id: autosave.id }, history: { id: history.id } })
  })

  it.each<[string, ProjectRetry]>([
    ['numbers', { initialDelayMs: '100ms', multiplier: 3, maxDelayMs: '0.5s', maxAttempts: 4 }],
    ['a function', (failures) => [100, '300ms' as const, 500][failures - 1] ?? null],
  ])('acquireProjectLock follows a retry policy of %s', async (_, retry) => {
    const { openTab, finished } = projectBed()
    await finished(openTab({ locks: null }).locks.acquireProjectLock())
    const { locks, events } = openTab({ locks: null })
    await finished(caught(locks.acquireProjectLock({ retry })))
    const delays = events.filter((event) => event.type === 'lock:retry').map((event) => event.delayMs)
    expect(delays).toEqual([100, 300, 500])
  })

  it.each([
    [{ retry: { maxAttempts: -1 } }, 'retry.maxAttempts'],
    [{ retry: { initialDelayMs: Number.NaN } }, 'retry.initialDelayMs'],
    [{ scope: 'other' as 'history' }, 'scope'],
  ])('acquireProjectLock refuses %o', async (options, named) => {
    const { openTab } = projectBed()
    await expect(openTab().locks.acquireProjectLock(options)).rejects.toThrow(named)
  })
})

describe('standby', () => {
  it.each([
    ['the Web Lock', undefined],
    ['the file', null],
  ])('waits for %s without any event, and gets it when it is free', async (_, locks) => {
    const { clock, openTab, finished } = projectBed()
    const first = openTab(locks === null ? { locks } : {})
    const lease = await finished(first.locks.acquireProjectLock())
    const second = openTab(locks === null ? { locks } : {})
    const waiting = second.locks.acquireProjectLock({ standby: true })
    await clock.advance(300_000)
    expect(second.events).toEqual([])
    await finished(first.locks.releaseProjectLock(lease))
    await finished(waiting, 3000)
    expect(
      second.emitted().filter((type) => type !== 'fallback-engaged' && type !== 'renew-scheduled'),
    ).toEqual(['acquired'])
    await finished(second.locks.close())
  })
})

describe('steal', () => {
  it.each([
    ['the Web Lock', undefined],
    ['the file', null],
  ])('steal takes %s from its holder, who notices it, and before all who wait', async (_, locks) => {
    const { clock, openTab, finished } = projectBed()
    const open = () => openTab(locks === null ? { locks } : {})
    const [holder, waiter, thief] = [open(), open(), open()]
    const lost = await finished(holder.locks.acquireProjectLock())
    waiter.locks.acquireProjectLock({ standby: true }).catch(() => {})
    await clock.advance(3000)
    const stolen = await finished(thief.locks.acquireProjectLock({ steal: true }), 1000)
    expect(thief.locks.holdsProjectLock(stolen)).toBe(true)
    await clock.advance(10_000)
    expect(holder.locks.holdsProjectLock(lost)).toBe(false)
    expect(holder.events.find((event) => event.type === 'lock:error')).toMatchObject({
      ...{ operation: 'renew', retryable: true, error: { code: 'lock-renewal-failed' } },
    })
    expect(thief.locks.holdsProjectLock(stolen)).toBe(true)
    expect(waiter.emitted()).toEqual([])
    await Promise.all([holder, waiter, thief].map((tab) => finished(tab.locks.close())))
  })
})

describe('an existing .lock', () => {
  it('an existing .lock is overwritten if it has expired', async () => {
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
    ['not an object', '[1]'],
    ['an empty list', '[]'],
    ['a record without an id', '{"autosave":{"id":"","ttlExpiresAt":1,"mtime":1}}'],
    ['a record without fields', '{"autosave":{"id":"a"}}'],
    ['a record of another form', '{"id":"a","ttlExpiresAt":1,"mtime":1}'],
  ])('blocks for 30 s after its last change if it is damaged: %s', async (_, text) => {
    const { clock, files, openTab, finished } = projectBed()
    files.put('project/.lock', text)
    const changedAt = clock.now()
    const { locks, events, emitted } = openTab({ locks: null })
    expect(await finished(caught(locks.acquireProjectLock()))).toMatchObject({
      message: 'project/.lock is unreadable: held until 30 s after its last change',
    })
    expect(emitted()).not.toContain('acquired')
    const lease = await finished(locks.acquireProjectLock({ retry: { maxAttempts: 100 } }))
    expect(lease.acquiredAt).toBeGreaterThanOrEqual(changedAt + 30_000)
    expect(lease.acquiredAt).toBeLessThan(changedAt + 35_000)
    expect(events.find((event) => event.type === 'lock:warning')).toMatchObject({
      warning: 'fallback-corrupt',
      lease: { id: lease.id },
    })
  })

  it('blocks for at most the TTL, although its time is far in the future', async () => {
    const { clock, files, openTab, finished } = projectBed()
    const now = clock.now()
    const record = { id: 'x', ttlExpiresAt: now + 86_400_000, mtime: now }
    files.put('project/.lock', JSON.stringify({ autosave: record }))
    const { locks } = openTab({ locks: null })
    await finished(locks.acquireProjectLock({ retry: { maxAttempts: 100 } }))
    expect(clock.now() - now).toBeLessThan(40_000)
  })

  it('an existing .lock cannot be read while another tab stays inside the gate: the attempt fails', async () => {
    const { files, openTab, finished } = projectBed()
    const project = await files.root.getDirectoryHandle('project', { create: true })
    const gateFile = await project.getFileHandle('.lock.gate', { create: true })
    const gate = await gateFile.createWritable({ mode: 'exclusive' })
    const { locks } = openTab({ locks: null })
    const attempt = () => finished(caught(locks.acquireProjectLock({ retry: { maxAttempts: 1 } })))
    expect(await attempt()).toMatchObject({
      code: 'lock-unavailable',
      cause: { code: 'store-unavailable' },
    })
    await gate.abort()
    expect(await attempt()).toBeUndefined()
  })

  it('an existing .lock causes a warning if it is slow', async () => {
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
  ])('two tabs that write the .lock at once have one holder: %s', async (_, exclusive) => {
    const { openTab, finished } = projectBed({ exclusive })
    const tabs = [openTab({ locks: null }), openTab({ locks: null }), openTab({ locks: null })]
    const asking = tabs.map(({ locks }) => caught(locks.acquireProjectLock({ retry: { maxAttempts: 1 } })))
    await finished(Promise.all(asking))
    expect(tabs.filter(({ emitted }) => emitted().includes('acquired')).length).toBe(1)
  })
})
