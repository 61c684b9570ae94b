/** The options of `fileStore`, their defaults, limits and checks, and the numbers that the store is tuned with. */
import { type Complete, expectOptions, refuse } from '../../base/arguments.ts'
import { type Clock, expectClock, systemClock } from '../../base/clock.ts'

export interface FileStoreOptions {
  /** The store's clock, shared by all who use the directory. Default: the system's. */
  readonly clock?: Clock | undefined
}

export function checkOptions(directory: string, options: FileStoreOptions): Complete<FileStoreOptions> {
  expectOptions(options, { clock: 1 })
  const { clock = systemClock } = options
  if (typeof directory !== 'string' || directory === '') refuse('directory', 'a path', directory)
  expectClock('clock', clock)
  return { clock }
}

export function expectTtl(ttl: number): void {
  if (ttl >= MIN_TTL_MS) return
  const reason = 'a change takes several file operations, and a shorter lease could expire during them'
  refuse('ttl', `at least ${MIN_TTL_MS} milliseconds in a file store (${reason})`, ttl)
}

const MIN_TTL_MS = 1000
/** Node works on four file operations at once. More requests would only delay renewals. */
export const MAX_IN_FLIGHT = 16
/** One of this number of acquisitions also cleans up, but no process does so more often than `TIDY_EVERY_MS`. */
export const TIDY_ONE_IN = 32
export const TIDY_EVERY_MS = 60_000
/** How many resources one such clean-up looks at. */
export const TIDY_LIMIT = 1000
/** Longer than any change takes. A slower change fails and is repeated. */
export const LEFTOVER_AGE_MS = 60_000
/** More than two, so that a watcher in another process can read what changed since it last looked. */
export const KEPT_GENERATIONS = 4
/** Each further try means that other processes have changed the state meanwhile. */
export const MAX_TRIES = 100
/** A thousand leases that are renewed together must not use up the files that the process may open. */
export const MAX_OPEN_FILES = 32
/** Enough to keep Node's thread pool busy. */
export const FILES_AT_ONCE = 16
/** Another process may delete the directory above. Some file systems, such as `/proc`, always say that it is missing. */
export const MAX_DIRECTORY_TRIES = 5
/** How often everything is read, in case the watch on the directory notices nothing. */
export const TICK_MS = 1000
/** The pause after a tick is at least this many times as long as the tick took. */
export const PAUSE_PER_TICK = 20

/** Leaves room for a dot and a unique part within the 255 bytes that file systems allow. */
export const MAX_FILE_NAME_LENGTH = 180
