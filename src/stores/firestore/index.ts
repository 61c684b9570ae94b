import { refuse } from '../../base/arguments.ts'
import { type Collection, expectFirestore, type FirestoreClient } from '../../clients/firestore.ts'
import type { LeaseStore } from '../../core/index.ts'
import { registerStore } from '../registers/index.ts'
import { CLOSE_LIMIT_MS, checkOptions, type FirestoreStoreOptions } from './options.ts'
import { DocumentRegisters } from './registers.ts'

export type { FirestoreStoreOptions } from './options.ts'
export type { FirestoreClient }

/**
 * Leases in a collection of Firestore. Uses your client and leaves it open.
 *
 * @example
 * const leases = createLeases(firestoreStore(new Firestore()))
 */
export function firestoreStore(firestore: FirestoreClient, options: FirestoreStoreOptions = {}): LeaseStore {
  expectFirestore('firestore', firestore)
  const { collection, maxInFlight } = checkOptions(options)
  const registers = new DocumentRegisters(firestore, collectionAt(firestore, collection))
  return registerStore(registers, {
    kind: 'firestore',
    backend: 'Firestore',
    closeLimitMs: CLOSE_LIMIT_MS,
    maxInFlight,
  })
}

function collectionAt(firestore: FirestoreClient, path: string): Collection {
  try {
    return firestore.collection(path)
  } catch {
    // The client says what is wrong with the path, but in an error of its own.
    refuse('collection', "the path of a collection, such as 'leases' or 'apps/shop/leases'", path)
  }
}
