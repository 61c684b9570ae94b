/*
 * Leases in a browser: `lock-store.ts` on Web Locks, `directory-store.ts` on a file of a directory.
 *
 * On Web Locks, a lease ends with its tab. `lease-locks.ts` has the locks, `lease-holds.ts` those of this tab, and
 * `follow-ends.ts` notices closed tabs. `opened-rows.ts` keeps the row in IndexedDB and asks the lock manager who is
 * alive. A row is changed behind a gate, which is a Web Lock too; modes of the main lock keep readers and writers
 * apart. The machine's clock counts only for `atLeast` and `lockDelay`. `stores/browser/frozen-tabs-protocol.ts`
 * takes locks from frozen tabs.
 *
 * The directory's file is changed behind an exclusive writer (`stores/browser/gated-file.ts`), or behind a Web Lock
 * where the browser has no exclusive writers. Its clock is the machine's, read behind the gate. In both stores, free
 * rows are deleted after an hour, by `sweep` on Web Locks, and a floor keeps tokens above theirs.
 */
import { expectOptions } from '../../base/arguments.ts'
import { privateDirectory } from '../../base/private-directory-browser.ts'
import type { LeaseStore } from '../../core/index.ts'
import type { DirectorySource, WebLocks } from '../browser/platform.ts'
import { DirectoryStore } from './directory-store.ts'
import { WebLockStore } from './lock-store.ts'
import {
  checkDirectoryOptions,
  checkLockOptions,
  type DirectoryStoreOptions,
  type WebLockStoreOptions,
  type WebStoreOptions,
} from './options.ts'

export type { DirectorySource, WebDirectory, WebFile, WebLocks, WebWriter } from '../browser/platform.ts'
export type { DirectoryStoreOptions, WebLockStoreOptions, WebStoreOptions } from './options.ts'

/**
 * Leases between the tabs of one origin: on Web Locks, or, in a browser that has none, in a file of a directory.
 *
 * @example
 * const leases = createLeases(webStore())
 */
export function webStore(options: WebStoreOptions = {}): LeaseStore {
  expectOptions(options, { directory: 1, prefix: 1, locks: 1, clock: 1, takeoverAfter: 1 })
  const { locks = webLocks(), directory = privateDirectory, ...rest } = options
  if (locks) return webLockStore({ ...rest, locks })
  const { prefix: _, takeoverAfter: __, ...ofDirectory } = rest
  return directoryStore(directory, ofDirectory)
}

/**
 * Leases on Web Locks: the browser frees the locks of a tab that is closed. Holders, tokens and the queue are rows in
 * IndexedDB.
 *
 * @example
 * const leases = createLeases(webLockStore())
 */
export function webLockStore(options: WebLockStoreOptions = {}): LeaseStore {
  return new WebLockStore(checkLockOptions(options))
}

/**
 * Leases in one file of a directory: the origin's own (OPFS), or one that the user picked. For browsers without Web
 * Locks, and for leases that should outlive the tab. Pages of another browser do not see them.
 *
 * @example
 * const leases = createLeases(directoryStore(() => navigator.storage.getDirectory()))
 */
export function directoryStore(directory: DirectorySource, options: DirectoryStoreOptions = {}): LeaseStore {
  return new DirectoryStore(directory, checkDirectoryOptions(directory, options))
}

/** Missing in old browsers, and in pages that were not loaded over HTTPS or from localhost. */
function webLocks(): WebLocks | undefined {
  return navigator.locks
}
