import { expectOptions, refuse } from '../../base/arguments.ts'
import { type Collection, expectFirestore, type FirestoreClient } from '../../clients/firestore.ts'
import type { LeaseStore } from '../../core/index.ts'
import { registerStore } from '../registers/index.ts'
import { DocumentRegisters } from './registers.ts'

export type { FirestoreClient }

export interface FirestoreStoreOptions {
  /** The path of the collection that keeps the leases. Default `holdfast-leases`. */
  readonly collection?: string
}

/**
 * Leases in a collection of Firestore. Uses your client and leaves it open.
 *
 * @example
 * const leases = createLeases(firestoreStore(new Firestore()))
 */
export function firestoreStore(firestore: FirestoreClient, options: FirestoreStoreOptions = {}): LeaseStore {
  expectFirestore('firestore', firestore)
  expectOptions(options, { collection: 1 })
  const { collection = 'holdfast-leases' }: FirestoreStoreOptions = options
  const registers = new DocumentRegisters(firestore, collectionAt(firestore, collection))
  return registerStore(registers, { kind: 'firestore', backend: 'Firestore' })
}

function collectionAt(firestore: FirestoreClient, path: string): Collection {
  try {
    return firestore.collection(path)
  } catch {
    // The client says what is wrong with the path, but in an error of its own.
    refuse('collection', "the path of a collection, such as 'leases' or 'apps/shop/leases'", path)
  }
}
