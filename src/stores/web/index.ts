import { expectOptions } from '../../base/arguments.ts'
import { privateDirectory } from '../../base/private-directory-browser.ts'
import type { LeaseStore } from '../../core/index.ts'
import type { DirectorySource, WebLocks } from '../browser/platform.ts'
import { directoryStore } from './directory-store.ts'
import { type WebLockStoreOptions, webLockStore } from './lock-store.ts'

export type { DirectorySource, WebDirectory, WebFile, WebLocks, WebWriter } from '../browser/platform.ts'
export { type DirectoryStoreOptions, directoryStore } from './directory-store.ts'
export { type WebLockStoreOptions, webLockStore } from './lock-store.ts'

export interface WebStoreOptions extends WebLockStoreOptions {
  /** For browsers without Web Locks. Default: the origin's private directory (OPFS). */
  readonly directory?: DirectorySource
}

/**
 * Leases between the tabs of one origin: on Web Locks, or, in a browser that has none, in a file of a directory.
 *
 * @example
 * const leases = createLeases(webStore())
 */
export function webStore(options: WebStoreOptions = {}): LeaseStore {
  expectOptions(options, { directory: 1, prefix: 1, locks: 1, clock: 1, takeOverAfter: 1 })
  const { locks = webLocks(), directory = privateDirectory, ...rest } = options
  if (locks) return webLockStore({ ...rest, locks })
  const { prefix: _, takeOverAfter: __, ...ofDirectory } = rest
  return directoryStore(directory, ofDirectory)
}

/** Missing in old browsers, and in pages that were not loaded over HTTPS or from localhost. */
function webLocks(): WebLocks | undefined {
  return navigator.locks
}
