/** The options of the stores of a browser, their defaults and checks, and the numbers that they are tuned with. */
import { type Complete, expectMethods, expectOptions, expectText } from '../../base/arguments.ts'
import { type Clock, expectClock, systemClock } from '../../base/clock.ts'
import type { Duration } from '../../base/duration.ts'
import { checkTakeover } from '../browser/frozen-tabs.ts'
import { TAKEOVER_MS } from '../browser/options.ts'
import type { DirectorySource, WebLocks } from '../browser/platform.ts'

export interface DirectoryStoreOptions {
  /** The file in the directory, and the channel by which its tabs wake each other. Default `holdfast.json`. */
  readonly file?: string | undefined
  /** The clock that all tabs share. Default: the system's. */
  readonly clock?: Clock | undefined
}

export interface WebLockStoreOptions {
  /** Before the names of locks; also the name of the database and of the channel. Default `holdfast:`. */
  readonly prefix?: string | undefined
  /** Default: `navigator.locks`. */
  readonly locks?: WebLocks | undefined
  /** Default: the system's. */
  readonly clock?: Clock | undefined
  /**
   * A tab that holds a lease and does not answer for this long is frozen: a waiting tab takes its lease. At least 5 s.
   * `false`: the lease ends only with its tab, as a Web Lock does. Default 30 s.
   */
  readonly takeoverAfter?: Duration | false | undefined
}

export interface WebStoreOptions extends WebLockStoreOptions {
  /** For browsers without Web Locks. Default: the origin's private directory (OPFS). */
  readonly directory?: DirectorySource | undefined
}

const DEFAULTS = { prefix: 'holdfast:', takeoverAfter: TAKEOVER_MS, file: 'holdfast.json' }

export interface CheckedLockOptions {
  readonly prefix: string
  readonly locks: WebLocks
  readonly clock: Clock
  readonly takeoverMs: number
}

export function checkLockOptions(options: WebLockStoreOptions): CheckedLockOptions {
  expectOptions(options, { prefix: 1, locks: 1, clock: 1, takeoverAfter: 1 })
  const { prefix = DEFAULTS.prefix, locks = navigator.locks, clock = systemClock } = options
  const takeoverMs = checkTakeover('takeoverAfter', options.takeoverAfter ?? DEFAULTS.takeoverAfter)
  expectText('prefix', prefix)
  expectMethods('locks', locks, 'Web Locks, which need HTTPS or localhost', 'request', 'query')
  expectClock('clock', clock)
  return { prefix, locks, clock, takeoverMs }
}

export function checkDirectoryOptions(
  directory: DirectorySource,
  options: DirectoryStoreOptions,
): Complete<DirectoryStoreOptions> {
  expectOptions(options, { file: 1, clock: 1 })
  const { file = DEFAULTS.file, clock = systemClock } = options
  if (typeof directory !== 'function')
    expectMethods('directory', directory, 'a function or a directory handle', 'getFileHandle', 'removeEntry')
  expectText('file', file)
  expectClock('clock', clock)
  return { file, clock }
}

/** A waiter is woken when its turn comes. In case that fails, it asks again after this long. */
export const ASK_AGAIN_MS = 5000
