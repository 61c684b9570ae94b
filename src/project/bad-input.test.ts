import { expect, it } from 'vitest'
import { projectBed } from '../../test/web/project-bed.ts'
import { createProjectLocks, type ProjectLocks, type ProjectLocksOptions } from './index.ts'

/** Whatever a caller without types may pass. */
type Loose = Record<keyof ProjectLocks, (...args: unknown[]) => Promise<unknown>>

it.each<[message: string, call: (locks: Loose) => unknown]>([
  ['executor: expected a function, got 5', (locks) => locks.withProjectLock(5)],
  ['listener: expected a function, got an object', (locks) => locks.subscribeLockEvents({})],
  ['options: expected an object, got null', (locks) => locks.acquireProjectLock(null)],
  ['options: expected an object, got 10n', (locks) => locks.acquireProjectLock(10n)],
  ['options: expected an object, got null', (locks) => locks.withProjectLock(async () => {}, null)],
  [
    'scope: expected "autosave" or "history", got "all"',
    (locks) => locks.acquireProjectLock({ scope: 'all' }),
  ],
  [
    'scope: expected "autosave" or "history", got Symbol(all)',
    (locks) => locks.acquireProjectLock({ scope: Symbol('all') }),
  ],
  [
    'scope: expected "autosave" or "history", got an object',
    (locks) => locks.acquireProjectLock({ scope: Object.create(null) }),
  ],
  ['signal: expected an AbortSignal, got an object', (locks) => locks.acquireProjectLock({ signal: {} })],
  [
    'signal: expected an AbortSignal, got null',
    (locks) => locks.withProjectLock(async () => {}, { signal: null }),
  ],
  ['onWaiting: expected a function, got 5', (locks) => locks.acquireProjectLock({ onWaiting: 5 })],
  ['steal: expected true or false, got "yes"', (locks) => locks.acquireProjectLock({ steal: 'yes' })],
  ['standby: expected true or false, got "yes"', (locks) => locks.acquireProjectLock({ standby: 'yes' })],
  ['retry: expected a function or an object, got null', (locks) => locks.acquireProjectLock({ retry: null })],
  [
    'retry: expected a function or an object, got 5',
    (locks) => locks.withProjectLock(async () => {}, { retry: 5 }),
  ],
  [
    'retry.maxAttempts: expected a whole number from 1, got "many"',
    (locks) => locks.acquireProjectLock({ retry: { maxAttempts: 'many' } }),
  ],
  [
    'retry.maxAttempts: expected a whole number from 1, got an object',
    (locks) => locks.acquireProjectLock({ retry: { maxAttempts: {} } }),
  ],
  [
    'retry.multiplier: expected a number from 0, got "2"',
    (locks) => locks.acquireProjectLock({ retry: { multiplier: '2' } }),
  ],
  [
    "retry.initialDelayMs: expected whole milliseconds from 0 to 2147483647, or text such as '30s', got -1",
    (locks) => locks.acquireProjectLock({ retry: { initialDelayMs: -1 } }),
  ],
  [
    'retry.maxDelayMs: expected whole milliseconds from 0 to 2147483647, or text such as \'30s\', got "soon"',
    (locks) => locks.acquireProjectLock({ retry: { maxDelayMs: 'soon' } }),
  ],
  ['options: expected an object, got null', (locks) => locks.renewProjectLock({ id: '' }, null)],
  ['options: expected an object, got null', (locks) => locks.releaseProjectLock({ id: '' }, null)],
  ['lease: expected an object, got undefined', (locks) => locks.renewProjectLock()],
  ['lease: expected an object, got null', (locks) => locks.releaseProjectLock(null)],
  ['lease: expected an object, got "x"', (locks) => locks.releaseProjectLock('x')],
  [
    'lease.id: expected a non-empty string, got undefined',
    (locks) => locks.releaseProjectLock(Object.create(null)),
  ],
  ['lease: expected an object, got "an id"', (locks) => locks.holdsProjectLock('an id')],
  ['lease: expected an object, got undefined', (locks) => locks.projectLockSignal()],
  ['signal: expected an AbortSignal, got 5', (locks) => locks.renewProjectLock({ id: '' }, { signal: 5 })],
  ['force: expected true or false, got 1', (locks) => locks.releaseProjectLock({ id: 'x' }, { force: 1 })],
  [
    'lease.scope: expected "autosave" or "history", got undefined',
    (locks) => locks.releaseProjectLock({ id: 'x' }, { force: true }),
  ],
])('an invalid argument is refused before anything happens: %s', async (message, call) => {
  const { locks, events } = projectBed().openTab()
  const refusal = { name: 'LeaseError', code: 'invalid-argument', message }
  await expect((async () => call(locks as unknown as Loose))()).rejects.toMatchObject(refusal)
  expect(events).toEqual([])
})

it.each<[message: string, options: unknown]>([
  ['options: expected an object, got 10n', 10n],
  ['options: expected an object, got 5', 5],
  ['options: expected an object, got null', null],
  ['namespace: expected a name without a leading -, got ""', { namespace: '' }],
  ['namespace: expected a name without a leading -, got "-x"', { namespace: '-x' }],
  ['namespace: expected a name without a leading -, got 5', { namespace: 5 }],
  ['namespace: expected a name without a leading -, got null', { namespace: null }],
  ['namespace: expected a name without a leading -, got undefined', {}],
  ['options: expected an object, got undefined', undefined],
  ['locks: expected a LockManager or null (with request, query), got an object', { locks: {} }],
  ['locks: expected a LockManager or null (with request, query), got 0', { locks: 0 }],
  ['directory: expected a directory handle or a function, got "project"', { directory: 'project' }],
  ['clock: expected a Clock (with now, monotonic, setTimer, random), got null', { clock: null }],
  ['page: expected an EventTarget (with addEventListener), got an object', { page: {} }],
])('an invalid option is refused at once: %s', (message, options) => {
  expect(() => createProjectLocks(options as ProjectLocksOptions)).toThrow(
    expect.objectContaining({ name: 'LeaseError', code: 'invalid-argument', message }),
  )
})

it('options without a prototype are options', async () => {
  const { openTab, finished } = projectBed()
  const acquiring = openTab().locks.acquireProjectLock(Object.create(null))
  expect(await finished(acquiring)).toMatchObject({ scope: 'autosave' })
})

it('an option that is undefined counts as missing', async () => {
  const { openTab, finished } = projectBed()
  const retry = { maxAttempts: undefined, initialDelayMs: undefined }
  const options = { retry, signal: undefined, scope: undefined, standby: undefined }
  const { locks } = openTab()
  const acquiring = (locks as unknown as Loose).acquireProjectLock(options)
  expect(await finished(acquiring)).toMatchObject({ scope: 'autosave' })
})
