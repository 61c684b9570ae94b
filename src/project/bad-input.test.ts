import { expect, it } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'
import { createProjectLocks, type ProjectLocks } from './index.ts'

/** Whatever a caller without types may pass. */
type Loose = Record<keyof ProjectLocks, (...args: unknown[]) => Promise<unknown>>

it.each<[name: string, call: (locks: Loose) => unknown]>([
  ['executor', (locks) => locks.withProjectLock(5)],
  ['listener', (locks) => locks.subscribeLockEvents(5)],
  ['options', (locks) => locks.acquireProjectLock(null)],
  ['options', (locks) => locks.withProjectLock(async () => {}, null)],
  ['scope', (locks) => locks.acquireProjectLock({ scope: 'all' })],
  ['signal', (locks) => locks.acquireProjectLock({ signal: 5 })],
  ['signal', (locks) => locks.withProjectLock(async () => {}, { signal: null })],
  ['retry.maxAttempts', (locks) => locks.acquireProjectLock({ retry: { maxAttempts: 'many' } })],
  ['retry.initialDelayMs', (locks) => locks.acquireProjectLock({ retry: { initialDelayMs: -1 } })],
])('a bad %s is refused before anything is done', async (name, call) => {
  const { locks, events } = projectBed().openTab()
  await expect((async () => call(locks as unknown as Loose))()).rejects.toMatchObject({
    code: 'invalid-argument',
    message: expect.stringContaining(`${name}: expected`),
  })
  expect(events).toEqual([])
})

it.each(['', '-x', 5, null])('the namespace %j is refused', (namespace) => {
  expect(() => createProjectLocks({ namespace: namespace as string })).toThrow('namespace: expected')
})

it('an option that is undefined counts as not given', async () => {
  const { openTab, finished } = projectBed()
  const retry = { maxAttempts: undefined, initialDelayMs: undefined }
  const options = { retry, signal: undefined, scope: undefined, standby: undefined }
  const { locks } = openTab()
  const acquiring = (locks as unknown as Loose).acquireProjectLock(options)
  expect(await finished(acquiring)).toMatchObject({ scope: 'autosave' })
})
