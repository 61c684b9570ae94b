import { expect, it } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'
import { createProjectLocks, type ProjectLocks, type ProjectLocksOptions } from './index.ts'

/** Whatever a caller without types may pass. */
type Loose = Record<keyof ProjectLocks, (...args: unknown[]) => Promise<unknown>>

it.each<[said: string, call: (locks: Loose) => unknown]>([
  ['executor: expected a function, got 5', (locks) => locks.withProjectLock(5)],
  ['listener: expected a function, got an object', (locks) => locks.subscribeLockEvents({})],
  ['options: expected an object, got null', (locks) => locks.acquireProjectLock(null)],
  ['options: expected an object, got null', (locks) => locks.withProjectLock(async () => {}, null)],
  ['scope: expected autosave,history, got all', (locks) => locks.acquireProjectLock({ scope: 'all' })],
  [
    'scope: expected autosave,history, got Symbol(all)',
    (locks) => locks.acquireProjectLock({ scope: Symbol('all') }),
  ],
  ['signal: expected an AbortSignal, got an object', (locks) => locks.acquireProjectLock({ signal: {} })],
  [
    'signal: expected an AbortSignal, got null',
    (locks) => locks.withProjectLock(async () => {}, { signal: null }),
  ],
  ['retry: expected an object, got null', (locks) => locks.acquireProjectLock({ retry: null })],
  ['retry: expected an object, got 5', (locks) => locks.withProjectLock(async () => {}, { retry: 5 })],
  [
    'retry.maxAttempts: expected a number from 0, got many',
    (locks) => locks.acquireProjectLock({ retry: { maxAttempts: 'many' } }),
  ],
  [
    'retry.maxAttempts: expected a number from 0, got an object',
    (locks) => locks.acquireProjectLock({ retry: { maxAttempts: {} } }),
  ],
  [
    'retry.multiplier: expected a number from 0, got 2',
    (locks) => locks.acquireProjectLock({ retry: { multiplier: '2' } }),
  ],
  ['options: expected an object, got null', (locks) => locks.renewProjectLock({ id: '' }, null)],
  ['options: expected an object, got null', (locks) => locks.releaseProjectLock({ id: '' }, null)],
  ['options: expected an object, got 5', () => createProjectLocks(5 as ProjectLocksOptions)],
  ['lease: expected an object, got undefined', (locks) => locks.renewProjectLock()],
  ['lease: expected an object, got null', (locks) => locks.releaseProjectLock(null)],
  ['lease: expected an object, got an id', (locks) => locks.holdsProjectLock('an id')],
  ['lease: expected an object, got undefined', (locks) => locks.projectLockSignal()],
  ['signal: expected an AbortSignal, got 5', (locks) => locks.renewProjectLock({ id: '' }, { signal: 5 })],
  [
    'retry.initialDelayMs: expected a number from 0, got -1',
    (locks) => locks.acquireProjectLock({ retry: { initialDelayMs: -1 } }),
  ],
])('bad input is refused before anything is done: %s', async (said, call) => {
  const { locks, events } = projectBed().openTab()
  const refusal = { name: 'LeaseError', code: 'invalid-argument', message: said }
  await expect((async () => call(locks as unknown as Loose))()).rejects.toMatchObject(refusal)
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
