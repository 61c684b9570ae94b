import {
  type Checks,
  checkEach,
  expectBoolean,
  expectFunction,
  expectMethods,
  expectOneOf,
  expectWhole,
  hasMethods,
  refuse,
} from '../base/arguments.ts'
import { expectClock, systemClock } from '../base/clock.ts'
import { expectDuration } from '../base/duration.ts'
import { privateDirectory } from '../base/private-directory-browser.ts'
import type { RetryPolicyConfig } from '../project/index.ts'
import { checkRetry } from '../project/retry-policy.ts'
import { localStorageJournal } from './journal.ts'
import type { TabChannel } from './tab-channel.ts'
import type { AutoSaveOptions } from './types.ts'

const LOCK_METHODS = [
  'acquireProjectLock',
  'releaseProjectLock',
  'holdsProjectLock',
  'projectLockSignal',
] as const

const checkTime = (option: string, value: unknown) => expectDuration(option, value, 0)

const CHECKS: Checks<AutoSaveOptions<unknown>> = {
  read: expectFunction,
  locks: (option, value) => expectMethods(option, value, 'the result of createProjectLocks', ...LOCK_METHODS),
  directory(option, value) {
    if (typeof value !== 'function' && !hasMethods(value, 'getDirectoryHandle'))
      refuse(option, 'a directory handle or a function', value)
  },
  debounce: checkTime,
  idle: checkTime,
  wait: checkTime,
  generations: (option, value) => expectWhole(option, value, 1),
  maxBytes: (option, value) => expectWhole(option, value, 0),
  hold: (option, value) => expectOneOf(option, value, ['session', 'save']),
  eager: expectBoolean,
  retry: (_, value) => checkRetry(value),
  journal: unlessFalse('a Journal or false', 'write', 'read', 'remove'),
  channel: unlessFalse('a BroadcastChannel or false', 'postMessage', 'addEventListener', 'close'),
  clock: expectClock,
  onEvent: expectFunction,
}

function unlessFalse(expected: string, ...methods: readonly string[]) {
  return (option: string, value: unknown) => {
    if (value !== false) expectMethods(option, value, expected, ...methods)
  }
}

interface Checked<T> extends Omit<AutoSaveOptions<T>, 'debounce' | 'idle' | 'wait' | 'retry'> {
  readonly debounce?: number
  readonly idle?: number
  readonly wait?: number
  readonly retry?: RetryPolicyConfig
}

/** Every default filled in and every value checked. Times in milliseconds. */
export function checkOptions<T>(options: AutoSaveOptions<T>) {
  const checked = checkEach(options, CHECKS) as Checked<T>
  CHECKS.read('read', options.read)
  CHECKS.locks('locks', options.locks)
  const { directory = privateDirectory, channel, onEvent, retry, ...rest } = checked
  return {
    debounce: 500,
    idle: 2000,
    generations: 20,
    maxBytes: 50 * 2 ** 20,
    hold: 'session',
    eager: false,
    wait: 1000,
    journal: hasLocalStorage() && localStorageJournal(rest.locks.namespace),
    clock: systemClock,
    ...rest,
    retry,
    onEvent,
    open: typeof directory === 'function' ? directory : () => directory,
    channel: (channel ?? pageChannel(rest.locks.namespace)) || null,
  }
}

/** Only pages need one. A channel would keep a process of Node alive. */
function pageChannel(namespace = ''): TabChannel | false {
  const isPage = typeof document === 'object' && typeof BroadcastChannel === 'function'
  return isPage && new BroadcastChannel(`holdfast:autosave:${namespace}`)
}

/** If the user has blocked storage, even naming `localStorage` throws. */
function hasLocalStorage(): boolean {
  try {
    return typeof localStorage === 'object'
  } catch {
    return false
  }
}
