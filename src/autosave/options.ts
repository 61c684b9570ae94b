import {
  expectBoolean,
  expectFunction,
  expectMethods,
  expectOneOf,
  expectOptions,
  expectWhole,
  hasMethods,
  refuse,
} from '../base/arguments.ts'
import { expectClock, systemClock } from '../base/clock.ts'
import { expectDuration } from '../base/duration.ts'
import { checkRetry } from '../project/retry-policy.ts'
import { localStorageJournal } from './journal.ts'
import type { TabChannel } from './tab-channel.ts'
import type { AutoSaveOptions } from './types.ts'

/** Every default filled in and every value checked. Times in milliseconds. */
export function checkOptions<T>(options: AutoSaveOptions<T>) {
  expectOptions(options, {
    read: 1,
    locks: 1,
    directory: 1,
    debounce: 1,
    idle: 1,
    generations: 1,
    maxBytes: 1,
    hold: 1,
    eager: 1,
    wait: 1,
    retry: 1,
    journal: 1,
    clock: 1,
    onEvent: 1,
    channel: 1,
  })
  const {
    read,
    locks,
    directory = () => navigator.storage.getDirectory(),
    debounce = 500,
    idle = 2000,
    generations = 20,
    maxBytes = 50 * 2 ** 20,
    hold = 'session',
    eager = false,
    wait = 1000,
    retry,
    journal = hasLocalStorage() && localStorageJournal(),
    channel,
    clock = systemClock,
    onEvent,
  } = options
  expectFunction('read', read)
  expectMethods('locks', locks, 'the result of createProjectLocks', ...LOCK_METHODS)
  if (typeof directory !== 'function' && !hasMethods(directory, 'getDirectoryHandle'))
    refuse('directory', 'a directory handle or a function', directory)
  expectWhole('generations', generations, 1)
  expectWhole('maxBytes', maxBytes, 0)
  expectOneOf('hold', hold, ['session', 'save'])
  expectBoolean('eager', eager)
  if (journal !== false) expectMethods('journal', journal, 'a Journal or false', 'write', 'read', 'remove')
  if (channel !== undefined && channel !== false)
    expectMethods(
      'channel',
      channel,
      'a BroadcastChannel or false',
      'postMessage',
      'addEventListener',
      'close',
    )
  expectClock('clock', clock)
  if (onEvent !== undefined) expectFunction('onEvent', onEvent)
  return {
    read,
    locks,
    open: typeof directory === 'function' ? directory : () => directory,
    debounce: expectDuration('debounce', debounce, 0),
    idle: expectDuration('idle', idle, 0),
    generations,
    maxBytes,
    hold,
    eager,
    wait: expectDuration('wait', wait, 0),
    retry: retry === undefined ? undefined : checkRetry(retry),
    journal,
    channel: channel ?? pageChannel(locks.namespace),
    clock,
    onEvent,
  }
}

/** Only pages need one. A channel would keep a process of Node alive. */
function pageChannel(namespace = ''): TabChannel | false {
  const isPage = typeof document === 'object' && typeof BroadcastChannel === 'function'
  return isPage && new BroadcastChannel(`holdfast:autosave:${namespace}`)
}

const LOCK_METHODS = [
  'acquireProjectLock',
  'releaseProjectLock',
  'holdsProjectLock',
  'projectLockSignal',
] as const

/** If the user has blocked storage, even naming `localStorage` throws. */
function hasLocalStorage(): boolean {
  try {
    return typeof localStorage === 'object'
  } catch {
    return false
  }
}
