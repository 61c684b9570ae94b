import { expect, it } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'
import { hearEvent, NOTHING_HEARD, statusOf } from './project-lock-status.ts'

/** A page with what it shows of its lock, while another page holds it. */
async function besideHolder() {
  const { clock, openTab, finished } = projectBed()
  const other = openTab()
  const lease = await finished(other.locks.acquireProjectLock())
  const { locks, events } = openTab()
  const shown = () => statusOf(events.reduce(hearEvent, NOTHING_HEARD)).status
  async function ask(options: { maxAttempts?: number } = {}) {
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
    ask,
    freeLock: () => finished(other.locks.releaseProjectLock(lease)),
  }
}

it('nobody waits any more when the last who did was aborted', async () => {
  const { ask, shown, finished } = await besideHolder()
  const [first, second] = [await ask(), await ask()]
  expect(shown()).toBe('waiting')
  first.abort()
  await finished(first.ended)
  expect(shown()).toBe('waiting')
  second.abort()
  await finished(second.ended)
  expect(shown()).toBe('free')
})

it('nobody waits any more when the locks were closed', async () => {
  const { ask, shown, finished, locks } = await besideHolder()
  const { ended } = await ask()
  await finished(locks.close())
  await finished(ended)
  expect(shown()).toBe('free')
})

it('a page that is read-only and gives up another try is read-only still', async () => {
  const { ask, shown, finished } = await besideHolder()
  const { ended } = await ask({ maxAttempts: 1 })
  await finished(ended)
  expect(shown()).toBe('read-only')
  const again = await ask()
  expect(shown()).toBe('waiting')
  again.abort()
  await finished(again.ended)
  expect(shown()).toBe('read-only')
})

it('a page that gets the lock holds it, though another of its own waits on or gives up', async () => {
  const { ask, shown, finished, locks, freeLock } = await besideHolder()
  const [first, second] = [await ask(), await ask()]
  await freeLock()
  const lease = await finished(first.ended)
  expect(shown()).toBe('held')
  second.abort()
  await finished(second.ended)
  expect(shown()).toBe('held')
  if (lease) await finished(locks.releaseProjectLock(lease))
  expect(shown()).toBe('free')
})
