import { LeaseError, systemClock } from '../core/index.ts'
import type { RetryPolicyConfig } from '../project/index.ts'
import { localStorageJournal } from './journal.ts'
import type { AutoSaveOptions } from './types.ts'

/** Every default filled in and every value checked. */
export function settle<T>(options: AutoSaveOptions<T>) {
  expectObject('options', options)
  const {
    debounce = 500,
    idle = 2000,
    generations = 20,
    maxBytes = 50 * 2 ** 20,
    hold = 'session',
    journal = hasLocalStorage() && localStorageJournal(),
    directory = () => navigator.storage.getDirectory(),
    clock = systemClock,
    ...given
  } = options
  if (typeof given.read !== 'function') refuse('read', 'a function', given.read)
  if (typeof given.locks?.acquireProjectLock !== 'function')
    refuse('locks', 'what createProjectLocks makes', given.locks)
  expectWhole('debounce', debounce, 0)
  expectWhole('idle', idle, 0)
  expectWhole('generations', generations, 1)
  expectWhole('maxBytes', maxBytes, 0)
  if (given.wait !== undefined) expectWhole('wait', given.wait, 0)
  if (given.retry !== undefined) expectRetry(given.retry)
  if (hold !== 'session' && hold !== 'save') refuse('hold', `'session' or 'save'`, hold)
  if (given.onEvent !== undefined && typeof given.onEvent !== 'function')
    refuse('onEvent', 'a function', given.onEvent)
  if (journal !== false && typeof journal?.write !== 'function')
    refuse('journal', 'a Journal or false', journal)
  if (typeof directory !== 'function' && typeof directory?.getDirectoryHandle !== 'function')
    refuse('directory', 'a directory or a function', directory)
  const open = typeof directory === 'function' ? directory : () => directory
  return { ...given, debounce, idle, generations, maxBytes, hold, journal, open, clock }
}

/** Even to name it throws where the user has blocked it. */
function hasLocalStorage(): boolean {
  try {
    return typeof localStorage === 'object'
  } catch {
    return false
  }
}

function expectObject(option: string, value: unknown): void {
  if (!isObject(value)) refuse(option, 'an object', value)
}

function expectRetry(retry: Partial<RetryPolicyConfig>): void {
  expectObject('retry', retry)
  for (const [name, value] of Object.entries(retry))
    if (value !== undefined && !(Number.isFinite(value) && value >= 0))
      refuse(`retry.${name}`, 'a number from 0', value)
}

function expectWhole(option: string, value: number, min: number): void {
  if (!Number.isSafeInteger(value) || value < min) refuse(option, `a whole number from ${min}`, value)
}

function refuse(option: string, expected: string, value: unknown): never {
  const shown = isObject(value) ? 'an object' : String(value)
  throw new LeaseError('invalid-argument', `${option}: expected ${expected}, got ${shown}`)
}

function isObject(value: unknown): boolean {
  return Object(value) === value
}
