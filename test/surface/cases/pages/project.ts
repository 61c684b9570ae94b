import assert from 'node:assert/strict'
import {
  acquireProjectLock,
  createProjectLocks,
  holdsProjectLock,
  LockError,
  projectLockEvents,
  projectLockSignal,
  releaseProjectLock,
  renewProjectLock,
  subscribeLockEvents,
  withProjectLock,
} from 'holdfast/project'
import { workerClock } from 'holdfast/worker-clock'
import { unique } from '../backend.ts'

/** The project lock, as docs/project-lock.md uses it: on Web Locks, and in the file. */
export async function projectCase(): Promise<void> {
  await usesDefaultInstance()
  await usesOwnInstance()
  await takesFromAnother()
  await usesFile()
  const cause = new Error('the cause')
  assert.equal(new LockError('lock-unavailable', 'not free', false).retryable, false)
  assert.equal(new LockError('lock-unavailable', 'not free', true, cause).cause, cause)
}

async function usesDefaultInstance(): Promise<void> {
  const types: string[] = []
  const stop = subscribeLockEvents(({ type }) => types.push(type))
  const stopOther = projectLockEvents.subscribe(({ type }) => types.push(type))
  assert.equal(await withProjectLock(async (lease) => lease.backend), 'web')
  const lease = await renewProjectLock(await acquireProjectLock())
  assert(holdsProjectLock(lease))
  assert.equal(projectLockSignal(lease).aborted, false)
  await releaseProjectLock(lease)
  assert.equal(holdsProjectLock(lease), false)
  stop()
  stopOther()
  assert.equal(types.filter((type) => type === 'lock:acquired').length, 4)
}

async function usesOwnInstance(): Promise<void> {
  await using locks = createProjectLocks({ namespace: unique })
  const types: string[] = []
  const stop = locks.subscribeLockEvents(({ type }) => types.push(type))
  const stopPlain = locks.subscribe(({ type }) => types.push(type))
  const stopOther = locks.projectLockEvents.subscribe(({ type }) => types.push(type))
  assert.equal(await locks.withProjectLock(async (lease) => lease.scope), 'autosave')
  const lease = await locks.renewProjectLock(await locks.acquireProjectLock())
  assert(locks.holdsProjectLock(lease))
  await locks.releaseProjectLock(lease)
  stop()
  stopPlain()
  stopOther()
  assert.equal(types.filter((type) => type === 'lock:released').length, 6)
  await locks.close()
}

async function takesFromAnother(): Promise<void> {
  const open = () =>
    createProjectLocks({ namespace: unique, locks: navigator.locks, page: window, takeoverAfter: '10s' })
  await using locks = open()
  await using other = open()
  const { signal } = new AbortController()
  const retry = { initialDelayMs: 1, maxDelayMs: '2s', multiplier: 2, maxAttempts: 2 } as const
  const scope = 'history'
  assert.equal(await locks.withProjectLock(async (lease) => lease.scope, { scope, signal, retry }), scope)
  const first = await locks.acquireProjectLock({ scope, signal, retry })
  const lost = new Promise((resolve) => locks.projectLockSignal(first).addEventListener('abort', resolve))
  const second = await other.acquireProjectLock({ scope, steal: true })
  await lost
  assert.equal(locks.holdsProjectLock(first), false)
  const { promise: waits, resolve: onWaiting } = Promise.withResolvers<void>()
  const third = locks.acquireProjectLock({ scope, standby: true, onWaiting })
  await waits
  await other.releaseProjectLock(second)
  assert(locks.holdsProjectLock(await third))
}

async function usesFile(): Promise<void> {
  const directory = () => navigator.storage.getDirectory()
  await using locks = createProjectLocks({
    ...{ namespace: unique, locks: null, directory, clock: workerClock() },
  })
  const lease = await locks.acquireProjectLock()
  assert.equal(lease.backend, 'fallback')
  const renewed = await locks.renewProjectLock(lease, { signal: new AbortController().signal })
  assert(renewed.ttlExpiresAt >= lease.ttlExpiresAt)
  await locks.releaseProjectLock(renewed, { force: true })
  assert.equal(locks.holdsProjectLock(renewed), false)
}
