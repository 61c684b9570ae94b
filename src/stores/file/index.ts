import { resolve } from 'node:path'
import { expectOptions, refuse } from '../../base/arguments.ts'
import { type Clock, expectClock, systemClock } from '../../base/clock.ts'
import { randomId } from '../../base/random-id.ts'
import type { LeaseStore } from '../../core/index.ts'
import { nodeFiles } from './files.ts'
import { LeaseDirectory } from './lease-directory.ts'
import { openStore } from './store.ts'

export interface FileStoreOptions {
  /** The store's clock, shared by all who use the directory. Default: the system's. */
  readonly clock?: Clock
}

/**
 * Leases between the processes of one machine, in a local directory, which is created if it is missing.
 *
 * @example
 * const leases = createLeases(fileStore('./locks'))
 */
export function fileStore(directory: string, options: FileStoreOptions = {}): LeaseStore {
  expectOptions(options, { clock: 1 })
  const { clock = systemClock } = options
  if (typeof directory !== 'string' || directory === '') refuse('directory', 'a path', directory)
  expectClock('clock', clock)
  // Resolved now, so that a later `process.chdir` does not move the leases.
  return openStore(new LeaseDirectory(resolve(directory), nodeFiles, randomId()), clock)
}
