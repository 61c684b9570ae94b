/*
 * Leases in a directory. Atomic by `link()` to the next generation of a resource's file (`generations.ts`). The
 * clock is the machine's. Free rows are deleted after an hour, and a floor keeps tokens above theirs.
 */
import { resolve } from 'node:path'
import { randomId } from '../../base/random-id.ts'
import type { LeaseStore } from '../../core/index.ts'
import { nodeFiles } from './files.ts'
import { LeaseDirectory } from './lease-directory.ts'
import { checkOptions, type FileStoreOptions } from './options.ts'
import { FileStore } from './store.ts'

export type { FileStoreOptions } from './options.ts'

/**
 * Leases between the processes of one machine, in a local directory, which is created if it is missing.
 *
 * @example
 * const leases = createLeases(fileStore('./locks'))
 */
export function fileStore(directory: string, options: FileStoreOptions = {}): LeaseStore {
  const { clock } = checkOptions(directory, options)
  // Resolved now, so that a later `process.chdir` does not move the leases.
  return new FileStore(new LeaseDirectory(resolve(directory), nodeFiles, randomId()), clock)
}
