import { expect, it } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'
import { INITIAL_LOCK_STATE, reduceLockEvent, statusOf } from './project-lock-status.ts'

/** A page, and the status that it shows, while another page holds the lock. */
async function besideHolder() {
  const { clock, openTab, finished } = projectBed()
  const other = openTab()
  const lease = await finished(other.locks.acquireProjectLock())
  const { locks, events } = openTab()
  const shown = () => statusOf(events.reduce(reduceLockEvent, INITIAL_LOCK_STATE)).status
  async function request(options: { maxAttempts?: number } = {}) {
    const caller = new AbortController()
    const ended = locks.acquireProjectLock({ signal: caller.signal, retry: options }).catch(() => null)
    await clock.advance(100)
    return { ended, abort: () => caller.abort() }
  }
  return {
    clock,
    locks,
    finished,
    shown,
    request,
    freeLock: () => finished(other.locks.releaseProjectLock(lease)),
  }
}

it('the status is waiting until the last request was aborted', async () => {
  const { request, shown, finished } = await besideHolder()
  const [first, second] = [await request(), await request()]
  expect(shown()).toBe('waiting')
  first.abort()
  await finished(first.ended)
  expect(shown()).toBe('waiting')
  second.abort()
  await finished(second.ended)
  expect(shown()).toBe('free')
})

it('the status is free after the locks were closed', async () => {
  const { request, shown, finished, locks } = await besideHolder()
  const { ended } = await request()
  await finished(locks.close())
  await finished(ended)
  expect(shown()).toBe('free')
})

it('a read-only page that aborts another request stays read-only', async () => {
  const { request, shown, finished } = await besideHolder()
  const { ended } = await request({ maxAttempts: 1 })
  await finished(ended)
  expect(shown()).toBe('read-only')
  const again = await request()
  expect(shown()).toBe('waiting')
  again.abort()
  await finished(again.ended)
  expect(shown()).toBe('read-only')
})

it('a page that got the lock holds it while another of its requests waits or is aborted', async () => {
  const { request, shown, finished, locks, freeLock } = await besideHolder()
  const [first, second] = [await request(), await request()]
  await freeLock()
  const lease = await finished(first.ended)
  expect(shown()).toBe('held')
  second.abort()
  await finished(second.ended)
  expect(shown()).toBe('held')
  if (lease) await finished(locks.releaseProjectLock(lease))
  expect(shown()).toBe('free')
})
