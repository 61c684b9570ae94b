import type { LeaseStore } from '../../core/index.ts'
import type { DirectorySource, WebLocks } from '../browser/index.ts'
import { directoryStore } from './directory-store.ts'
import { type WebLockStoreOptions, webLockStore } from './lock-store.ts'

export type { DirectorySource, WebDirectory, WebFile, WebLocks, WebWriter } from '../browser/index.ts'
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
  const { locks = webLocks(), directory = () => navigator.storage.getDirectory(), ...rest } = options
  return locks ? webLockStore({ ...rest, locks }) : directoryStore(directory, rest)
}

/** Missing in old browsers, and in pages that were not loaded securely. */
function webLocks(): WebLocks | undefined {
  return navigator.locks
}
