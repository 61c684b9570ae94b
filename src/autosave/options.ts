import {
  type Checks,
  checkEach,
  expectBoolean,
  expectFunction,
  expectMethods,
  expectOneOf,
  expectText,
  expectWhole,
  hasMethods,
  refuse,
} from '../base/arguments.ts'
import { type Clock, expectClock, systemClock } from '../base/clock.ts'
import { type Duration, expectDuration } from '../base/duration.ts'
import { privateDirectory } from '../base/private-directory-browser.ts'
import type { Pauses, ProjectRetry } from '../base/retry.ts'
import { createProjectLocks, type DirectorySource, type ProjectLocks } from '../project/index.ts'
import { checkRetry } from '../project/options.ts'
import type { Directory } from './directory.ts'
import { type Journal, localStorageJournal } from './journal.ts'
import type { TabChannel } from './tab-channel.ts'
import type { AutoSaveListener, AutoSaveLocks } from './types.ts'

export interface AutoSaveOptions<T> {
  /** Returns the whole state, as a value that JSON can represent. Called right before the state is written. */
  readonly read: () => T
  /**
   * The name of the project, for its locks, its journal and the channel between its tabs. It creates its own project
   * locks, and closes them. Required without `locks`.
   */
  readonly namespace?: string | undefined
  /** Decides which tab may write: the result of `createProjectLocks`. Required without `namespace`. */
  readonly locks?: AutoSaveLocks | undefined
  /**
   * The directory that contains `project/autosave/`, or a function that returns it. Default: the origin's private
   * directory (OPFS).
   */
  readonly directory?: Directory | (() => Directory | Promise<Directory>) | undefined
  /** A save starts this long after the last edit. Default 500 ms. */
  readonly debounce?: Duration | undefined
  /** More edits or a busy page delay a save by at most this much more. Default 2 s. */
  readonly idle?: Duration | undefined
  /** How many saves are kept, including the current one. Default 20. */
  readonly generations?: number | undefined
  /** How many bytes all saves together may take. The current save is always kept. Default 50 MiB. */
  readonly maxBytes?: number | undefined
  /**
   * `session` keeps the lock from the first edit until `close`. A tab that does not get it is read-only and waits in
   * the queue. `save` takes the lock only for each save, and checks that nobody else saved in between. Default
   * `session`.
   */
  readonly hold?: 'session' | 'save' | undefined
  /** Requests the lock at once instead of at the first edit. Only with `session`. Default false. */
  readonly eager?: boolean | undefined
  /**
   * How long to wait for the lock before the tab is read-only, and says that another tab is editing. It is not read-only
   * while the browser has not yet said who holds the lock. Default 1 s.
   */
  readonly wait?: Duration | undefined
  /** The attempts at the lock before the tab is read-only. Default: five attempts. */
  readonly retry?: ProjectRetry | undefined
  /** Keeps edits that a closing page can no longer save. Default: `localStorage`, by namespace; `false`: no journal. */
  readonly journal?: Journal | false | undefined
  /**
   * Connects the tabs of a project: they see each other's saves, and can ask for the lock. Default: a `BroadcastChannel`
   * named after the namespace; `false`: none.
   */
  readonly channel?: TabChannel | false | undefined
  readonly clock?: Clock | undefined
  /** The first listener; add more with `subscribe`. */
  readonly onEvent?: AutoSaveListener | undefined
}

const DEFAULTS = {
  debounce: 500,
  idle: 2000,
  generations: 20,
  maxBytes: 50 * 2 ** 20,
  hold: 'session',
  eager: false,
  wait: 1000,
} as const

/** A file of this size and more is written in pieces, each of this many characters. */
export const PIECES_FROM_BYTES = 2_000_000
export const PIECE_LENGTH = 600_000
/** How long `close` waits for the lock. */
export const LAST_WAIT_MS = 1000
/** How long a tab waits for the answer to its request for the lock. */
export const HANDOFF_LIMIT_MS = 5000
/** How long a lock that was handed over waits for the tab that asked for it. */
export const HANDOFF_MS = 2000

const LOCK_METHODS = [
  'acquireProjectLock',
  'releaseProjectLock',
  'holdsProjectLock',
  'projectLockSignal',
] as const

const checkTime = (option: string, value: unknown) => expectDuration(option, value, 0)

const CHECKS: Checks<AutoSaveOptions<unknown>> = {
  read: expectFunction,
  namespace: expectText,
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
  retry: checkRetry,
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

/** What `checkEach` returns: the options that are set, with times in milliseconds. */
type Checked<T> = SetOptions<Omit<AutoSaveOptions<T>, 'read' | Converted>> & {
  readonly read: () => T
  readonly debounce?: number
  readonly idle?: number
  readonly wait?: number
  readonly retry?: Pauses
}
type Converted = 'debounce' | 'idle' | 'wait' | 'retry'
type SetOptions<O> = { readonly [Name in keyof O]?: Exclude<O[Name], undefined> }

/** Every default filled in and every value checked. Times in milliseconds. */
export function checkOptions<T>(options: AutoSaveOptions<T>) {
  const checked = checkEach(options, CHECKS) as Checked<T>
  CHECKS.read('read', options.read)
  const { directory = privateDirectory, channel, onEvent, retry, namespace, ...rest } = checked
  if ((namespace === undefined) === (rest.locks === undefined))
    refuse('namespace', "either a name such as 'storyboard', or locks", namespace)
  const ownLocks = rest.locks ? undefined : openLocks(namespace as string, checked)
  const locks: AutoSaveLocks = rest.locks ?? (ownLocks as ProjectLocks)
  return {
    ...DEFAULTS,
    journal: hasLocalStorage() && localStorageJournal(locks.namespace),
    clock: systemClock,
    ...rest,
    locks,
    ownLocks,
    retry,
    onEvent,
    open: typeof directory === 'function' ? directory : () => directory,
    channel: (channel ?? pageChannel(locks.namespace)) || null,
  }
}

/** Its lock file, if the browser has no Web Locks, is in the directory of the saves. */
function openLocks<T>(namespace: string, { directory, clock }: Checked<T>): ProjectLocks {
  const source = typeof directory === 'function' ? async () => directory() : directory
  return createProjectLocks({ namespace, directory: source as DirectorySource | undefined, clock })
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

/** A file cannot be read while it is being replaced: measured, about one read of ten fails. */
export const READ_ATTEMPTS = 10
/** Writing the index takes a tenth of the time of a large save. Reading the heads of a few unlisted saves takes less. */
export const MAX_UNLISTED_SAVES = 4

export interface FlushOptions {
  /** Replaces what another tab saved in between. Default false. */
  readonly overwrite?: boolean | undefined
}

export interface RestoreOptions {
  /** Ends the search after this many. Default: no limit. */
  readonly limit?: number | undefined
  /** `false` ignores journals. Default true. */
  readonly journals?: boolean | undefined
}
