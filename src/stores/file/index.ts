import { resolve } from 'node:path'
import { type Clock, LeaseError, type LeaseStore, systemClock } from '../../core/index.ts'
import { nodeFiles } from './files.ts'
import { Ledger } from './ledger.ts'
import { openStore } from './store.ts'

export interface FileStoreOptions {
  /** The store's clock, shared by all who use the directory. Default: the system's. */
  readonly clock?: Clock
}

/**
 * Leases between the processes of one machine, in a local directory, which is made if it is missing.
 *
 * @example
 * const leases = createLeases(fileStore('./locks'))
 */
export function fileStore(directory: string, { clock = systemClock }: FileStoreOptions = {}): LeaseStore {
  if (typeof directory !== 'string' || directory === '')
    throw new LeaseError('invalid-argument', `directory: expected a path, got ${JSON.stringify(directory)}`)
  // At once, so that a later `process.chdir` does not move the leases.
  return openStore(new Ledger(resolve(directory), nodeFiles, crypto.randomUUID()), clock)
}
