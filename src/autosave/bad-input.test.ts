import { expect, it } from 'vitest'
import { editorBed, type Story } from '../../test/autosave/editor-bed.ts'
import { type AutoSave, createAutoSave } from './index.ts'

const DURATION = "whole milliseconds from 0 to 2147483647, or text such as '30s'"
const LOCKS =
  'the result of createProjectLocks (with acquireProjectLock, releaseProjectLock, holdsProjectLock, projectLockSignal)'

it.each<[option: string, value: unknown, message: string]>([
  ['read', 1, 'read: expected a function, got 1'],
  ['read', Symbol('state'), 'read: expected a function, got Symbol(state)'],
  ['locks', {}, `locks: expected ${LOCKS}, got an object`],
  ['locks', null, `locks: expected ${LOCKS}, got null`],
  ['debounce', -1, `debounce: expected ${DURATION}, got -1`],
  ['debounce', 'soon', `debounce: expected ${DURATION}, got "soon"`],
  ['idle', 10n, `idle: expected ${DURATION}, got 10n`],
  ['wait', {}, `wait: expected ${DURATION}, got an object`],
  ['generations', 0, 'generations: expected a whole number from 1, got 0'],
  ['hold', 'never', 'hold: expected "session" or "save", got "never"'],
  ['hold', Object.create(null), 'hold: expected "session" or "save", got an object'],
  ['eager', 'yes', 'eager: expected true or false, got "yes"'],
  ['onEvent', 5, 'onEvent: expected a function, got 5'],
  ['journal', {}, 'journal: expected a Journal or false (with write, read, remove), got an object'],
  ['journal', null, 'journal: expected a Journal or false (with write, read, remove), got null'],
  ['directory', {}, 'directory: expected a directory handle or a function, got an object'],
  ['directory', 'project', 'directory: expected a directory handle or a function, got "project"'],
  ['clock', {}, 'clock: expected a Clock (with now, monotonic, setTimer, random), got an object'],
  ['retry', null, 'retry: expected a function or an object, got null'],
  ['retry', { maxAttempts: -1 }, 'retry.maxAttempts: expected a whole number from 1, got -1'],
])('an invalid %s is refused at once: %s', (option, value, message) => {
  const { openTab } = editorBed()
  const options = { read: () => 1, locks: openTab().locks, [option]: value }
  expect(() => createAutoSave(options as never)).toThrow(
    expect.objectContaining({ name: 'LeaseError', code: 'invalid-argument', message }),
  )
})

const PROJECT = "namespace: expected either a name such as 'storyboard', or locks, got"
it.each<[what: string, options: object, message: string]>([
  ['neither locks nor a namespace', {}, `${PROJECT} undefined`],
  ['locks and a namespace', { namespace: 'story', locks: editorBed().openTab().locks }, `${PROJECT} "story"`],
  ['an empty namespace', { namespace: '' }, 'namespace: expected a non-empty string, got ""'],
  [
    'a namespace that Web Locks refuse',
    { namespace: '-story' },
    'namespace: expected a name without a leading -, got "-story"',
  ],
])('%s is refused at once', (_, options, message) => {
  expect(() => createAutoSave({ read: () => 1, ...options } as never)).toThrow(
    expect.objectContaining({ code: 'invalid-argument', message }),
  )
})

it.each([
  [undefined, 'undefined'],
  [null, 'null'],
  [5, '5'],
  [10n, '10n'],
])('options that are %s are refused at once', (options, shown) => {
  expect(() => createAutoSave(options as never)).toThrow(`options: expected an object, got ${shown}`)
})

it.each<[message: string, call: (autosave: AutoSave<Story>) => unknown]>([
  ['options: expected an object, got null', (autosave) => autosave.restore(null as never)],
  [
    'limit: expected a whole number from 0, got "all"',
    (autosave) => autosave.restore({ limit: 'all' as never }),
  ],
  ['options: expected an object, got 5', (autosave) => autosave.flush(5 as never)],
  [
    'overwrite: expected true or false, got 1',
    (autosave) => autosave.flush({ overwrite: 1 as unknown as boolean }),
  ],
  ['listener: expected a function, got undefined', (autosave) => autosave.subscribe(undefined as never)],
])('an invalid argument is refused: %s', async (message, call) => {
  const { autosave } = editorBed().openEditor()
  await expect((async () => call(autosave))()).rejects.toMatchObject({ code: 'invalid-argument', message })
})
