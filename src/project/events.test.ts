import { describe, expect, it, vi } from 'vitest'
import { FakeLockManager } from '../../test/web/fake-locks.ts'
import { projectBed } from '../../test/web/project-bed.ts'
import { FakeClock } from '../testing/index.ts'
import type { ProjectLockEvent } from './index.ts'

/** Every event, with its own fields, in addition to those of all events. */
const FIELDS: Record<ProjectLockEvent['type'], readonly string[]> = {
  'lock:attempt': ['operation', 'strategy', 'retry'],
  'lock:waiting': ['retry', 'delayMs'],
  'lock:retry': ['attempt', 'delayMs', 'reason'],
  'lock:fallback-engaged': ['lease'],
  'lock:warning': ['warning', 'lease'],
  'lock:cleanup-warning': ['message'],
  'lock:acquired': ['attempt', 'lease'],
  'lock:renew-scheduled': ['lease', 'nextHeartbeatInMs'],
  'lock:renewed': ['ttlExpiresAt', 'lease'],
  'lock:release-requested': ['lease'],
  'lock:released': [],
  'lock:error': ['operation', 'error', 'retryable'],
  'lock:readonly-entered': ['reason', 'lastError'],
}
const BASE = ['type', 'at', 'leaseId', 'backend', 'scope']

describe('the events of the project lock', () => {
  it('the events of the project lock are all emitted, each with its fields', async () => {
    const { clock, files, openTab, finished, refuse } = projectBed()
    const { locks, events } = openTab({ locks: null })
    files.put('project/.lock', 'damaged')
    const lease = await finished(locks.acquireProjectLock({ retry: { maxAttempts: 50 } }))
    await clock.advance(10_000)
    refuse('remove', 'NotAllowedError')
    await finished(locks.releaseProjectLock(lease))
    files.refuse = () => {}
    await finished(locks.withProjectLock(() => Promise.reject('no')).catch(() => {}))
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(Object.keys(FIELDS)))
    for (const event of events) {
      expect(Object.keys(event).sort()).toEqual([...BASE, ...FIELDS[event.type]].sort())
      expect(event).toMatchObject({ backend: 'fallback', scope: 'autosave', leaseId: expect.any(String) })
    }
  })

  it('the events of the project lock have times that never go back, although the clock does', async () => {
    const { clock, openTab, finished } = projectBed()
    const { locks, events } = openTab()
    const lease = await finished(locks.acquireProjectLock())
    clock.jump(-60_000)
    await finished(locks.releaseProjectLock(lease))
    const times = events.map(({ at }) => at)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  })

  it('the events of the project lock reach every listener in the same order, also those that a listener causes', async () => {
    const { openTab, finished } = projectBed()
    const { locks, emitted } = openTab()
    const order: string[] = []
    locks.projectLockEvents.subscribe((event) => {
      if (event.type === 'lock:acquired') void locks.releaseProjectLock(event.lease)
      throw new Error('a bad listener')
    })
    const stop = locks.subscribeLockEvents(({ type }) => order.push(type.slice('lock:'.length)))
    await finished(locks.acquireProjectLock())
    expect(order).toEqual(emitted())
    stop()
    stop()
    await finished(locks.acquireProjectLock())
    expect(order.length).toBeLessThan(emitted().length)
  })
})

it('a function that subscribed twice stays subscribed after one of the subscriptions ends', async () => {
  const { openTab, finished } = projectBed()
  const { locks } = openTab()
  const listener = vi.fn()
  const [stop] = [locks.subscribeLockEvents(listener), locks.subscribeLockEvents(listener)]
  stop()
  await finished(locks.acquireProjectLock())
  expect(listener).toHaveBeenCalledTimes(2)
})

it('the default clock is the worker clock', async () => {
  vi.resetModules()
  const clock = new FakeClock()
  vi.doMock('../worker-clock/index.ts', () => ({ workerClock: () => clock }))
  const { createProjectLocks } = await import('./index.ts')
  const locks = createProjectLocks({ namespace: 'test', locks: new FakeLockManager().tab() })
  const lease = await locks.acquireProjectLock()
  expect(lease.acquiredAt).toBe(clock.now())
  await locks.close()
  vi.doUnmock('../worker-clock/index.ts')
})

describe('the default instance', () => {
  it('the default instance has the namespace imgponic, and emits the same events to both kinds of subscription', async () => {
    vi.resetModules()
    const tab = new FakeLockManager().tab()
    vi.stubGlobal('navigator', { locks: tab })
    const project = await import('./index.ts')
    const emitted: string[] = []
    project.projectLockEvents.subscribe(({ type }) => emitted.push(type))
    project.subscribeLockEvents(({ type }) => emitted.push(type))
    const held = await project.withProjectLock(async (lease) => [
      (await tab.query()).held?.[0],
      project.holdsProjectLock(lease),
      project.projectLockSignal(lease).aborted,
    ])
    expect(held).toEqual([
      expect.objectContaining({ name: 'imgponic:project:autosave', mode: 'exclusive' }),
      ...[true, false],
    ])
    expect(emitted.filter((type) => type === 'lock:acquired').length).toBe(2)
    const lease = await project.acquireProjectLock({ scope: 'history' })
    expect(await project.renewProjectLock(lease)).toEqual(lease)
    await project.releaseProjectLock(lease)
    expect((await tab.query()).held).toEqual([])
    vi.unstubAllGlobals()
  })
})
